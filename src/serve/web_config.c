/* SPDX-License-Identifier: MIT */
#include "serve/web_config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/symbol.h"
#include "base/text.h"

#define LIBRARY "libyaml-0.so.2"

struct yaml {
	int (*parser_initialize)(yaml_parser_t *parser);
	void (*parser_set_input_string)(yaml_parser_t *parser, const unsigned char *text,
					size_t len);
	int (*parser_load)(yaml_parser_t *parser, yaml_document_t *document);
	void (*parser_delete)(yaml_parser_t *parser);
	yaml_node_t *(*document_get_root_node)(yaml_document_t *document);
	yaml_node_t *(*document_get_node)(yaml_document_t *document, int i);
	void (*document_delete)(yaml_document_t *document);
};

struct reader {
	struct yaml yaml;
	yaml_document_t document;
	const char *path;
	struct wtl_web_config *config;
	struct wtl_err *err;
};

/* A known key of a mapping, and what takes its value. */
struct key {
	const char *name;
	int (*take)(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value);
	char **path; /* where to store the value if it is a path, instead of take() */
};

static int load_library(struct yaml *yaml, struct wtl_err *err)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

#define FIND(name) wtl_symbol_find(library, "yaml_" #name, &yaml->name)
	if (!library || !FIND(parser_initialize) || !FIND(parser_set_input_string) ||
	    !FIND(parser_load) || !FIND(parser_delete) || !FIND(document_get_root_node) ||
	    !FIND(document_get_node) || !FIND(document_delete))
		return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				   LIBRARY " reads --web-config, and cannot be loaded: install it "
					   "(Debian: libyaml-0-2)");
#undef FIND
	return 0;
}

/* ---- Nodes ---- */

static int refuse(struct reader *reader, size_t line, const char *what, const char *name,
		  const char *why)
{
	char place[160];

	snprintf(place, sizeof(place), "%.140s:%zu", reader->path, line + 1);
	return wtl_err_set(reader->err, WTL_EFORMAT, "serve", place, "%s%s%.100s%s%s", what,
			   name ? " '" : "", name ? name : "", name ? "' " : " ", why);
}

static const char *text_of(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
						      : NULL;
}

static int refuse_at(struct reader *reader, const yaml_node_t *key, const char *why)
{
	return refuse(reader, key->start_mark.line, "the value of", text_of(key), why);
}

/* A text that is not empty, and has no NUL. */
static const char *value_of(const yaml_node_t *node)
{
	const char *text = text_of(node);

	return text && text[0] && strlen(text) == node->data.scalar.length ? text : NULL;
}

/* Is there nothing after the colon? */
static bool is_nothing(const yaml_node_t *node)
{
	const char *text = text_of(node);

	return text && (!text[0] || strcmp(text, "~") == 0 || strcmp(text, "null") == 0) &&
	       node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static yaml_node_t *node_at(struct reader *reader, int i)
{
	return reader->yaml.document_get_node(&reader->document, i);
}

static int keep(struct reader *reader, const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? 0 : wtl_err_set(reader->err, ENOMEM, "serve", NULL, "out of memory");
}

static int take_path(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value,
		     char **ret)
{
	const char *path = value_of(value), *slash = strrchr(reader->path, '/');

	if (!path)
		return refuse_at(reader, key, "is to be a file's path");
	if (path[0] == '/' || !slash)
		return keep(reader, path, ret);
	if (asprintf(ret, "%.*s/%s", (int)(slash - reader->path), reader->path, path) < 0) {
		*ret = NULL;
		return wtl_err_set(reader->err, ENOMEM, "serve", NULL, "out of memory");
	}
	return 0;
}

static int take_one(struct reader *reader, const struct key keys[], uint64_t *seen,
		    const yaml_node_t *key, const yaml_node_t *value)
{
	const char *name = value_of(key);
	size_t i = 0;

	if (!name)
		return refuse(reader, key->start_mark.line, "a key", NULL, "is no text");
	while (keys[i].name && strcmp(keys[i].name, name) != 0)
		i++;
	if (!keys[i].name)
		return refuse(reader, key->start_mark.line, "the key", name,
			      "is not known: see docs/serve.md");
	if (*seen & UINT64_C(1) << i)
		return refuse(reader, key->start_mark.line, "the key", name, "is there twice");
	*seen |= UINT64_C(1) << i;
	return keys[i].path ? take_path(reader, key, value, keys[i].path)
			    : keys[i].take(reader, key, value);
}

static int take_mapping(struct reader *reader, const struct key keys[], const yaml_node_t *node)
{
	uint64_t seen = 0;
	int rc = 0;

	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     rc == 0 && pair < node->data.mapping.pairs.top; pair++)
		rc = take_one(reader, keys, &seen, node_at(reader, pair->key),
			      node_at(reader, pair->value));
	return rc;
}

