/* SPDX-License-Identifier: MIT */
#include "serve/gate.h"

#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/infile.h"
#include "base/symbol.h"
#include "energy/units.h"
#include "serve/web_config.h"

#define TLS_LIBRARY   "libgnutls.so.30"
#define CRYPT_LIBRARY "libcrypt.so.1"

enum { FILE_MAX = 1 << 20, DIGEST_SIZE = 32, WRONG = 64, TRIES = 4, TRIES_A_SECOND = 2 };

/* A digest of a user and password that were tried, with a key that only this process has. */
struct tried {
	unsigned char digest[DIGEST_SIZE];
	bool is_used;
};

struct tls {
	__typeof__(&gnutls_certificate_allocate_credentials) certificate_allocate_credentials;
	__typeof__(&gnutls_certificate_free_credentials) certificate_free_credentials;
	__typeof__(&gnutls_certificate_set_x509_key_mem) certificate_set_x509_key_mem;
	__typeof__(&gnutls_certificate_set_x509_trust_mem) certificate_set_x509_trust_mem;
	__typeof__(&gnutls_certificate_get_peers) certificate_get_peers;
	__typeof__(&gnutls_certificate_verify_peers) certificate_verify_peers;
	__typeof__(&gnutls_hmac_fast) hmac_fast;
	__typeof__(&gnutls_strerror) strerror;
};

struct wtl_gate {
	struct wtl_web_config config;
	struct wtl_buf cert, key, ca;
	char priorities[128];
	struct tls tls;
	char *(*crypt)(const char *password, const char *setting, void *data, int size);
	unsigned char secret[DIGEST_SIZE];
	struct tried *right;	   /* one a user: wrong tries cannot push it out */
	struct tried wrong[WRONG]; /* a ring */
	size_t next;
	int64_t tries_ns; /* credit for tries, as time */
	int64_t last_ns;
};

/* ---- Libraries ---- */

static int load_tls(struct tls *tls, struct wtl_err *err)
{
	void *library = dlopen(TLS_LIBRARY, RTLD_NOW | RTLD_LOCAL);

#define FIND(name) wtl_symbol_find(library, "gnutls_" #name, &tls->name)
	if (!library || !FIND(certificate_allocate_credentials) ||
	    !FIND(certificate_free_credentials) || !FIND(certificate_set_x509_key_mem) ||
	    !FIND(certificate_set_x509_trust_mem) || !FIND(certificate_get_peers) ||
	    !FIND(certificate_verify_peers) || !FIND(hmac_fast) || !FIND(strerror))
		return wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				   TLS_LIBRARY " is needed for --web-config, and cannot be loaded: "
					       "install it (Debian: libgnutls30)");
#undef FIND
	return 0;
}

