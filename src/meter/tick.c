/* SPDX-License-Identifier: MIT */
#include "meter/meter.h"
#include "meter/observer.h"

/* Between two readings of clocks that should move alike. */
#define SLEPT_MIN_NS (100 * WTL_NS_PER_MS)

static void notice_sleep(struct wattle_meter *meter, int64_t now_ns)
{
	int64_t asleep_ns = wtl_io_boot_ns(meter->env.io) - now_ns;

	if (meter->was_ticked && asleep_ns - meter->asleep_ns > SLEPT_MIN_NS) {
		for (size_t i = 0; i < meter->catalog.n_channels; i++)
			wtl_account_break(&meter->accounts[i]);
		wtl_log_line(meter->env.log, WTL_LOG_INFO,
			     "the machine slept: what its counters did meanwhile is not counted");
	}
	meter->asleep_ns = asleep_ns;
	meter->was_ticked = true;
}

/* The domain's stretch of power counts for the windows that it lies in. */
static void raise_max(struct wattle_meter *meter, size_t domain)
{
	uint64_t power_uw = meter->domains[domain].account->span_uw;

	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		if (!w->told && w->marks[domain].valid &&
		    w->marks[domain].from_ns <= meter->domains[domain].span_from_ns &&
		    power_uw > w->max_uw[domain])
			w->max_uw[domain] = power_uw;
}

/* The same for the total: each domain's newest stretch. */
static void raise_total_max(struct wattle_meter *meter)
{
	int64_t from_ns = INT64_MAX;
	uint64_t total_uw = 0;

	for (size_t i = 0; i < meter->n_domains; i++) {
		const struct wtl_domain_state *state = &meter->domains[i];

		if (!state->domain.in_total || !state->account ||
		    state->account->status != WATTLE_STATUS_OK)
			continue;
		if (state->account->spans == 0)
			return;
		total_uw = wtl_add_sat(total_uw, state->account->span_uw);
		if (state->span_from_ns < from_ns)
			from_ns = state->span_from_ns;
	}
	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		if (!w->told && w->sampled_ns <= from_ns && total_uw > w->total_max_uw)
			w->total_max_uw = total_uw;
}

static void settle_marks(struct wattle_meter *meter, size_t state)
{
	for (struct wtl_window *w = meter->open_windows; w; w = w->next)
		wtl_account_settle_mark(meter->domains[state].account, &w->marks[state]);
}

/* Returns true when a stretch of power was completed; span_from_ns is then its start. */
static bool feed_account(struct wtl_domain_state *state, const struct wtl_reading *reading)
{
	int64_t from_ns = state->account->span_ns;

	if (!wtl_account_feed(state->account, reading))
		return false;
	state->span_from_ns = from_ns;
	return true;
}

static void feed_lines(struct wattle_meter *meter)
{
	bool spanned = false;

	for (size_t i = 0; i < meter->n_domains; i++) {
		struct wtl_domain_state *state = &meter->domains[i];
		int primary = state->domain.primary, check = state->domain.check;

		if (check >= 0)
			wtl_account_feed(state->check, &meter->readings[check]);
		if (primary < 0)
			continue;
		if (feed_account(state, &meter->readings[primary])) {
			raise_max(meter, i);
			spanned = true;
		}
		settle_marks(meter, i);
		state->info.status = state->account->status;
		wtl_domain_state_explain(state);
		state->info.update_ns = wtl_account_update_ns(state->account);
		wtl_domain_state_compare(state);
	}
	if (spanned && meter->open_windows)
		raise_total_max(meter);
}

static void tell_observer(const struct wattle_meter *meter)
{
	const struct wtl_sample sample = {
		.begin_ns = meter->sampled_ns,
		.end_ns = meter->read_ns,
		.asleep_ns = meter->asleep_ns,
		.readings = meter->readings,
		.n = meter->catalog.n_channels,
	};

	if (meter->observer)
		meter->observer->sampled(meter->observer->context, &sample);
}

void wtl_meter_observe(struct wattle_meter *meter, const struct wtl_observer *observer)
{
	pthread_mutex_lock(&meter->lock);
	meter->observer = observer;
	meter->observed_ns = meter->read_ns;
	tell_observer(meter);
	pthread_mutex_unlock(&meter->lock);
}

static int64_t whole_us(int64_t t_ns)
{
	return t_ns - t_ns % 1000;
}

/* Who keeps readings keeps their times to the microsecond: the rest is noise, and would be most of what is kept. The
 * accounts use the same times. Readings up to the first sample that was observed stay as they are. */
static void coarsen(struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->catalog.n_channels; i++) {
		struct wtl_reading *reading = &meter->readings[i];

		if (reading->t_mono_ns <= meter->observed_ns)
			continue;
		reading->t_mono_ns = whole_us(reading->t_mono_ns);
		reading->half_ns = whole_us(reading->half_ns + 999);
	}
}

static void tell_caller(const struct wattle_meter *meter)
{
	const struct wtl_catalog *catalog = &meter->catalog;

	for (size_t i = 0; meter->options.on_sample && i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];
		const struct wtl_reading *reading = &meter->readings[i];
		const struct wattle_sample sample = {
			.size = sizeof(sample),
			.domain = channel->domain,
			.source = channel->source,
			.channel = (uint32_t)i,
			.channels = (uint32_t)catalog->n_channels,
			.method = channel->method,
			.is_energy = channel->quantity == WTL_QUANTITY_ENERGY,
			.status = reading->status,
			.value = reading->status == WATTLE_STATUS_OK
					 ? wtl_unit_convert(channel->unit, reading->value)
					 : 0,
			.t_mono_ns = reading->t_mono_ns,
			.half_ns = reading->half_ns,
		};

		meter->options.on_sample(meter->options.sample_context, &sample);
	}
}

static void count_tick(struct wattle_meter *meter, int64_t took_ns)
{
	meter->self.ticks++;
	meter->self.tick_sum_ns += took_ns;
	if (took_ns > meter->self.tick_max_ns)
		meter->self.tick_max_ns = took_ns;
}

void wtl_meter_pass_on(struct wattle_meter *meter, const struct wtl_sample *sample)
{
	meter->sampled_ns = sample->begin_ns;
	meter->read_ns = sample->end_ns;
	if (meter->observer)
		meter->observer->sampled(meter->observer->context, sample);
	count_tick(meter, sample->end_ns - sample->begin_ns);
}

int64_t wtl_meter_sample(struct wattle_meter *meter)
{
	int64_t begin_ns = wtl_io_mono_ns(meter->env.io);
	int64_t now_ns = begin_ns;

	notice_sleep(meter, begin_ns);
	for (size_t i = 0; i < meter->n_sensors; i++)
		now_ns = wtl_sensor_read(meter, &meter->sensors[i], now_ns);
	if (meter->observer) {
		begin_ns = whole_us(begin_ns);
		now_ns = whole_us(now_ns);
		coarsen(meter);
	}
	meter->sampled_ns = begin_ns;
	meter->read_ns = now_ns;
	tell_observer(meter);
	if (!meter->only_observed)
		feed_lines(meter);
	tell_caller(meter);
	count_tick(meter, now_ns - begin_ns);
	return begin_ns;
}

int64_t wtl_meter_sample_asked(struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_sensors; i++) {
		struct wtl_sensor *sensor = &meter->sensors[i];

		if (sensor->ops->ask_for && sensor->n > 0 && !sensor->worker)
			sensor->ops->ask_for(sensor->state);
	}
	return wtl_meter_sample(meter);
}
