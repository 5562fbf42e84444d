/* SPDX-License-Identifier: MIT */
/* Emissions of a recording, with an intensity that changes over time. */
#include <errno.h>
#include <stdlib.h>

#include "energy/units.h"
#include "meter/meter.h"
#include "replay/history.h"

/* What the counted domains have used since the first sample. */
static uint64_t total_uj(const struct wtl_emitter *emitter, int64_t t_mono_ns)
{
	uint64_t sum_uj = 0;

	for (size_t i = 0; i < emitter->meter->n_lines; i++) {
		const struct wtl_line *line = &emitter->meter->lines[i];
		struct wattle_energy energy;
		struct wtl_budget budget;

		if (!line->domain.in_total)
			continue;
		wtl_line_energy(line, &emitter->marks[i], t_mono_ns, &energy, &budget);
		if (energy.has_energy)
			sum_uj = wtl_add_sat(sum_uj, energy.energy_uj);
	}
	return sum_uj;
}

int wtl_emitter_init(struct wtl_emitter *emitter, const struct wtl_intensity *intensity,
		     struct wattle_meter *meter, int64_t t_mono_ns, int64_t t_utc_ns)
{
	*emitter = (struct wtl_emitter){.meter = meter, .t_utc_ns = t_utc_ns};
	if (!intensity || intensity->n == 0)
		return 0;
	emitter->intensity = intensity;
	emitter->marks = calloc(meter->n_lines + 1, sizeof(*emitter->marks));
	if (!emitter->marks)
		return -ENOMEM;
	for (size_t i = 0; i < meter->n_lines; i++)
		if (meter->lines[i].account)
			wtl_account_mark(meter->lines[i].account, t_mono_ns, 0, &emitter->marks[i]);
	return 0;
}

void wtl_emitter_done(struct wtl_emitter *emitter)
{
	free(emitter->marks);
	emitter->marks = NULL;
}

void wtl_emitter_look(struct wtl_emitter *emitter, int64_t t_mono_ns, int64_t t_utc_ns)
{
	uint64_t energy_uj;

	if (!emitter->intensity)
		return;
	for (size_t i = 0; i < emitter->meter->n_lines; i++)
		if (emitter->meter->lines[i].account)
			wtl_account_settle_mark(emitter->meter->lines[i].account,
						&emitter->marks[i]);
	energy_uj = total_uj(emitter, t_mono_ns);
	wtl_emission_add(&emitter->emission, emitter->intensity, emitter->t_utc_ns, t_utc_ns,
			 (int64_t)(energy_uj - emitter->energy_uj));
	emitter->energy_uj = energy_uj;
	emitter->t_utc_ns = t_utc_ns;
}
