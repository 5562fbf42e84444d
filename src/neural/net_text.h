/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_NET_TEXT_H
#define WTL_NEURAL_NET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "neural/network.h"

struct wtl_err;

/* Networks and spike rates as plain text, for what an ONNX file cannot say. docs/estimate-network.md has both formats. */

/* Does it begin as such a text does: with the word "network"? */
bool wtl_net_text_is(const char *data, size_t len);
/* Fills *ret, which is to be given to wtl_network_done() after success. 0, -WTL_EFORMAT, -ERANGE or -ENOMEM. */
int wtl_net_text_read(const char *text, size_t len, const char *file, struct wtl_network *ret,
		      struct wtl_err *err);

/*
 * Gives layers their rates. Each layer with MACs must have one, but for readouts; a name that no layer has, or
 * that comes twice, is -WTL_EFORMAT. A layer's input fires as the layer before it does, unless the text tells.
 */
int wtl_rates_apply(struct wtl_network *network, const char *text, size_t len, const char *file,
		    struct wtl_err *err);

#endif
