/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/describe.h"
#include "cli/fd.h"
#include "commands/report/replay.h"
#include "energy/carbon.h"
#include "document/words.h"

enum { FILE_MAX = 256 << 20 };

int wtl_intensity_load(struct wtl_app *app, const char *path, struct wtl_intensity *ret_intensity)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf text;
	int fd, rc;

	*ret_intensity = (struct wtl_intensity){.n = 0};
	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	rc = fd < 0 ? -errno : 0;
	wtl_buf_init(&text, FILE_MAX);
	if (rc == 0)
		rc = wtl_fd_read_all(fd, &text);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		wtl_complain(app, "--intensity: '%s' cannot be read: %s", path, wtl_err_text(rc));
	else if ((rc = wtl_intensity_parse(ret_intensity, wtl_buf_str(&text), text.len, &err)) < 0)
		wtl_complain(app, "--intensity: '%s': %s", path, err.text);
	wtl_buf_done(&text);
	return rc;
}

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

void wtl_carbon_of_emission(const struct wtl_settings *settings, const char *path,
			    const struct wtl_emission *emission, const struct wattle_energy *total,
			    struct wtl_report_carbon *ret_carbon)
{
	struct wtl_report_carbon carbon = {.pue_milli = settings->pue_milli};
	double share = total->energy_uj > 0
			       ? (double)total->uncertainty_uj / (double)total->energy_uj
			       : 0.0;

	if (emission->energy_uj <= 0 && (emission->missing_uj > 0 || emission->known_ns <= 0))
		carbon.reason = "the file has no intensity for this time";
	if (emission->missing_uj > 0)
		carbon.missing_uj = (uint64_t)emission->missing_uj;
	carbon.carbon.intensity_mg_per_kwh = wtl_emission_mean_mg_per_kwh(emission);
	snprintf(carbon.carbon.location, sizeof(carbon.carbon.location), "time-varying");
	snprintf(carbon.carbon.dataset, sizeof(carbon.carbon.dataset), "%s", path);
	carbon.emitted_ug = wtl_emission_ug(emission);
	if (emission->uj_mg_per_kwh > 0)
		carbon.emitted_rest_ng =
			wtl_carbon_rest_ng((unsigned __int128)emission->uj_mg_per_kwh);
	wtl_describe_carbon_uncertainty(&carbon,
					share * (double)wtl_words_emitted_ng(&carbon) / 1e3);
	*ret_carbon = carbon;
}
