/* SPDX-License-Identifier: MIT */
#include "neural/devices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "neural/lines.h"

enum { DEVICES_MAX = 1000 };

static const char *const grades[WTL_N_GRADES] = {
	[WTL_GRADE_UNKNOWN] = "unknown",   [WTL_GRADE_MEASURED] = "measured",
	[WTL_GRADE_MODELLED] = "modelled", [WTL_GRADE_SIMULATED] = "simulated",
	[WTL_GRADE_FITTED] = "fitted",	   [WTL_GRADE_PUBLISHED] = "published",
	[WTL_GRADE_CLAIMED] = "claimed",   [WTL_GRADE_UNCHECKED] = "unchecked",
};

/* Units and their dimensions. */
struct unit {
	char dimension; /* J, W, s */
	const char *name;
	double scale;
};

static const struct unit units[] = {
	{'J', "fJ", 1e-15}, {'J', "pJ", 1e-12}, {'J', "nJ", 1e-9}, {'J', "uJ", 1e-6},
	{'J', "mJ", 1e-3},  {'J', "J", 1},	{'W', "uW", 1e-6}, {'W', "mW", 1e-3},
	{'W', "W", 1},	    {'s', "ns", 1e-9},	{'s', "us", 1e-6}, {'s', "ms", 1e-3},
};

/* How a constant is written. */
struct form {
	const char *name;
	enum wtl_constant_kind kind;
	char dimension;
	const char *arguments; /* p: a precision, c: a capacity, b: bits, w: any word */
};

static const struct form forms[] = {
	{"add", WTL_CONSTANT_ADD, 'J', "p"},
	{"mul", WTL_CONSTANT_MUL, 'J', "p"},
	{"mac", WTL_CONSTANT_MAC, 'J', "p"},
	{"sram", WTL_CONSTANT_SRAM, 'J', "cb"},
	{"sram-access", WTL_CONSTANT_SRAM_ACCESS, 'J', ""},
	{"sram-bit", WTL_CONSTANT_SRAM_BIT, 'J', ""},
	{"dram", WTL_CONSTANT_DRAM, 'J', "b"},
	{"synop", WTL_CONSTANT_SYNOP, 'J', ""},
	{"update", WTL_CONSTANT_UPDATE, 'J', ""},
	{"spike", WTL_CONSTANT_SPIKE, 'J', ""},
	{"hop", WTL_CONSTANT_HOP, 'J', ""},
	{"static", WTL_CONSTANT_STATIC, 'W', ""},
	{"time", WTL_CONSTANT_TIME, 's', "w"},
};

const char *wtl_grade_name(enum wtl_grade grade)
{
	return grades[grade];
}

static int find_grade(const char *word)
{
	for (int i = 0; i < WTL_N_GRADES; i++)
		if (strcmp(word, grades[i]) == 0)
			return i;
	return -1;
}

static int parse_grade(struct wtl_lines *lines, const char *word, enum wtl_grade *ret)
{
	int grade = find_grade(word);

	if (grade < 0)
		return wtl_lines_fail(
			lines,
			"'%s' is no grade: measured, modelled, simulated, fitted, published, "
			"claimed, unchecked, unknown",
			word);
	*ret = (enum wtl_grade)grade;
	return 0;
}

/* Parses a word before the value. */
static int parse_argument(struct wtl_lines *lines, char argument, const char *word,
			  struct wtl_constant *constant)
{
	uint64_t size;

	if (argument == 'w')
		return 0;
	if (argument == 'p') {
		constant->precision = wtl_precision_find(word);
		if (constant->precision == WTL_PRECISION_UNKNOWN && strcmp(word, "any") != 0)
			return wtl_lines_fail(
				lines, "'%s' is no precision: fp32, fp16, int8, … or any", word);
		return 0;
	}
	if (argument == 'c') {
		if (wtl_num_bytes(word, strlen(word), &constant->capacity) < 0 ||
		    constant->capacity == 0)
			return wtl_lines_fail(lines, "'%s' is no size such as 8KiB", word);
		return 0;
	}
	size_t len = strlen(word);
	if (len < 4 || strcmp(word + len - 3, "bit") != 0 ||
	    wtl_num_u64(word, len - 3, &size) < 0 || size < 1 || size > 4096)
		return wtl_lines_fail(lines, "'%s' is no width such as 64bit", word);
	constant->bits = (unsigned int)size;
	return 0;
}

