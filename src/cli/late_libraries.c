/* SPDX-License-Identifier: MIT */
/*
 * SQLite and zstd, loaded with the first recording, and expat with the first XML. They read what strangers made, so they are the machine's own, which gets
 * its security updates, and no copies in the command. Linked as shared libraries they would be loaded by every start, which
 * takes a third more of a CPU for most commands (ARCHITECTURE.md has the figures). The names are those of the libraries: the
 * same objects are linked with the libraries themselves elsewhere.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>
#include <zstd.h>

#include "base/config.h"
#include "base/symbol.h"
#include "record/database.h"
#if HAVE_EXPAT
#include <expat.h>
#endif

/* Result, name, parameters, and the arguments to pass on. */
#define SQLITE_FUNCTIONS(F)                                                                       \
	F(int, sqlite3_bind_blob64,                                                               \
	  (sqlite3_stmt * stmt, int at, const void *data, sqlite3_uint64 n, void (*end)(void *)), \
	  (stmt, at, data, n, end))                                                               \
	F(int, sqlite3_bind_int64, (sqlite3_stmt * stmt, int at, sqlite3_int64 value),            \
	  (stmt, at, value))                                                                      \
	F(int, sqlite3_bind_null, (sqlite3_stmt * stmt, int at), (stmt, at))                      \
	F(int, sqlite3_bind_text64,                                                               \
	  (sqlite3_stmt * stmt, int at, const char *text, sqlite3_uint64 n, void (*end)(void *),  \
	   unsigned char encoding),                                                               \
	  (stmt, at, text, n, end, encoding))                                                     \
	F(int, sqlite3_busy_timeout, (sqlite3 * db, int ms), (db, ms))                            \
	F(int, sqlite3_close, (sqlite3 * db), (db))                                               \
	F(const void *, sqlite3_column_blob, (sqlite3_stmt * stmt, int at), (stmt, at))           \
	F(int, sqlite3_column_bytes, (sqlite3_stmt * stmt, int at), (stmt, at))                   \
	F(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt * stmt, int at), (stmt, at))         \
	F(const char *, sqlite3_column_name, (sqlite3_stmt * stmt, int at), (stmt, at))           \
	F(const unsigned char *, sqlite3_column_text, (sqlite3_stmt * stmt, int at), (stmt, at))  \
	F(int, sqlite3_column_type, (sqlite3_stmt * stmt, int at), (stmt, at))                    \
	F(int, sqlite3_errcode, (sqlite3 * db), (db))                                             \
	F(int, sqlite3_exec,                                                                      \
	  (sqlite3 * db, const char *sql, int (*row)(void *, int, char **, char **),              \
	   void *context, char **ret_text),                                                       \
	  (db, sql, row, context, ret_text))                                                      \
	F(int, sqlite3_extended_result_codes, (sqlite3 * db, int is_on), (db, is_on))             \
	F(int, sqlite3_file_control, (sqlite3 * db, const char *name, int op, void *value),       \
	  (db, name, op, value))                                                                  \
	F(int, sqlite3_finalize, (sqlite3_stmt * stmt), (stmt))                                   \
	F(int, sqlite3_get_autocommit, (sqlite3 * db), (db))                                      \
	F(int, sqlite3_limit, (sqlite3 * db, int id, int value), (db, id, value))                 \
	F(int, sqlite3_prepare_v2,                                                                \
	  (sqlite3 * db, const char *sql, int n, sqlite3_stmt **ret_stmt, const char **ret_end),  \
	  (db, sql, n, ret_stmt, ret_end))                                                        \
	F(int, sqlite3_prepare_v3,                                                                \
	  (sqlite3 * db, const char *sql, int n, unsigned flags, sqlite3_stmt **ret_stmt,         \
	   const char **ret_end),                                                                 \
	  (db, sql, n, flags, ret_stmt, ret_end))                                                 \
	F(int, sqlite3_reset, (sqlite3_stmt * stmt), (stmt))                                      \
	F(int, sqlite3_set_authorizer,                                                            \
	  (sqlite3 * db,                                                                          \
	   int (*may)(void *, int, const char *, const char *, const char *, const char *),       \
	   void *context),                                                                        \
	  (db, may, context))                                                                     \
	F(int, sqlite3_step, (sqlite3_stmt * stmt), (stmt))                                       \
	F(int, sqlite3_system_errno, (sqlite3 * db), (db))                                        \
	F(sqlite3_vfs *, sqlite3_vfs_find, (const char *name), (name))                            \
	F(int, sqlite3_vfs_register, (sqlite3_vfs * vfs, int is_usual), (vfs, is_usual))          \
	F(int, sqlite3_vfs_unregister, (sqlite3_vfs * vfs), (vfs))                                \
	F(int, sqlite3_wal_checkpoint_v2,                                                         \
	  (sqlite3 * db, const char *name, int mode, int *ret_frames, int *ret_done),             \
	  (db, name, mode, ret_frames, ret_done))

