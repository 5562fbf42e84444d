/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_RESIDENT_H
#define WTL_CLI_RESIDENT_H

/*
 * For processes that run for months: gives memory that only the start used back to
 * the system. That is freed memory, and pages of programs and libraries, most of
 * which ran once, to set a library up. The kernel reads back what is used again.
 */
void wtl_resident_trim(void);

#endif