/* ---- TLS ---- */

static int take_auth(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value)
{
	static const char *const names[] = {
		[WTL_CLIENT_NONE] = "NoClientCert",
		[WTL_CLIENT_VERIFY_IF_GIVEN] = "VerifyClientCertIfGiven",
		[WTL_CLIENT_REQUIRE] = "RequireAndVerifyClientCert",
	};
	const char *text = value_of(value);

	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], text) == 0) {
			reader->config->client_auth = (enum wtl_client_auth)i;
			return 0;
		}
	return refuse_at(reader, key,
			 "is to be NoClientCert, VerifyClientCertIfGiven or "
			 "RequireAndVerifyClientCert: others check nothing");
}

static int take_version(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value)
{
	const char *text = value_of(value);

	if (!text || strlen(text) != 5 || !wtl_text_starts(text, "TLS1") || text[4] < '0' ||
	    text[4] > '3')
		return refuse_at(reader, key, "is to be TLS10, TLS11, TLS12 or TLS13");
	reader->config->min_version = 10 + (unsigned)(text[4] - '0');
	return 0;
}

static int check_tls(struct reader *reader, const yaml_node_t *key)
{
	const struct wtl_web_config *config = reader->config;

	if (!config->cert_file || !config->key_file)
		return refuse_at(reader, key, "needs cert_file and key_file");
	if (config->client_ca_file && config->client_auth == WTL_CLIENT_NONE)
		return refuse_at(reader, key, "has client_ca_file without client_auth_type");
	if (!config->client_ca_file && config->client_auth != WTL_CLIENT_NONE)
		return refuse_at(reader, key, "has client_auth_type without client_ca_file");
	return 0;
}

static int take_tls(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value)
{
	struct wtl_web_config *config = reader->config;
	const struct key keys[] = {
		{"cert_file", NULL, &config->cert_file},
		{"key_file", NULL, &config->key_file},
		{"client_ca_file", NULL, &config->client_ca_file},
		{"client_auth_type", take_auth, NULL},
		{"min_version", take_version, NULL},
		{NULL, NULL, NULL},
	};
	int rc;

	if (is_nothing(value))
		return 0;
	if (value->type != YAML_MAPPING_NODE)
		return refuse_at(reader, key, "is to be keys with values");
	config->has_tls = true;
	rc = take_mapping(reader, keys, value);
	return rc < 0 ? rc : check_tls(reader, key);
}

/* ---- Users ---- */

static bool is_bcrypt(const char *hash)
{
	static const char letters[] =
		"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return strlen(hash) == 60 && wtl_text_starts(hash, "$2") && strchr("aby", hash[2]) &&
	       hash[3] == '$' && strspn(hash + 4, "0123456789") == 2 && hash[6] == '$' &&
	       strspn(hash + 7, letters) == 53;
}

