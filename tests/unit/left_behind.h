/* SPDX-License-Identifier: MIT */
#ifndef TEST_LEFT_BEHIND_H
#define TEST_LEFT_BEHIND_H

/* For one file of a program in which what a stuck thread uses is left behind by design: it tells the leak
 * sanitizer not to look for leaks. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return 1;
}

#endif
