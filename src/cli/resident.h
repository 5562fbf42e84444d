/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_RESIDENT_H
#define WTL_CLI_RESIDENT_H

/*
 * For what stays for months: memory that only its start used goes back to the system. That is what was freed, and pages of
 * programs and libraries, most of which ran once, to set the library up. The kernel brings back what is touched again.
 */
void wtl_resident_trim(void);

#endif
