/* SPDX-License-Identifier: MIT */
/*
 * Linked into what is in the wheel (`make wheel`), which is built with glibc 2.36 and runs from 2.34 on (RHEL 9). hypot() got a
 * new version in glibc 2.35, which leaves errno alone; nothing here reads errno after it.
 */
#if defined(__x86_64__)
__asm__(".symver older_hypot, hypot@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver older_hypot, hypot@GLIBC_2.17");
#endif

double older_hypot(double x, double y);
double __wrap_hypot(double x, double y); /* what ld's --wrap=hypot has everybody call */

double __wrap_hypot(double x, double y)
{
	return older_hypot(x, y);
}
