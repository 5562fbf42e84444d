/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_SERIES_H
#define WTL_REPLAY_SERIES_H

#include <stddef.h>

#include "record/store.h"

/* A recording's series as numbers, for its writers and readers; format.h explains them. */

/* Series that exist once. A count comes right before the series that it counts. */
enum wtl_single {
	WTL_SINGLE_OP,
	WTL_SINGLE_SAMPLE_MONO,
	WTL_SINGLE_SAMPLE_TOOK,
	WTL_SINGLE_SAMPLE_ASLEEP,
	WTL_SINGLE_WINDOW_ID,
	WTL_SINGLE_WINDOW_MONO,
	WTL_SINGLE_WINDOW_UTC,
	WTL_SINGLE_SCAN_MONO,
	WTL_SINGLE_SCAN_DURATION,
	WTL_SINGLE_SCAN_CAPACITY,
	WTL_SINGLE_SCAN_BUSY,
	WTL_SINGLE_SCAN_WEIGHT,
	WTL_SINGLE_SCAN_USES,
	WTL_SINGLE_USE_SLOT,
	WTL_SINGLE_USE_WEIGHT,
	WTL_SINGLE_SCAN_FOLDS,
	WTL_SINGLE_FOLD_FROM,
	WTL_SINGLE_FOLD_INTO,
	WTL_SINGLE_BILL_UTC,
	WTL_SINGLE_SECOND_MONO,
	WTL_SINGLE_SECOND_UTC,
	WTL_SINGLE_SECOND_CPU,
	WTL_SINGLE_SECOND_RSS,
	WTL_SINGLE_DEVICES,
	WTL_SINGLE_DEVICE_GPU,
	WTL_SINGLE_DEVICE_NUMBER,
	WTL_SINGLE_DEVICE_VALUE,
	/* If consumers are followed: the delta's. */
	WTL_SINGLE_CHANGES,
	WTL_SINGLE_CHANGE_SLOT,
	WTL_SINGLE_CHANGE_FIELD,
	WTL_SINGLE_CHANGE_BY,
	WTL_SINGLES
};

extern const char *const wtl_single_names[WTL_SINGLES];

/* Of each channel. */
enum wtl_of_channel {
	WTL_CHANNEL_AT,
	WTL_CHANNEL_VALUE,
	WTL_CHANNEL_HALF,
	WTL_CHANNEL_STATE,
	WTL_CHANNEL_ERROR,
	WTL_OF_CHANNEL
};

/* Of each GPU whose users are known. */
enum wtl_of_gpu {
	WTL_GPU_WEIGHT,
	WTL_GPU_USE,
	WTL_GPU_USES,
	WTL_GPU_SLOT,
	WTL_GPU_SHARE,
	WTL_OF_GPU
};

/* "ch.3.value" */
void wtl_channel_series_name(size_t channel, enum wtl_of_channel which,
			     char name[WTL_STORE_NAME_SIZE]);
void wtl_gpu_series_name(size_t gpu, enum wtl_of_gpu which, char name[WTL_STORE_NAME_SIZE]);

#endif
