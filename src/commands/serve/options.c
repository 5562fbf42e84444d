/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/option.h"
#include "cli/options.h"
#include "commands/serve/serve.h"
#include "energy/units.h"
#include "serve/http.h"
#include "serve/metrics.h"

/* Counters need no shorter interval; sampled domains get their usual one. */
#define INTERVAL_NS WTL_NS_PER_S

/* Further ended processes are grouped by name: an agent runs for months, and nobody asks for each of them. */
enum { EXITED = 256 };

static int add_compat(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	for (unsigned i = 0; wtl_metrics_compat_names[i]; i++)
		if (strcmp(wtl_metrics_compat_names[i], text) == 0) {
			*(unsigned *)wtl_option_target(app, option) |= WTL_METRICS_KEPLER << i;
			return 0;
		}
	return -EINVAL;
}

static const char *const push_forms[] = {"remote-write", "influx", NULL};
static const char *const share_words[] = {"group", "everyone", NULL};

const struct wtl_option wtl_serve_options[] = {
	{"port", 0, "N", "The TCP port to listen at (default: 9177); 0 chooses a free one",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_serve_settings, port), .least = 0, .most = 65535},
	{"address", 0, "IP", "The address to listen at (default: 127.0.0.1)", WTL_OPTION_TEXT,
	 WTL_OWN(struct wtl_serve_settings, address)},
	{"web-config", 0, "FILE",
	 "Who may ask: TLS, clients' certificates and users, in the format of Prometheus' exporters. "
	 "SIGHUP reads it again",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_serve_settings, web_config)},
	{"insecure-listen", 0, NULL,
	 "Listen at another address than this machine's own without encryption and passwords",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_serve_settings, insecure_listen)},
	{"host", 0, "NAME", "A name that browsers may call this server by; may be given again",
	 WTL_OPTION_LIST, WTL_OWN(struct wtl_serve_settings, hosts), .takes = "a host's name"},
	{"store", 0, "DIR",
	 "The folder that it remembers in (default: /var/lib/wattle/serve for root, else "
	 "~/.local/state/wattle/serve)",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_serve_settings, store), .what = "a folder"},
	{"no-store", 0, NULL, "Remember nothing: counters begin at 0 with each start",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_serve_settings, no_store)},
	{"max-size", 0, "SIZE", "Keep about SIZE in the store, the newest (default: 2G)",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_serve_settings, max_bytes),
	 .takes = "a size of at least 2M such as 500M, 20G or 1.5GiB", .least = 2000000,
	 .set = wtl_option_set_bytes},
	{"max-age", 0, "TIME", "Keep the newest TIME in the store (default: 31d)",
	 WTL_OPTION_DURATION, WTL_OWN(struct wtl_serve_settings, max_age_ns),
	 .least = 3600 * WTL_NS_PER_S, .most = 3660 * 86400 * WTL_NS_PER_S,
	 .takes = "a time from 1h to ten years such as 12h or 31d"},
	{"per-process", 0, NULL, "Tell every process by its number as well: many series",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_serve_settings, per_process)},
	{"compat", 0, "NAME",
	 "Also the names that dashboards of kepler, dcgm (dcgm-exporter), scaphandre, node "
	 "(node_exporter) or aipowermeter ask for; may be given again",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_serve_settings, compat),
	 .words = wtl_metrics_compat_names, .set = add_compat},
	{"socket", 0, "PATH",
	 "Where programs of this machine that are denied the sensors ask, or none (default: "
	 "/run/wattle/agent/serve.sock for root)",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_serve_settings, socket)},
	{"reader", 0, NULL,
	 "Only the socket and no HTTP: the half of an agent that has rights (see --exporter)",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_serve_settings, is_reader)},
	{"exporter", 0, NULL,
	 "Only HTTP, and no sensors: the half that needs no rights. It asks the reader at --socket",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_serve_settings, is_exporter)},
	{"push", 0, "URL",
	 "Send all metrics to an engine, and what it could not take later: "
	 "http://HOST:9090/api/v1/write, say",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_serve_settings, push.url), .takes = "a URL"},
	{"push-interval", 0, "TIME",
	 "How often: a second's figures each, all at once (default: 10s)", WTL_OPTION_DURATION,
	 WTL_OWN(struct wtl_serve_settings, push_interval_ns), .least = WTL_NS_PER_S,
	 .most = 3600 * WTL_NS_PER_S, .takes = "a time from 1s to 1h such as 10s"},
	{"push-as", 0, "FORM",
	 "remote-write: Prometheus, VictoriaMetrics, Mimir; influx: InfluxDB's lines (default: "
	 "remote-write)",
	 WTL_OPTION_WORD, WTL_OWN(struct wtl_serve_settings, push.form), .words = push_forms},
	{"push-verify", 0, "URL",
	 "Ask the engine after the first push, and once an hour, whether it has what it acknowledged: "
	 "the URL of its queries, http://HOST:9090/api/v1/query, say",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_serve_settings, push_verify), .takes = "a URL"},
	{"push-label", 0, "NAME=VALUE",
	 "A label of all series that are pushed, beside job=\"wattle\" and instance=\"HOST\"; may be "
	 "given again",
	 WTL_OPTION_LIST, WTL_OWN(struct wtl_serve_settings, push_labels), .takes = "a label"},
	{"push-headers", 0, "FILE",
	 "Lines of HTTP headers, \"Authorization: Bearer TOKEN\" say; read before each request",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_serve_settings, push.headers)},
	{"push-ca", 0, "FILE", "Whom to trust instead of the system's authorities (PEM)",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_serve_settings, push.how.ca)},
	{"push-certificate", 0, "FILE", "The certificate and key to show to the engine (PEM)",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_serve_settings, push.how.certificate)},
	{"share-with", 0, "WHO",
	 "Whom that is for: group: root and the group wattle; everyone: others get totals, once a "
	 "second (default: group)",
	 WTL_OPTION_WORD, WTL_OWN(struct wtl_serve_settings, share_with), .words = share_words},
	{"limit-group", 0, "NAME",
	 "Set power limits of GPUs (wattle limit) for root and the members of that group, who are "
	 "denied it themselves (default: for nobody)",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_serve_settings, limit_group),
	 .set = wtl_serve_limit_group},
	{0},
};

