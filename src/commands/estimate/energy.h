/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_ENERGY_H
#define WTL_COMMANDS_ESTIMATE_ENERGY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/option.h"
#include "commands/estimate/sweep.h"
#include "document/writer.h"
#include "neural/price.h"

struct wtl_app;

/* Energy of a network on devices: the options, the results, and their output. */

enum wtl_estimate_as { WTL_ESTIMATE_BOTH, WTL_ESTIMATE_ORDINARY, WTL_ESTIMATE_SPIKING };

enum { WTL_ESTIMATE_STEPS = 4 }; /* if neither the user nor the network gives it */

struct wtl_estimate_options {
	struct wtl_option_list devices, device_files;
	enum wtl_estimate_as as;
	struct wtl_price_choice choice;	 /* except devices, steps and rates */
	struct wtl_estimate_sweep sweep; /* its steps */
	const char *rates;		 /* a file, or numbers for all layers */
	bool lists_devices;
	const char *paper, *lint;
};

/* The words of the enums in the options above. */
extern const char *const wtl_estimate_as_words[], *const wtl_estimate_neurons[];

/* Run as an ordinary or as a spiking network. */
struct wtl_estimate_run {
	bool is_wanted, has_price;
	struct wtl_price price;
	struct wtl_err refusal; /* without a price: why */
};

struct wtl_estimate_device {
	const struct wtl_device *device;
	struct wtl_estimate_run ordinary, spiking;
	bool has_quantized, has_break_even;
	struct wtl_energy quantized; /* int8 weights, activations of `bits` */
	unsigned int bits;
	struct wtl_break_even whole, *layers;
	struct wtl_estimate_point
		*points; /* NULL: one rate and number of steps is told, as `spiking` */
};

struct wtl_estimate_energy {
	const char *path;
	const struct wtl_network *network;
	struct wtl_price_choice choice; /* for all: no .device; of a sweep, its first point */
	const struct wtl_estimate_sweep *sweep;
	struct wtl_estimate_device *devices;
	size_t n;
};

/* The built-in devices and those of the files. 0, or negative after a complaint. */
int wtl_estimate_load_devices(struct wtl_app *app, const struct wtl_estimate_options *options,
			      struct wtl_devices *devices);
/*
 * Prices the network on all devices that were asked for; rates go into the network and the sweep, which stays in use. 0; or negative after a complaint. A total that
 * is refused is no failure while there is another one. *ret is to be given to wtl_estimate_energy_done() after either.
 */
int wtl_estimate_energy(struct wtl_app *app, const struct wtl_estimate_options *options,
			const struct wtl_devices *devices, struct wtl_estimate_sweep *sweep,
			struct wtl_network *network, const char *path,
			struct wtl_estimate_energy *ret);
void wtl_estimate_energy_done(struct wtl_estimate_energy *energy);

/* Reads a user's file whole; 0, or negative after a complaint. *text is to be given to wtl_buf_done(). */
int wtl_estimate_read_file(struct wtl_app *app, const char *path, struct wtl_buf *text);

/* ---- Output (energy_document.c, energy_text.c) ---- */

extern const struct wtl_thing wtl_estimate_energy_thing;
void wtl_estimate_energy_document(struct wtl_doc *doc, const void *what);

#endif