static const struct unit *find_unit(const char *word)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(word, units[i].name) == 0)
			return &units[i];
	return NULL;
}

static int parse_unit(struct wtl_lines *lines, size_t at, char dimension,
		      struct wtl_constant *constant)
{
	const char *some = dimension == 'J' ? "pJ, nJ, uJ" : dimension == 'W' ? "mW, W" : "ns, us";
	const struct unit *unit = at < lines->n ? find_unit(lines->words[at]) : NULL;

	if (!unit)
		return wtl_lines_fail(lines, "'%s' has no unit behind its value (%s)",
				      constant->name, some);
	if (unit->dimension != dimension)
		return wtl_lines_fail(lines, "'%s' is not in %s (but in %s)", constant->name,
				      unit->name, some);
	wtl_text_copy(constant->unit, sizeof(constant->unit), unit->name);
	constant->scale = unit->scale;
	constant->nominal *= unit->scale;
	constant->low = constant->high = constant->nominal;
	return 0;
}

/* "from LOW to HIGH", a grade, "source …" up to the end. */
static int parse_tail(struct wtl_lines *lines, size_t at, struct wtl_constant *constant)
{
	const char *source = strstr(lines->rest, " source ");
	int rc = 0;

	if (at + 4 <= lines->n && strcmp(lines->words[at], "from") == 0 &&
	    strcmp(lines->words[at + 2], "to") == 0) {
		rc = wtl_lines_number(lines, lines->words[at + 1], "the lowest value", 0, 1e12,
				      &constant->low);
		if (rc == 0)
			rc = wtl_lines_number(lines, lines->words[at + 3], "the highest value", 0,
					      1e12, &constant->high);
		if (rc < 0)
			return rc;
		constant->low *= constant->scale;
		constant->high *= constant->scale;
		if (constant->low > constant->nominal || constant->high < constant->nominal)
			return wtl_lines_fail(lines, "the value of '%s' is not between its bounds",
					      constant->name);
		at += 4;
	}
	if (at < lines->n && strcmp(lines->words[at], "source") != 0)
		rc = parse_grade(lines, lines->words[at++], &constant->grade);
	if (rc == 0 && at < lines->n && strcmp(lines->words[at], "source") != 0)
		return wtl_lines_fail(
			lines,
			"'%s' is too much: KEY VALUE UNIT [from LOW to HIGH] [GRADE] [source …]",
			lines->words[at]);
	if (rc == 0 && source)
		wtl_text_copy(constant->source, sizeof(constant->source), source + 8);
	return rc;
}

static int parse_value(struct wtl_lines *lines, const struct form *form, size_t at,
		       struct wtl_constant *constant)
{
	if (at >= lines->n)
		return wtl_lines_fail(lines, "'%s' has no value", constant->name);
	if (strcmp(lines->words[at], "unknown") == 0) {
		constant->grade = WTL_GRADE_UNKNOWN;
		constant->low = constant->nominal = constant->high = (double)NAN;
		return 0;
	}
	int rc = wtl_lines_number(lines, lines->words[at], "a price", 0, 1e12, &constant->nominal);
	if (rc == 0)
		rc = parse_unit(lines, at + 1, form->dimension, constant);
	return rc < 0 ? rc : parse_tail(lines, at + 2, constant);
}

static int too_many(struct wtl_lines *lines, const struct wtl_device *device)
{
	return wtl_lines_fail(lines, "%s has more than %d constants", device->name,
			      WTL_CONSTANTS_MAX);
}

static int parse_constant(struct wtl_lines *lines, const struct form *form,
			  struct wtl_device *device)
{
	size_t n_arguments = strlen(form->arguments), used = 0;