#define ZSTD_FUNCTIONS(F)                                                                   \
	F(size_t, ZSTD_compressBound, (size_t n), (n))                                      \
	F(size_t, ZSTD_compressCCtx,                                                        \
	  (ZSTD_CCtx * zstd, void *to, size_t room, const void *from, size_t n, int level), \
	  (zstd, to, room, from, n, level))                                                 \
	F(ZSTD_CCtx *, ZSTD_createCCtx, (void), ())                                         \
	F(ZSTD_DCtx *, ZSTD_createDCtx, (void), ())                                         \
	F(size_t, ZSTD_decompressDCtx,                                                      \
	  (ZSTD_DCtx * zstd, void *to, size_t room, const void *from, size_t n),            \
	  (zstd, to, room, from, n))                                                        \
	F(size_t, ZSTD_freeCCtx, (ZSTD_CCtx * zstd), (zstd))                                \
	F(size_t, ZSTD_freeDCtx, (ZSTD_DCtx * zstd), (zstd))                                \
	F(unsigned, ZSTD_isError, (size_t code), (code))

#if HAVE_EXPAT
/* Without the library there is no parser, and nothing else is called. */
#define EXPAT_FUNCTIONS(F)                                                                        \
	F(XML_Parser, XML_ParserCreate, (const XML_Char *encoding), (encoding))                   \
	F(enum XML_Status, XML_Parse, (XML_Parser parser, const char *text, int len, int is_end), \
	  (parser, text, len, is_end))                                                            \
	F(enum XML_Status, XML_StopParser, (XML_Parser parser, XML_Bool may_resume),              \
	  (parser, may_resume))                                                                   \
	F(enum XML_Error, XML_GetErrorCode, (XML_Parser parser), (parser))                        \
	F(const XML_LChar *, XML_ErrorString, (enum XML_Error code), (code))                      \
	F(XML_Size, XML_GetCurrentLineNumber, (XML_Parser parser), (parser))

#define EXPAT_SETTERS(F)                                                                      \
	F(XML_ParserFree, (XML_Parser parser), (parser))                                      \
	F(XML_SetUserData, (XML_Parser parser, void *data), (parser, data))                   \
	F(XML_SetElementHandler,                                                              \
	  (XML_Parser parser, XML_StartElementHandler begin, XML_EndElementHandler end),      \
	  (parser, begin, end))                                                               \
	F(XML_SetCharacterDataHandler, (XML_Parser parser, XML_CharacterDataHandler handler), \
	  (parser, handler))                                                                  \
	F(XML_SetEntityDeclHandler, (XML_Parser parser, XML_EntityDeclHandler handler),       \
	  (parser, handler))
#endif

