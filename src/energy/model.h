/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_MODEL_H
#define WTL_ENERGY_MODEL_H

/*
 * The constants of the model, which stands in where no sensor measures. sensors/model_curve.h has the
 * formulas, docs/model.md tells both to users.
 */
enum {
	/* The standard uncertainty of every figure. Judgement: facts/carbon-and-ml.md 5.5. */
	WTL_MODEL_UNCERTAINTY_PERCENT = 50,
	/* Of the design power, at no use. */
	WTL_MODEL_IDLE_PERCENT = 20,
	/* A logical CPU of a processor that no table knows (CodeCarbon 3.2.9). */
	WTL_MODEL_CPU_MW = 4000,
	/* A memory module (CodeCarbon 3); with ARM processors, whose memory more often is soldered. */
	WTL_MODEL_DIMM_MW = 5000,
	WTL_MODEL_DIMM_ARM_MW = 1500,
	/* A GiB of a virtual machine, where modules mean nothing (CodeCarbon 2). */
	WTL_MODEL_VM_GIB_MW = 375,
};

#endif
