/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_COMMAND_WORDS_H
#define WTL_DOCUMENT_COMMAND_WORDS_H

struct wtl_buf;

/* A command as a recording keeps it: as a shell would read it, with $'…' for what is not printable. 0 or the
 * buffer's error. */
int wtl_command_text(struct wtl_buf *buf, char *const command[]);
/* The words of a command as wtl_command_text() wrote it: one block of memory to free(); NULL: no memory. */
char **wtl_command_words(const char *text);

#endif