static int load_crypt(struct wtl_gate *gate, struct wtl_err *err)
{
	void *library = dlopen(CRYPT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	/* bcrypt, in its oldest form: glibc's own libcrypt does not have it. */
	static const char setting[] = "$2b$04$abcdefghijklmnopqrstuu";
	struct crypt_data *data = calloc(1, sizeof(*data));
	bool is_there = library && data && wtl_symbol_find(library, "crypt_rn", &gate->crypt) &&
			gate->crypt("", setting, data, sizeof(*data));

	free(data);
	return is_there ? 0
			: wtl_err_set(err, WTL_EABSENT, "serve", NULL,
				      CRYPT_LIBRARY " with bcrypt is needed for passwords, and "
						    "cannot be loaded: install it (Debian: "
						    "libcrypt1)");
}

/* ---- Opening ---- */

static int read_file(const char *path, struct wtl_buf *text, struct wtl_err *err)
{
	int rc = wtl_infile_read(path, text);

	return rc < 0 ? wtl_err_set(err, rc, "serve", path, "%s", wtl_err_text(rc)) : 0;
}

static gnutls_datum_t datum(const struct wtl_buf *text)
{
	return (gnutls_datum_t){(unsigned char *)text->data, (unsigned)text->len};
}

/* Checks what the HTTP library would reject without a reason. */
static int check_files(const struct wtl_gate *gate, struct wtl_err *err)
{
	const struct tls *tls = &gate->tls;
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t cert = datum(&gate->cert), key = datum(&gate->key), ca = datum(&gate->ca);
	int rc = tls->certificate_allocate_credentials(&credentials);

	if (rc < 0)
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	rc = tls->certificate_set_x509_key_mem(credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
	if (rc == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		rc = wtl_err_set(err, WTL_EFORMAT, "serve", gate->config.key_file,
				 "this key is not that of the certificate %.150s",
				 gate->config.cert_file);
	else if (rc < 0)
		rc = wtl_err_set(err, WTL_EFORMAT, "serve", gate->config.cert_file,
				 "it is no certificate (PEM), or %.80s no key for it: %s",
				 gate->config.key_file, tls->strerror(rc));
	else if (gate->config.client_ca_file &&
		 tls->certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM) <= 0)
		rc = wtl_err_set(err, WTL_EFORMAT, "serve", gate->config.client_ca_file,
				 "there is no certificate (PEM) in it");
	tls->certificate_free_credentials(credentials);
	return rc < 0 ? rc : 0;
}

static int open_tls(struct wtl_gate *gate, struct wtl_err *err)
{
	const struct wtl_web_config *config = &gate->config;
	int rc = read_file(config->cert_file, &gate->cert, err);

	if (rc == 0)
		rc = read_file(config->key_file, &gate->key, err);
	if (rc == 0 && config->client_ca_file)
		rc = read_file(config->client_ca_file, &gate->ca, err);
	if (rc < 0)
		return rc;
	snprintf(gate->priorities, sizeof(gate->priorities), "NORMAL:-VERS-ALL");
	for (unsigned version = config->min_version; version <= 13; version++)
		snprintf(gate->priorities + strlen(gate->priorities), 16, ":+VERS-TLS1.%u",
			 version % 10);
	return check_files(gate, err);
}

int wtl_gate_open(const char *path, struct wtl_gate **ret_gate, struct wtl_err *err)
{
	struct wtl_gate *gate = calloc(1, sizeof(*gate));
	int rc;

	if (!gate)
		return wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	wtl_buf_init(&gate->cert, FILE_MAX);
	wtl_buf_init(&gate->key, FILE_MAX);
	wtl_buf_init(&gate->ca, FILE_MAX);
	rc = wtl_web_config_read(path, &gate->config, err);
	if (rc == 0)
		rc = load_tls(&gate->tls, err);
	if (rc == 0 && gate->config.n_users > 0)
		rc = load_crypt(gate, err);
	gate->right = calloc(gate->config.n_users + 1, sizeof(*gate->right));
	if (rc == 0 && !gate->right)
		rc = wtl_err_set(err, ENOMEM, "serve", NULL, "out of memory");
	if (rc == 0 && gate->config.has_tls)
		rc = open_tls(gate, err);
	if (rc == 0 && getrandom(gate->secret, sizeof(gate->secret), 0) != sizeof(gate->secret))
		rc = wtl_err_set(err, errno, "serve", NULL, "there are no random numbers");
	if (rc < 0) {
		wtl_gate_close(gate);
		return rc;
	}
	gate->tries_ns = TRIES * WTL_NS_PER_S / TRIES_A_SECOND;
	*ret_gate = gate;
	return 0;
}

static void wipe(struct wtl_buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->size);
	wtl_buf_done(text);
}

void wtl_gate_close(struct wtl_gate *gate)
{
	if (!gate)
		return;
	wtl_web_config_done(&gate->config);
	wipe(&gate->cert);
	wipe(&gate->key);
	wipe(&gate->ca);
	free(gate->right);
	explicit_bzero(gate, sizeof(*gate));
	free(gate);
}

char *wtl_gate_certificate(struct wtl_gate *gate)
{
	return gate && gate->config.has_tls ? gate->cert.data : NULL;
}

char *wtl_gate_key(struct wtl_gate *gate)
{
	return gate && gate->config.has_tls ? gate->key.data : NULL;
}

char *wtl_gate_client_ca(struct wtl_gate *gate)
{
	return gate ? gate->ca.data : NULL;
}

char *wtl_gate_priorities(struct wtl_gate *gate)
{
	return gate && gate->config.has_tls ? gate->priorities : NULL;
}

bool wtl_gate_is_closed(const struct wtl_gate *gate)
{
	return gate && gate->config.has_tls &&
	       (gate->config.n_users > 0 || gate->config.client_auth == WTL_CLIENT_REQUIRE);
}

/* ---- Clients ---- */

static bool is_client_right(const struct wtl_gate *gate, gnutls_session_t session)
{
	char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st data = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)purpose, 0};
	unsigned n = 0, status = 0;

	if (gate->config.client_auth == WTL_CLIENT_NONE)
		return true;
	if (!session)
		return false;
	if (!gate->tls.certificate_get_peers(session, &n) || n == 0)
		return gate->config.client_auth == WTL_CLIENT_VERIFY_IF_GIVEN;
	return gate->tls.certificate_verify_peers(session, &data, 1, &status) == 0 && status == 0;
}

