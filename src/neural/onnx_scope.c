/* SPDX-License-Identifier: MIT */
#include "neural/onnx_scope.h"

static bool is_name(const void *context, uint32_t value, const void *key)
{
	const struct wtl_onnx_scope *scope = context;

	return wtl_span_same(scope->named[value].name, *(const struct wtl_span *)key);
}

struct wtl_onnx_value *wtl_onnx_scope_find(const struct wtl_onnx_scope *scope, struct wtl_span name)
{
	uint32_t sum = wtl_hash_bytes(name.at, name.len);

	for (; scope; scope = scope->around) {
		const uint32_t *at = wtl_hash_find(&scope->hash, sum, is_name, scope, &name);

		if (at)
			return scope->named[*at].value;
	}
	return NULL;
}

struct wtl_onnx_value *wtl_onnx_scope_set(struct wtl_onnx_scope *scope, struct wtl_arena *arena,
					  struct wtl_span name, const struct wtl_onnx_value *value)
{
	uint32_t sum = wtl_hash_bytes(name.at, name.len);
	const uint32_t *at = wtl_hash_find(&scope->hash, sum, is_name, scope, &name);
	struct wtl_onnx_named *named = at ? &scope->named[*at] : NULL;

	if (!named) {
		if (scope->n >= UINT32_MAX - 1 || wtl_hash_reserve(&scope->hash, scope->n + 1) < 0)
			return NULL;
		named = wtl_arena_add(arena, &scope->named, &scope->n, sizeof(*named));
		if (!named)
			return NULL;
		*named = (struct wtl_onnx_named){.name = name};
		wtl_hash_add(&scope->hash, sum, (uint32_t)(scope->n - 1));
	}
	named->value = wtl_arena_new(arena, 1, sizeof(*named->value));
	if (named->value)
		*named->value = *value;
	return named->value;
}

void wtl_onnx_scope_done(struct wtl_onnx_scope *scope)
{
	wtl_hash_done(&scope->hash);
}
