/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLIENT_GRID_H
#define WTL_CLIENT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/grid_rows.h"

struct wtl_err;
struct wtl_grid_api;
struct wtl_intensity;

/*
 * The carbon intensity of a grid over time, as it is published:
 * "electricity-maps:ZONE" (api.electricitymaps.com, with a token; hourly, life
 * cycle) and "uk-grid" or "uk-grid:REGION" (api.carbonintensity.org.uk; half-hourly,
 * emissions of power stations). Answers about another zone are refused.
 */

struct wtl_grid_source {
	const struct wtl_grid_api *api;
	char zone[32];
};

/* false: the text does not begin with an API's name. The second: 0, or -EINVAL for an invalid zone. */
bool wtl_grid_source_is(const char *text);
int wtl_grid_source_parse(const char *text, struct wtl_grid_source *ret_source);
/* The accepted forms in one line, for error texts. */
const char *wtl_grid_forms(void);
bool wtl_grid_wants_token(const struct wtl_grid_source *source);

struct wtl_grid_request {
	struct wtl_grid_source source;
	const char *url;   /* another address to ask; NULL: the API's own */
	const char *token; /* NULL: none */
	const char *ca;	   /* PEM file of trusted authorities; NULL: the system's */
	int64_t from_utc_ns, to_utc_ns, now_utc_ns;
};

struct wtl_grid_told {
	size_t n_asked;	   /* requests that were made */
	size_t n_forecast; /* steps whose figures are only forecast or estimated so far */
	size_t n_old;	   /* steps that should have been asked for again, which failed */
	char trouble[512]; /* why some could not be had; "": all could */
};

/*
 * Asks for the steps that the rows lack or have only non-final figures of, and
 * adds them to the rows. Final figures are not asked for. -WTL_ELIBRARY with
 * the reason in err: libcurl; -ENOMEM. Failures of an API are in trouble.
 */
int wtl_grid_ask(const struct wtl_grid_request *request, struct wtl_grid_rows *rows,
		 struct wtl_grid_told *ret_told, struct wtl_err *err);

/* The rows of that time as intensities; a step without a row is unknown. 0; -ENODATA: there is no row; -ENOMEM. */
int wtl_grid_intensity(const struct wtl_grid_request *request, const struct wtl_grid_rows *rows,
		       struct wtl_intensity *ret_intensity);

#endif