static int add_user(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value)
{
	struct wtl_web_config *config = reader->config;
	const char *name = value_of(key), *hash = value_of(value);
	struct wtl_web_user *user;
	int rc, cost;

	if (!name || strchr(name, ':'))
		return refuse(reader, key->start_mark.line, "a user's name", NULL,
			      "is to be a text without a colon");
	for (size_t i = 0; i < config->n_users; i++)
		if (strcmp(config->users[i].name, name) == 0)
			return refuse(reader, key->start_mark.line, "the user", name,
				      "is there twice");
	if (!hash || !is_bcrypt(hash))
		return refuse(reader, key->start_mark.line, "the password of", name,
			      "is to be a hash by bcrypt: htpasswd -nBC 10 \"\"");
	cost = (hash[4] - '0') * 10 + hash[5] - '0';
	if (cost < 4 || cost > WTL_WEB_COST_MAX)
		return refuse(reader, key->start_mark.line, "the password of", name,
			      "has a cost that is not from 4 to 12: each check would be too cheap, "
			      "or take seconds");
	if (config->n_users == WTL_WEB_USERS_MAX)
		return refuse(reader, key->start_mark.line, "the user", name,
			      "is one too many: 256 are possible");
	if (wtl_array_reserve(&config->users, &config->room_users, config->n_users + 1,
			      sizeof(*config->users)) < 0)
		return wtl_err_set(reader->err, ENOMEM, "serve", NULL, "out of memory");
	user = &config->users[config->n_users++];
	*user = (struct wtl_web_user){.name = NULL};
	rc = keep(reader, name, &user->name);
	return rc < 0 ? rc : keep(reader, hash, &user->hash);
}

static int take_users(struct reader *reader, const yaml_node_t *key, const yaml_node_t *value)
{
	int rc = 0;

	if (is_nothing(value))
		return 0;
	if (value->type != YAML_MAPPING_NODE)
		return refuse_at(reader, key, "is to be users with hashes of their passwords");
	for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
	     rc == 0 && pair < value->data.mapping.pairs.top; pair++)
		rc = add_user(reader, node_at(reader, pair->key), node_at(reader, pair->value));
	return rc;
}

/* ---- All of it ---- */

static int take_all(struct reader *reader)
{
	static const struct key keys[] = {
		{"tls_server_config", take_tls, NULL},
		{"basic_auth_users", take_users, NULL},
		{NULL, NULL, NULL},
	};
	const yaml_node_t *root = reader->yaml.document_get_root_node(&reader->document);

	if (!root || is_nothing(root))
		return 0; /* Prometheus accepts an empty file as well */
	if (root->type != YAML_MAPPING_NODE)
		return refuse(reader, root->start_mark.line, "the file", NULL,
			      "is to be keys with values");
	return take_mapping(reader, keys, root);
}

int wtl_web_config_parse(const char *text, size_t len, const char *path,
			 struct wtl_web_config *ret_config, struct wtl_err *err)
{
	struct reader reader = {.path = path, .config = ret_config, .err = err};
	yaml_parser_t parser;
	int rc;

	*ret_config = (struct wtl_web_config){.min_version = 12};
	rc = load_library(&reader.yaml, err);
	if (rc < 0)
		return rc;
	if (!reader.yaml.parser_initialize(&parser))
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	reader.yaml.parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (reader.yaml.parser_load(&parser, &reader.document)) {
		rc = take_all(&reader);
		reader.yaml.document_delete(&reader.document);
	} else {
		rc = refuse(&reader, parser.problem_mark.line, "this", NULL,
			    parser.problem ? parser.problem : "is no YAML");
	}
	reader.yaml.parser_delete(&parser);
	return rc;
}

int wtl_web_config_read(const char *path, struct wtl_web_config *ret_config, struct wtl_err *err)
{
	struct wtl_buf text;
	int rc;

	*ret_config = (struct wtl_web_config){.n_users = 0};
	wtl_buf_init(&text, WTL_WEB_CONFIG_MAX);
	rc = wtl_infile_read(path, &text);
	if (rc < 0)
		rc = wtl_err_set(err, rc, "serve", path, "%s",
				 rc == -EFBIG ? "it has more than 64 KiB" : wtl_err_text(rc));
	else
		rc = wtl_web_config_parse(wtl_buf_str(&text), text.len, path, ret_config, err);
	wtl_buf_done(&text);
	return rc;
}

void wtl_web_config_done(struct wtl_web_config *config)
{
	for (size_t i = 0; i < config->n_users; i++) {
		free(config->users[i].name);
		free(config->users[i].hash);
	}
	free(config->users);
	free(config->cert_file);
	free(config->key_file);
	free(config->client_ca_file);
	*config = (struct wtl_web_config){.n_users = 0};
}
