/* SPDX-License-Identifier: MIT */
/* Who may ask an agent, as YAML. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "serve/web_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static void check_taken(const struct wtl_web_config *config)
{
	check(config->min_version >= 10 && config->min_version <= 13);
	check(config->n_users <= WTL_WEB_USERS_MAX);
	check(!config->has_tls || (config->cert_file[0] && config->key_file[0]));
	check((config->client_ca_file != NULL) == (config->client_auth != WTL_CLIENT_NONE));
	for (size_t i = 0; i < config->n_users; i++) {
		check(strlen(config->users[i].hash) == 60 && config->users[i].name[0] != '\0');
		for (size_t k = 0; k < i; k++)
			check(strcmp(config->users[i].name, config->users[k].name) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_web_config config;
	struct wtl_err err = {.code = 0};
	int rc;

	if (size > WTL_WEB_CONFIG_MAX)
		return 0;
	rc = wtl_web_config_parse((const char *)data, size, "/etc/wattle/web.yml", &config, &err);
	check((rc == 0) == (err.code == 0));
	if (rc == 0)
		check_taken(&config);
	else
		check(err.text[0] != '\0' && strpbrk(err.text, "\n\033") == NULL);
	wtl_web_config_done(&config);
	return 0;
}
