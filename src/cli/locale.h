/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_LOCALE_H
#define WTL_CLI_LOCALE_H

#include <stdbool.h>

#include "cli/command.h"

/* Whether texts have nothing beyond ASCII: by --ascii, or because the environment names no UTF-8. In pipes and files, too. */
bool wtl_is_ascii(const struct wtl_settings *settings);

#endif
