/* SPDX-License-Identifier: MIT */
/* What the sanitizers' environment variables would say otherwise. */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* What was freed is kept for some thousand calls, not until 256 MiB are: fresh pages would take longer than the
 * code that is tried. Too much memory is NULL, as in the shipped binary. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:thread_local_quarantine_size_kb=64:malloc_context_size=10:"
	       "allocator_may_return_null=1";
}

const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1:halt_on_error=1";
}
