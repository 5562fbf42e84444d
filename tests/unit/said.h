/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_SAID_H
#define WTL_TESTS_SAID_H

/* What main.c gives the commands, for tests that do not link it: what is said is kept. */

/* Nothing was said so far. */
void said_forget(void);
/* Complaints since: a line each, "wattle: NAME: text", without NAME where there is no command. */
const char *said_complaints(void);
/* And remarks: "wattle: text". */
const char *said_remarks(void);

#endif
