/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_NET_TEXT_H
#define WTL_NEURAL_NET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "neural/network.h"

struct wtl_err;

/* Networks and spike rates as plain text, for what an ONNX file cannot say. docs/estimate-network.md has both formats. */

/* Whether it begins with the word "network", as such a text does. */
bool wtl_net_text_is(const char *data, size_t len);
/* Fills *ret; after success, call wtl_network_done(). 0, -WTL_EFORMAT, -ERANGE or -ENOMEM. */
int wtl_net_text_read(const char *text, size_t len, const char *file, struct wtl_network *ret,
		      struct wtl_err *err);

/*
 * Sets the layers' spike rates. Each layer with MACs needs one, except readouts; a name that no such layer has, or that
 * comes twice, is -WTL_EFORMAT. A layer's input rate is that of the layer before, unless the text gives it.
 */
int wtl_rates_apply(struct wtl_network *network, const char *text, size_t len, const char *file,
		    struct wtl_err *err);

#endif