	if (device->n == WTL_CONSTANTS_MAX)
		return too_many(lines, device);
	struct wtl_constant *constant = &device->constants[device->n];
	*constant = (struct wtl_constant){.kind = form->kind, .grade = device->grade};
	wtl_text_copy(constant->source, sizeof(constant->source), device->source);
	for (size_t i = 0; i <= n_arguments && i < lines->n; i++) {
		wtl_text_copy(constant->name + used, sizeof(constant->name) - used, i ? " " : "");
		used = strlen(constant->name);
		wtl_text_copy(constant->name + used, sizeof(constant->name) - used,
			      lines->words[i]);
		used = strlen(constant->name);
	}
	for (size_t i = 0; i < n_arguments; i++) {
		if (i + 1 >= lines->n)
			return wtl_lines_fail(lines, "'%s' is not complete", constant->name);
		int rc = parse_argument(lines, form->arguments[i], lines->words[i + 1], constant);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < device->n; i++)
		if (strcmp(device->constants[i].name, constant->name) == 0)
			return wtl_lines_fail(lines, "%s has '%s' twice", device->name,
					      constant->name);
	int rc = parse_value(lines, form, n_arguments + 1, constant);
	if (rc == 0)
		device->n++;
	return rc;
}

/* "node 45 nm", "voltage 0.9 V" */
static int parse_measure(struct wtl_lines *lines, const char *unit, double *ret)
{
	if (lines->n != 3 || strcmp(lines->words[2], unit) != 0)
		return wtl_lines_fail(lines, "'%s' is written as '%s VALUE %s'", lines->words[0],
				      lines->words[0], unit);
	return wtl_lines_number(lines, lines->words[1], lines->words[0], 1e-3, 1e5, ret);
}

static int parse_scope(struct wtl_lines *lines, struct wtl_device *device)
{
	device->is_all_in = strcmp(lines->rest, "all-in") == 0;
	if (!device->is_all_in && strcmp(lines->rest, "per-term") != 0)
		return wtl_lines_fail(lines, "'%s' is no scope: per-term or all-in", lines->rest);
	return 0;
}

/* Parses a device's property. 1: it is something else. */
static int parse_property(struct wtl_lines *lines, struct wtl_device *device)
{
	const char *word = lines->words[0];

	if (strcmp(word, "title") == 0)
		wtl_text_copy(device->title, sizeof(device->title), lines->rest);
	else if (strcmp(word, "source") == 0)
		wtl_text_copy(device->source, sizeof(device->source), lines->rest);
	else if (strcmp(word, "note") == 0)
		wtl_text_copy(device->note, sizeof(device->note), lines->rest);
	else if (strcmp(word, "grade") == 0)
		return parse_grade(lines, lines->rest, &device->grade);
	else if (strcmp(word, "scope") == 0)
		return parse_scope(lines, device);
	else if (strcmp(word, "node") == 0)
		return parse_measure(lines, "nm", &device->node_nm);
	else if (strcmp(word, "voltage") == 0)
		return parse_measure(lines, "V", &device->voltage_v);
	else
		return 1;
	return 0;
}

/* "operations DEVICE": copies the operations of a device before this one, each with its own grade and source. */
static int take_operations(struct wtl_lines *lines, const struct wtl_devices *devices,
			   struct wtl_device *device)
{
	const struct wtl_device *from = wtl_devices_find(devices, lines->rest);

	if (!from || from == device)
		return wtl_lines_fail(lines, "'%s' is no device before this one", lines->rest);
	for (size_t i = 0; i < from->n; i++) {
		enum wtl_constant_kind kind = from->constants[i].kind;

		if (kind != WTL_CONSTANT_ADD && kind != WTL_CONSTANT_MUL &&
		    kind != WTL_CONSTANT_MAC)
			continue;
		if (device->n == WTL_CONSTANTS_MAX)
			return too_many(lines, device);
		device->constants[device->n++] = from->constants[i];
	}
	return 0;
}

static int parse_statement(struct wtl_lines *lines, const struct wtl_devices *devices,
			   struct wtl_device *device)
{
	int rc = parse_property(lines, device);

	if (rc <= 0)
		return rc;
	if (strcmp(lines->words[0], "operations") == 0)
		return take_operations(lines, devices, device);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strcmp(lines->words[0], forms[i].name) == 0)
			return parse_constant(lines, &forms[i], device);
	return wtl_lines_fail(lines, "'%s' is not known here", lines->words[0]);
}

