/* SPDX-License-Identifier: MIT */
#include "neural/onnx_state.h"

/* A model's functions, found by hash: there may be thousands, and each node may call one. */

static uint32_t sum_of(const struct wtl_onnx_function *named)
{
	uint64_t sum = wtl_hash_more(WTL_HASH_START, named->name.at, named->name.len);

	sum = wtl_hash_more(sum, named->domain.at, named->domain.len);
	return (uint32_t)wtl_hash_more(sum, named->overload.at, named->overload.len);
}

static bool is_function(const void *context, uint32_t value, const void *key)
{
	const struct wtl_onnx_state *state = context;
	const struct wtl_onnx_function *a = &state->functions[value], *b = key;

	return wtl_span_same(a->name, b->name) && wtl_span_same(a->domain, b->domain) &&
	       wtl_span_same(a->overload, b->overload);
}

const struct wtl_onnx_function *wtl_onnx_function_find(const struct wtl_onnx_state *state,
						       const struct wtl_onnx_function *named)
{
	const uint32_t *at =
		wtl_hash_find(&state->functions_by_name, sum_of(named), is_function, state, named);

	return at ? &state->functions[*at] : NULL;
}

int wtl_onnx_function_add(struct wtl_onnx_state *state, struct wtl_span message)
{
	struct wtl_onnx_function *function = wtl_arena_add(&state->bytes.arena, &state->functions,
							   &state->n_functions, sizeof(*function));
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	if (!function || wtl_hash_reserve(&state->functions_by_name, state->n_functions) < 0)
		return wtl_onnx_no_memory(&state->bytes);
	*function = (struct wtl_onnx_function){.message = message};
	while ((rc = wtl_onnx_next(&state->bytes, &proto, &field)) > 0) {
		if (field.wire != WTL_WIRE_BYTES)
			continue;
		if (field.number == 1)
			function->name = field.bytes;
		else if (field.number == 10)
			function->domain = field.bytes;
		else if (field.number == 13)
			function->overload = field.bytes;
	}
	if (wtl_span_is(function->domain, "ai.onnx"))
		function->domain.len = 0;
	if (rc == 0 && !wtl_onnx_function_find(state, function))
		wtl_hash_add(&state->functions_by_name, sum_of(function),
			     (uint32_t)(state->n_functions - 1));
	return rc;
}
