/* SPDX-License-Identifier: MIT */
/* What a meter tells of its domains, and how errors are told: what everything else of the interface stands on. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/text.h"
#include "meter/meter.h"

const char *wattle_strerror(int code)
{
	switch (code < 0 && code > INT_MIN ? -code : code) {
	case WATTLE_E_NO_WINDOW:
		return "no such window is open";
	case WATTLE_E_WINDOW_OPEN:
		return "a window of that name is open already";
	case WATTLE_E_TOO_MANY:
		return "too many windows are open";
	default:
		return wtl_err_text(code);
	}
}

void wtl_err_hand_over(const struct wtl_err *err, struct wattle_error *reterr)
{
	struct wattle_error error = {.code = err->code};

	if (!reterr)
		return;
	wtl_text_copy(error.source, sizeof(error.source), err->source);
	wtl_text_copy(error.path, sizeof(error.path), err->path);
	wtl_text_copy(error.text, sizeof(error.text), err->text);
	wtl_abi_give(reterr, &error, sizeof(error));
}

size_t wattle_meter_domains(const struct wattle_meter *meter)
{
	return meter->n_domains;
}

int wattle_meter_domain(struct wattle_meter *meter, size_t i, struct wattle_domain *ret_domain)
{
	if (i >= meter->n_domains)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_domain))
		return -EINVAL;
	pthread_mutex_lock(&meter->lock);
	wtl_abi_give(ret_domain, &meter->domains[i].info, sizeof(*ret_domain));
	pthread_mutex_unlock(&meter->lock);
	return 0;
}

int wtl_meter_domain(struct wattle_meter *meter, size_t i, struct wattle_domain *ret_domain)
{
	ret_domain->size = sizeof(*ret_domain);
	return wattle_meter_domain(meter, i, ret_domain);
}

int wattle_meter_find(const struct wattle_meter *meter, const char *name)
{
	for (size_t i = 0; name && i < meter->n_domains; i++)
		if (strcmp(meter->domains[i].domain.name, name) == 0)
			return (int)i;
	return -ENOENT;
}