bool wtl_serve_is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* ---- Combinations ---- */

static bool is_one_of(const char *name, const char *const names[])
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names;
}

/* Options that only the other half uses are refused. */
static int check_halves(struct wtl_app *app)
{
	static const char *const network[] = {
		"port",		 "address", "web-config",	"insecure-listen",
		"host",		 "compat",  "exporter",		"push",
		"push-interval", "push-as", "push-label",	"push-verify",
		"push-headers",	 "push-ca", "push-certificate", NULL};
	/* An exporter keeps its own rows to push. */
	static const char *const store[] = {"store", "no-store", "max-size", "max-age", NULL};
	static const char *const both[] = {"per-process", "socket",  "interval", "jitter",
					   "quiet",	  "verbose", "help",	 NULL};
	const struct wtl_serve_settings *settings = app->own;
	const struct wtl_option *option;

	if (settings->is_reader && settings->is_exporter)
		return wtl_complain(app,
				    "--reader and --exporter exclude each other: one process each");
	for (size_t i = 0; (option = wtl_option_at(app->command, i)); i++) {
		bool is_used = app->used >> i & 1, is_network = is_one_of(option->name, network);

		if (is_used && settings->is_reader && is_network)
			return wtl_complain(
				app,
				"--reader: it does not listen to the network: --%s is for "
				"wattle serve --exporter",
				option->name);
		if (is_used && settings->is_exporter && !is_network &&
		    !is_one_of(option->name, both) &&
		    !(settings->push.url && is_one_of(option->name, store)))
			return wtl_complain(app,
					    "--exporter: it does not measure: --%s is for wattle "
					    "serve --reader",
					    option->name);
	}
	return 0;
}

int wtl_serve_check(struct wtl_app *app)
{
	struct wtl_serve_settings *settings = app->own;

	if (wtl_serve_push_check(app) || check_halves(app))
		return -EINVAL;
	if (settings->no_store && settings->store)
		return wtl_complain(app, "--store and --no-store exclude each other");
	if (!wtl_http_is_address(settings->address))
		return wtl_complain(app, "--address '%s' is no IP address such as 127.0.0.1 or ::1",
				    settings->address);
	for (size_t i = 0; i < settings->hosts.n; i++)
		if (strpbrk(settings->hosts.words[i], ":/ "))
			return wtl_complain(app, "--host takes a name without a port, not '%s'",
					    settings->hosts.words[i]);
	if (!wtl_serve_is_loopback(settings->address) && !settings->insecure_listen &&
	    !settings->web_config)
		return wtl_complain(app,
				    "--address %s: other machines could read who uses what: give "
				    "--web-config, or --insecure-listen if that is meant",
				    settings->address);
	if (!wtl_option_is_used(app, "--interval"))
		app->settings.interval_ns = INTERVAL_NS;
	app->settings.max_exited = EXITED;
	return 0;
}
