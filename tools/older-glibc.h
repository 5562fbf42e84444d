/* SPDX-License-Identifier: MIT */
/*
 * Included into every file of the wheel (`make wheel`), which is built with glibc 2.36 and runs from 2.34 on (RHEL 9). hypot()
 * got a new version in glibc 2.35, which leaves errno alone; nothing here reads errno after it.
 */
#include <features.h>

#define WTL_OLDER_GLIBC 1 /* meson.build asks for it */

#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver hypot, hypot@GLIBC_2.17");
#endif
