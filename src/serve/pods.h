/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_PODS_H
#define WTL_SERVE_PODS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct wtl_io;

/* Names of Kubernetes pods: the kubelet keeps a folder of logs for each pod of the machine,
 * /var/log/pods/NAMESPACE_NAME_UID. Without access to that, only UIDs are known. */
struct wtl_pods {
	struct wtl_buf names; /* of those folders, each ended by a NUL */
	int64_t read_ns;      /* 0: not yet */
};

enum { WTL_POD_TITLE_SIZE = 160 };

void wtl_pods_init(struct wtl_pods *pods);
void wtl_pods_done(struct wtl_pods *pods);
/* "NAMESPACE/NAME" of the pod with that UID; "" if it is not known. An unknown one is searched again every 10 s. */
void wtl_pods_find(struct wtl_pods *pods, struct wtl_io *io, const char *uid,
		   char title[WTL_POD_TITLE_SIZE]);

#endif
