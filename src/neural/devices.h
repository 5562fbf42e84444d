/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_DEVICES_H
#define WTL_NEURAL_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neural/network.h"

struct wtl_err;

/*
 * Energy of hardware's operations, from text files: share/estimate/devices.txt is built in, users add their own.
 * docs/estimate-devices.md has the format. Every constant has a grade and a source.
 */

/* How a constant was determined. */
enum wtl_grade {
	WTL_GRADE_UNKNOWN,  /* there is no number */
	WTL_GRADE_MEASURED, /* on silicon */
	WTL_GRADE_MODELLED, /* by wattle's power model, from utilization, where energy is not measured */
	WTL_GRADE_SIMULATED, /* in circuit simulation, before there was silicon */
	WTL_GRADE_FITTED,    /* a model fitted to measurements */
	WTL_GRADE_PUBLISHED, /* printed in a paper; how its authors got it was not checked */
	WTL_GRADE_CLAIMED,   /* by its maker */
	WTL_GRADE_UNCHECKED, /* from memory of a paper, not compared with it */
	WTL_N_GRADES,
};

enum wtl_constant_kind {
	WTL_CONSTANT_ADD,	  /* of a precision */
	WTL_CONSTANT_MUL,	  /* of a precision */
	WTL_CONSTANT_MAC,	  /* of a precision, or of any */
	WTL_CONSTANT_SRAM,	  /* an access of `bits` to a memory of `capacity` bytes */
	WTL_CONSTANT_SRAM_ACCESS, /* linear model: an access to an element, … */
	WTL_CONSTANT_SRAM_BIT,	  /* … plus this for each bit of the memory */
	WTL_CONSTANT_DRAM,	  /* an access of `bits` */
	WTL_CONSTANT_SYNOP,	  /* a spike that reaches a synapse */
	WTL_CONSTANT_UPDATE,	  /* a neuron in a time step */
	WTL_CONSTANT_SPIKE,	  /* a spike that a neuron sends */
	WTL_CONSTANT_HOP,	  /* a spike from a tile to the next one */
	WTL_CONSTANT_STATIC,	  /* watts; shown, not priced */
	WTL_CONSTANT_TIME,	  /* seconds of an operation; shown, not priced */
	WTL_N_CONSTANT_KINDS,
};

enum { WTL_CONSTANTS_MAX = 48 };

struct wtl_constant {
	enum wtl_constant_kind kind;
	char name[48];		      /* as in the file: "add fp32" */
	enum wtl_precision precision; /* WTL_PRECISION_UNKNOWN: of any, or none */
	uint64_t capacity;
	unsigned int bits;
	double low, nominal, high; /* joules, watts or seconds; NAN for WTL_GRADE_UNKNOWN */
	char unit[4];		   /* as in the file */
	double scale;		   /* of the unit, in J, W or s */
	enum wtl_grade grade;
	char source[200]; /* DOI or title */
};

struct wtl_device {
	char name[48], title[160];
	bool is_all_in;		   /* its prices include everything: nothing may be added */
	bool is_digital;	   /* priced by additions, multiplications and memory accesses */
	double node_nm, voltage_v; /* NAN: not known */
	enum wtl_grade grade;	   /* for constants without a grade */
	char source[200], note[400];
	struct wtl_constant constants[WTL_CONSTANTS_MAX];
	size_t n;
};

struct wtl_devices {
	struct wtl_device *devices;
	size_t n, room;
};

/* share/estimate/devices.txt, ended by a NUL. */
extern const char wtl_neural_devices[];

const char *wtl_grade_name(enum wtl_grade grade);
/* Adds the devices of a text; one of a known name replaces that. 0 or negative; devices before an error stay. */
int wtl_devices_parse(struct wtl_devices *devices, const char *text, size_t len, const char *file,
		      struct wtl_err *err);
int wtl_devices_builtin(struct wtl_devices *devices, struct wtl_err *err);
const struct wtl_device *wtl_devices_find(const struct wtl_devices *devices, const char *name);
/* The first constant of a kind that is of this precision (UNKNOWN: of whatever one), or of any; NULL: there is none. */
const struct wtl_constant *wtl_device_constant(const struct wtl_device *device,
					       enum wtl_constant_kind kind,
					       enum wtl_precision precision);
void wtl_devices_done(struct wtl_devices *devices);

#endif