static struct {
	pthread_once_t once, once_expat;
	bool is_loaded, has_expat;
	/* These need more than passing the arguments on. */
	__typeof__(&sqlite3_open_v2) sqlite3_open_v2;
	__typeof__(&sqlite3_db_config) sqlite3_db_config;
	__typeof__(&sqlite3_progress_handler) sqlite3_progress_handler;
#define FUNCTION(result, name, parameters, arguments) __typeof__(&name) name;
	SQLITE_FUNCTIONS(FUNCTION);
	ZSTD_FUNCTIONS(FUNCTION);
#if HAVE_EXPAT
#define SETTER(name, parameters, arguments) __typeof__(&name) name;
	EXPAT_FUNCTIONS(FUNCTION);
	EXPAT_SETTERS(SETTER);
#undef SETTER
#endif
#undef FUNCTION
} late = {.once = PTHREAD_ONCE_INIT, .once_expat = PTHREAD_ONCE_INIT};

static void load(void)
{
	void *sqlite = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	void *zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	late.is_loaded =
		sqlite && zstd &&
		wtl_symbol_find(sqlite, "sqlite3_open_v2", &late.sqlite3_open_v2) &&
		wtl_symbol_find(sqlite, "sqlite3_db_config", &late.sqlite3_db_config) &&
		wtl_symbol_find(sqlite, "sqlite3_progress_handler", &late.sqlite3_progress_handler);
#define FUNCTION(result, name, parameters, arguments) \
	late.is_loaded = late.is_loaded && wtl_symbol_find(sqlite, #name, &late.name);
	SQLITE_FUNCTIONS(FUNCTION);
#undef FUNCTION
#define FUNCTION(result, name, parameters, arguments) \
	late.is_loaded = late.is_loaded && wtl_symbol_find(zstd, #name, &late.name);
	ZSTD_FUNCTIONS(FUNCTION);
#undef FUNCTION
}

static bool is_there(void)
{
	pthread_once(&late.once, load);
	return late.is_loaded;
}

/* Every other function needs what this one returns, so without the library none is called. */
int sqlite3_open_v2(const char *path, sqlite3 **ret_db, int flags, const char *vfs)
{
	*ret_db = NULL;
	return is_there() ? late.sqlite3_open_v2(path, ret_db, flags, vfs)
			  : WTL_DATABASE_NO_LIBRARY;
}

/* Every option that wattle sets is a number, and has a pointer to return it. */
int sqlite3_db_config(sqlite3 *db, int op, ...)
{
	va_list values;
	int value, *ret_value;

	va_start(values, op);
	value = va_arg(values, int);
	ret_value = va_arg(values, int *);
	va_end(values);
	return is_there() ? late.sqlite3_db_config(db, op, value, ret_value) : SQLITE_ERROR;
}

void sqlite3_progress_handler(sqlite3 *db, int n, int (*handler)(void *), void *context)
{
	if (is_there())
		late.sqlite3_progress_handler(db, n, handler, context);
}

#define FUNCTION(result, name, parameters, arguments)                \
	result name parameters                                       \
	{                                                            \
		return is_there() ? late.name arguments : (result)0; \
	}
SQLITE_FUNCTIONS(FUNCTION);
ZSTD_FUNCTIONS(FUNCTION);

#if HAVE_EXPAT
#undef FUNCTION

static void load_expat(void)
{
	void *expat = dlopen("libexpat.so.1", RTLD_NOW | RTLD_LOCAL);

	late.has_expat = expat != NULL;
#define FUNCTION(result, name, parameters, arguments) \
	late.has_expat = late.has_expat && wtl_symbol_find(expat, #name, &late.name);
#define SETTER(name, parameters, arguments) FUNCTION(void, name, parameters, arguments)
	EXPAT_FUNCTIONS(FUNCTION);
	EXPAT_SETTERS(SETTER);
#undef FUNCTION
#undef SETTER
}

static bool has_expat(void)
{
	pthread_once(&late.once_expat, load_expat);
	return late.has_expat;
}

#define FUNCTION(result, name, parameters, arguments)                 \
	result name parameters                                        \
	{                                                             \
		return has_expat() ? late.name arguments : (result)0; \
	}
#define SETTER(name, parameters, arguments)  \
	void name parameters                 \
	{                                    \
		if (has_expat())             \
			late.name arguments; \
	}
EXPAT_FUNCTIONS(FUNCTION);
EXPAT_SETTERS(SETTER);

#endif