/* Begins a new device, or one that replaces another of its name. */
static int begin(struct wtl_devices *devices, struct wtl_lines *lines, struct wtl_device **ret)
{
	struct wtl_device *device = NULL;

	if (lines->n != 2 || strlen(lines->words[1]) >= sizeof(device->name))
		return wtl_lines_fail(lines, "'device' is followed by a name of up to 47 bytes");
	for (size_t i = 0; i < devices->n; i++)
		if (strcmp(devices->devices[i].name, lines->words[1]) == 0)
			device = &devices->devices[i];
	if (!device) {
		if (devices->n == DEVICES_MAX)
			return wtl_lines_fail(lines, "more than %d devices", DEVICES_MAX);
		if (wtl_array_reserve(&devices->devices, &devices->room, devices->n + 1,
				      sizeof(*device)) < 0)
			return -ENOMEM;
		device = &devices->devices[devices->n++];
	}
	*device = (struct wtl_device){
		.node_nm = (double)NAN, .voltage_v = (double)NAN, .grade = WTL_GRADE_UNCHECKED};
	wtl_text_copy(device->name, sizeof(device->name), lines->words[1]);
	*ret = device;
	return 0;
}

/* Ends a device: it needs a source, and an all-in one must have no constants that would be added. */
static int finish(struct wtl_lines *lines, struct wtl_device *device)
{
	if (!device)
		return 0;
	if (device->source[0] == '\0')
		return wtl_lines_fail(lines, "the device %s has no source", device->name);
	device->is_digital = wtl_device_constant(device, WTL_CONSTANT_ADD, WTL_PRECISION_UNKNOWN);
	if (!device->is_all_in)
		return 0;
	for (size_t i = 0; i < device->n; i++) {
		enum wtl_constant_kind kind = device->constants[i].kind;
		if (kind != WTL_CONSTANT_SYNOP && kind != WTL_CONSTANT_MAC &&
		    kind != WTL_CONSTANT_TIME && kind != WTL_CONSTANT_STATIC)
			return wtl_lines_fail(
				lines,
				"the price of %s has everything in it (scope all-in): '%s' cannot "
				"be added",
				device->name, device->constants[i].name);
	}
	return 0;
}

int wtl_devices_parse(struct wtl_devices *devices, const char *text, size_t len, const char *file,
		      struct wtl_err *err)
{
	struct wtl_lines lines;
	struct wtl_device *device = NULL;
	int rc;

	wtl_lines_init(&lines, text, len, file, err);
	while ((rc = wtl_lines_next(&lines)) > 0) {
		if (strcmp(lines.words[0], "device") == 0) {
			rc = finish(&lines, device);
			if (rc == 0)
				rc = begin(devices, &lines, &device);
		} else if (!device) {
			rc = wtl_lines_fail(&lines,
					    "'%s' belongs to no device: begin with 'device NAME'",
					    lines.words[0]);
		} else {
			rc = parse_statement(&lines, devices, device);
		}
		if (rc < 0)
			break;
	}
	if (rc == 0)
		rc = finish(&lines, device);
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "estimate", file, "no memory for its devices");
	return rc;
}

int wtl_devices_builtin(struct wtl_devices *devices, struct wtl_err *err)
{
	return wtl_devices_parse(devices, wtl_neural_devices, strlen(wtl_neural_devices),
				 "devices.txt (built in)", err);
}

const struct wtl_device *wtl_devices_find(const struct wtl_devices *devices, const char *name)
{
	for (size_t i = 0; i < devices->n; i++)
		if (strcmp(devices->devices[i].name, name) == 0)
			return &devices->devices[i];
	return NULL;
}

const struct wtl_constant *wtl_device_constant(const struct wtl_device *device,
					       enum wtl_constant_kind kind,
					       enum wtl_precision precision)
{
	for (size_t i = 0; i < device->n; i++) {
		const struct wtl_constant *constant = &device->constants[i];
		if (constant->kind == kind &&
		    (precision == WTL_PRECISION_UNKNOWN || constant->precision == precision ||
		     constant->precision == WTL_PRECISION_UNKNOWN))
			return constant;
	}
	return NULL;
}

void wtl_devices_done(struct wtl_devices *devices)
{
	free(devices->devices);
	*devices = (struct wtl_devices){0};
}
