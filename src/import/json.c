/* SPDX-License-Identifier: MIT */
#include "import/json.h"

bool wtl_json_scaled(const json_t *value, double scale, uint64_t *ret)
{
	double number;

	if (json_is_array(value) && json_array_size(value) == 1)
		value = json_array_get(value, 0);
	if (!json_is_number(value))
		return false;
	number = json_number_value(value) * scale + 0.5;
	if (!(number >= 0 && number < 1e17))
		return false;
	*ret = (uint64_t)number;
	return true;
}