/* Time since the last try is credit for the next ones. */
static bool may_try(struct wtl_gate *gate, int64_t now_ns)
{
	const int64_t price_ns = WTL_NS_PER_S / TRIES_A_SECOND;
	int64_t all_ns = gate->tries_ns + (gate->last_ns ? now_ns - gate->last_ns : 0);

	gate->last_ns = now_ns;
	gate->tries_ns = all_ns < TRIES * price_ns ? all_ns : TRIES * price_ns;
	if (gate->tries_ns < price_ns)
		return false;
	gate->tries_ns -= price_ns;
	return true;
}

static bool digest(const struct wtl_gate *gate, const char *user, const char *password,
		   unsigned char ret[DIGEST_SIZE])
{
	struct wtl_buf both;
	bool is_made;

	wtl_buf_init(&both, 64 << 10);
	wtl_buf_add(&both, user, strlen(user) + 1);
	wtl_buf_puts(&both, password);
	is_made = !both.error &&
		  gate->tls.hmac_fast(GNUTLS_MAC_SHA256, gate->secret, sizeof(gate->secret),
				      both.data, both.len, ret) == 0;
	wipe(&both);
	return is_made;
}

/* n_users: there is none of that name. */
static size_t find_user(const struct wtl_web_config *config, const char *name)
{
	size_t i = 0;

	while (i < config->n_users && strcmp(config->users[i].name, name) != 0)
		i++;
	return i;
}

/* Takes equally long whether the user exists or not. */
static bool is_password(const struct wtl_gate *gate, size_t user, const char *password)
{
	const struct wtl_web_config *config = &gate->config;
	bool is_there = user < config->n_users, is_right = false;
	const char *hash = config->users[is_there ? user : 0].hash, *made;
	struct crypt_data *data = calloc(1, sizeof(*data));

	if (data) {
		made = gate->crypt(password, hash, data, sizeof(*data));
		is_right = made && strcmp(made, hash) == 0;
		explicit_bzero(data, sizeof(*data));
	}
	free(data);
	return is_there && is_right;
}

static bool is_same(const struct tried *a, const struct tried *b)
{
	return a->is_used && memcmp(a->digest, b->digest, DIGEST_SIZE) == 0;
}

static unsigned admit_user(struct wtl_gate *gate, const char *user, const char *password,
			   int64_t now_ns)
{
	struct tried tried = {.is_used = true};
	int64_t begun_ns;
	bool is_right;
	size_t i;

	if (!user || !password || !digest(gate, user, password, tried.digest))
		return 401;
	i = find_user(&gate->config, user);
	if (i < gate->config.n_users && is_same(&gate->right[i], &tried))
		return 0;
	for (size_t k = 0; k < WRONG; k++)
		if (is_same(&gate->wrong[k], &tried))
			return 401;
	if (!may_try(gate, now_ns))
		return 429;
	begun_ns = wtl_thread_clock_ns();
	is_right = is_password(gate, i, password);
	/* The time that a try itself takes is no credit. */
	gate->last_ns += wtl_thread_clock_ns() - begun_ns;
	if (is_right) {
		gate->right[i] = tried;
		return 0;
	}
	gate->wrong[gate->next++ % WRONG] = tried;
	return 401;
}

unsigned wtl_gate_admit(struct wtl_gate *gate, void *session, const char *user,
			const char *password, int64_t now_ns)
{
	if (!gate)
		return 0;
	if (!is_client_right(gate, session))
		return 403;
	return gate->config.n_users > 0 ? admit_user(gate, user, password, now_ns) : 0;
}
