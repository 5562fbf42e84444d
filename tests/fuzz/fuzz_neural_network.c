/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "neural/devices.h"
#include "neural/net_text.h"
#include "neural/price.h"

/* A network as text, then (behind a line "---") rates of its layers; what they cost. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void price(const struct wtl_network *network, bool is_spiking)
{
	static struct wtl_devices devices;
	struct wtl_price_choice choice = {.is_spiking = is_spiking, .rate = (double)NAN};
	struct wtl_err err = {.code = 0};
	struct wtl_price price;

	if (devices.n == 0 && wtl_devices_builtin(&devices, NULL) < 0)
		abort();
	choice.device = &devices.devices[0];
	if (wtl_price_network(network, &choice, &price, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return;
	}
	if (!(price.total.low <= price.total.nominal && price.total.nominal <= price.total.high))
		abort();
	wtl_price_done(&price);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *rates = memmem(text, size, "\n---\n", 5);
	size_t len = rates ? (size_t)(rates - text) : size;
	struct wtl_network network;
	struct wtl_err err = {.code = 0};

	wtl_net_text_is(text, size);
	if (wtl_net_text_read(text, len, "fuzz", &network, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return 0;
	}
	if (rates && wtl_rates_apply(&network, rates + 5, size - len - 5, "rates", &err) < 0 &&
	    err.text[0] == '\0')
		abort();
	price(&network, false);
	price(&network, true);
	wtl_network_done(&network);
	return 0;
}
