/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_GOLDEN_H
#define WTL_TESTS_GOLDEN_H

/* Compares a text with the file of that name in tests/golden; WATTLE_GOLDEN_UPDATE=1 writes it first. */
void golden_check(const char *name, const char *text);

#endif
