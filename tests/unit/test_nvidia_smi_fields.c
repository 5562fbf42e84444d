/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smi/field.h"
#include "smi/read.h"
#include "smi_bench.h"
#include "unit.h"

/*
 * Every number of struct wtl_gpu, one at a time, in all the forms that have it: the field of
 * --query-gpu, the element of the XML, and the key of the JSON. A mix-up of two shows here.
 */

struct form {
	enum wtl_gpu_number number;
	uint64_t value;
	const char *field, *csv; /* NULL: --query-gpu does not have it */
	const char *xml;	 /* the element with its text; NULL: the XML does not have it */
	const char *json;
};

#define MIB(n) (UINT64_C(n) << 20)

static const struct form forms[] = {
	{WTL_GPU_POWER_UW, 1230000, "power.draw", "1.23 W", "<power_draw>1.23 W</power_draw>",
	 "\"power_w\":1.230000"},
	{WTL_GPU_POWER_AVERAGE_UW, 2340000, "power.draw.average", "2.34 W",
	 "<average_power_draw>2.34 W</average_power_draw>", "\"power_average_w\":2.340000"},
	{WTL_GPU_POWER_INSTANT_UW, 3450000, "power.draw.instant", "3.45 W",
	 "<instant_power_draw>3.45 W</instant_power_draw>", "\"power_instant_w\":3.450000"},
	{WTL_GPU_MEMORY_POWER_AVERAGE_UW, 4560000, "memory.power.draw.average", "4.56 W",
	 "<average_power_draw>4.56 W</average_power_draw>", "\"memory_power_average_w\":4.560000"},
	{WTL_GPU_MEMORY_POWER_INSTANT_UW, 5670000, "memory.power.draw.instant", "5.67 W",
	 "<instant_power_draw>5.67 W</instant_power_draw>", "\"memory_power_instant_w\":5.670000"},
	{WTL_GPU_MODULE_POWER_AVERAGE_UW, 6780000, "module.power.draw.average", "6.78 W",
	 "<average_power_draw>6.78 W</average_power_draw>", "\"module_power_average_w\":6.780000"},
	{WTL_GPU_MODULE_POWER_INSTANT_UW, 7890000, "module.power.draw.instant", "7.89 W",
	 "<instant_power_draw>7.89 W</instant_power_draw>", "\"module_power_instant_w\":7.890000"},
	{WTL_GPU_ENERGY_UJ, 1234567, "energy.total", "1.234 J", NULL,
	 "\"energy_counter_j\":1.234567"},
	{WTL_GPU_LIMIT_UW, 10000000, "enforced.power.limit", "10.00 W",
	 "<current_power_limit>10.00 W</current_power_limit>", "\"limit_w\":10.000000"},
	{WTL_GPU_LIMIT_REQUESTED_UW, 11000000, "power.limit", "11.00 W",
	 "<requested_power_limit>11.00 W</requested_power_limit>",
	 "\"limit_requested_w\":11.000000"},
	{WTL_GPU_LIMIT_DEFAULT_UW, 12000000, "power.default_limit", "12.00 W",
	 "<default_power_limit>12.00 W</default_power_limit>", "\"limit_default_w\":12.000000"},
	{WTL_GPU_LIMIT_MIN_UW, 13000000, "power.min_limit", "13.00 W",
	 "<min_power_limit>13.00 W</min_power_limit>", "\"limit_min_w\":13.000000"},
	{WTL_GPU_LIMIT_MAX_UW, 14000000, "power.max_limit", "14.00 W",
	 "<max_power_limit>14.00 W</max_power_limit>", "\"limit_max_w\":14.000000"},
	{WTL_GPU_MODULE_LIMIT_UW, 15000000, "module.enforced.power.limit", "15.00 W",
	 "<current_power_limit>15.00 W</current_power_limit>", "\"module_limit_w\":15.000000"},
	{WTL_GPU_MODULE_LIMIT_REQUESTED_UW, 16000000, "module.power.limit", "16.00 W",
	 "<requested_power_limit>16.00 W</requested_power_limit>",
	 "\"module_limit_requested_w\":16.000000"},
	{WTL_GPU_MODULE_LIMIT_DEFAULT_UW, 17000000, "module.power.default_limit", "17.00 W",
	 "<default_power_limit>17.00 W</default_power_limit>",
	 "\"module_limit_default_w\":17.000000"},
	{WTL_GPU_MODULE_LIMIT_MIN_UW, 18000000, "module.power.min_limit", "18.00 W",
	 "<min_power_limit>18.00 W</min_power_limit>", "\"module_limit_min_w\":18.000000"},
	{WTL_GPU_MODULE_LIMIT_MAX_UW, 19000000, "module.power.max_limit", "19.00 W",
	 "<max_power_limit>19.00 W</max_power_limit>", "\"module_limit_max_w\":19.000000"},
	{WTL_GPU_USE_PERCENT, 21, "utilization.gpu", "21 %", "<gpu_util>21 %</gpu_util>",
	 "\"use_percent\":21"},
	{WTL_GPU_MEMORY_USE_PERCENT, 22, "utilization.memory", "22 %",
	 "<memory_util>22 %</memory_util>", "\"memory_use_percent\":22"},
	{WTL_GPU_ENCODER_PERCENT, 23, "utilization.encoder", "23 %",
	 "<encoder_util>23 %</encoder_util>", "\"encoder_percent\":23"},
	{WTL_GPU_DECODER_PERCENT, 24, "utilization.decoder", "24 %",
	 "<decoder_util>24 %</decoder_util>", "\"decoder_percent\":24"},
	{WTL_GPU_JPEG_PERCENT, 25, "utilization.jpeg", "25 %", "<jpeg_util>25 %</jpeg_util>",
	 "\"jpeg_percent\":25"},
	{WTL_GPU_OFA_PERCENT, 26, "utilization.ofa", "26 %", "<ofa_util>26 %</ofa_util>",
	 "\"ofa_percent\":26"},
	{WTL_GPU_MEMORY_TOTAL_BYTES, MIB(31), "memory.total", "31 MiB", "<total>31 MiB</total>",
	 "\"memory_total_bytes\":32505856"},
	{WTL_GPU_MEMORY_RESERVED_BYTES, MIB(32), "memory.reserved", "32 MiB",
	 "<reserved>32 MiB</reserved>", "\"memory_reserved_bytes\":33554432"},
	{WTL_GPU_MEMORY_USED_BYTES, MIB(33), "memory.used", "33 MiB", "<used>33 MiB</used>",
	 "\"memory_used_bytes\":34603008"},
	{WTL_GPU_MEMORY_FREE_BYTES, MIB(34), "memory.free", "34 MiB", "<free>34 MiB</free>",
	 "\"memory_free_bytes\":35651584"},
	{WTL_GPU_PROTECTED_TOTAL_BYTES, MIB(35), "protected_memory.total", "35 MiB",
	 "<total>35 MiB</total>", "\"protected_total_bytes\":36700160"},
	{WTL_GPU_PROTECTED_USED_BYTES, MIB(36), "protected_memory.used", "36 MiB",
	 "<used>36 MiB</used>", "\"protected_used_bytes\":37748736"},
	{WTL_GPU_PROTECTED_FREE_BYTES, MIB(37), "protected_memory.free", "37 MiB",
	 "<free>37 MiB</free>", "\"protected_free_bytes\":38797312"},
	{WTL_GPU_TEMPERATURE_C, 41, "temperature.gpu", "41", "<gpu_temp>41 C</gpu_temp>",
	 "\"temperature_c\":41"},
	{WTL_GPU_MEMORY_TEMPERATURE_C, 42, "temperature.memory", "42",
	 "<memory_temp>42 C</memory_temp>", "\"memory_temperature_c\":42"},
	{WTL_GPU_TEMPERATURE_MARGIN_C, (uint64_t)-43, "temperature.gpu.tlimit", "-43",
	 "<gpu_temp_tlimit>-43 C</gpu_temp_tlimit>", "\"temperature_margin_c\":-43"},
	{WTL_GPU_CLOCK_GRAPHICS_MHZ, 51, "clocks.gr", "51 MHz",
	 "<graphics_clock>51 MHz</graphics_clock>", "\"clock_graphics_mhz\":51"},
	{WTL_GPU_CLOCK_SM_MHZ, 52, "clocks.sm", "52 MHz", "<sm_clock>52 MHz</sm_clock>",
	 "\"clock_sm_mhz\":52"},
	{WTL_GPU_CLOCK_MEMORY_MHZ, 53, "clocks.mem", "53 MHz", "<mem_clock>53 MHz</mem_clock>",
	 "\"clock_memory_mhz\":53"},
	{WTL_GPU_CLOCK_VIDEO_MHZ, 54, "clocks.video", "54 MHz", "<video_clock>54 MHz</video_clock>",
	 "\"clock_video_mhz\":54"},
	{WTL_GPU_CLOCK_GRAPHICS_MAX_MHZ, 55, "clocks.max.gr", "55 MHz",
	 "<graphics_clock>55 MHz</graphics_clock>", "\"clock_graphics_max_mhz\":55"},
	{WTL_GPU_CLOCK_SM_MAX_MHZ, 56, "clocks.max.sm", "56 MHz", "<sm_clock>56 MHz</sm_clock>",
	 "\"clock_sm_max_mhz\":56"},
	{WTL_GPU_CLOCK_MEMORY_MAX_MHZ, 57, "clocks.max.mem", "57 MHz",
	 "<mem_clock>57 MHz</mem_clock>", "\"clock_memory_max_mhz\":57"},
	{WTL_GPU_CLOCK_VIDEO_MAX_MHZ, 58, "clocks.max.video", "58 MHz",
	 "<video_clock>58 MHz</video_clock>", "\"clock_video_max_mhz\":58"},
	{WTL_GPU_CLOCK_GRAPHICS_APPLICATION_MHZ, 59, "clocks.applications.gr", "59 MHz",
	 "<graphics_clock>59 MHz</graphics_clock>", "\"clock_graphics_application_mhz\":59"},
	{WTL_GPU_CLOCK_MEMORY_APPLICATION_MHZ, 60, "clocks.applications.mem", "60 MHz",
	 "<mem_clock>60 MHz</mem_clock>", "\"clock_memory_application_mhz\":60"},
	{WTL_GPU_CLOCK_GRAPHICS_APPLICATION_DEFAULT_MHZ, 61, "clocks.default_applications.gr",
	 "61 MHz", "<graphics_clock>61 MHz</graphics_clock>",
	 "\"clock_graphics_application_default_mhz\":61"},
	{WTL_GPU_CLOCK_MEMORY_APPLICATION_DEFAULT_MHZ, 62, "clocks.default_applications.mem",
	 "62 MHz", "<mem_clock>62 MHz</mem_clock>", "\"clock_memory_application_default_mhz\":62"},
	{WTL_GPU_FAN_PERCENT, 63, "fan.speed", "63 %", "<fan_speed>63 %</fan_speed>",
	 "\"fan_percent\":63"},
	{WTL_GPU_PSTATE, 8, "pstate", "P8", "<performance_state>P8</performance_state>",
	 "\"pstate\":8"},
	{WTL_GPU_THROTTLE, 0x40, "clocks_event_reasons.active", "0x0000000000000040",
	 "<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>",
	 "\"throttle\":[\"hw-thermal\"]"},
	{WTL_GPU_THROTTLE_KNOWN, 0x81, "clocks_event_reasons.supported", "0x0000000000000081", NULL,
	 "\"throttle_known\":[\"idle\",\"hw-power-brake\"]"},
	{WTL_GPU_THROTTLED_SW_POWER_CAP_NS, 71000, "clocks_event_reasons_counters.sw_power_cap",
	 "71 us", "_sw_power_cap>71 us<", "\"throttled_sw_power_cap_s\":0.000071000"},
	{WTL_GPU_THROTTLED_SYNC_BOOST_NS, 72000, "clocks_event_reasons_counters.sync_boost",
	 "72 us", "_sync_boost>72 us<", "\"throttled_sync_boost_s\":0.000072000"},
	{WTL_GPU_THROTTLED_SW_THERMAL_NS, 73000,
	 "clocks_event_reasons_counters.sw_thermal_slowdown", "73 us", "_sw_therm_slowdown>73 us<",
	 "\"throttled_sw_thermal_s\":0.000073000"},
	{WTL_GPU_THROTTLED_HW_THERMAL_NS, 74000,
	 "clocks_event_reasons_counters.hw_thermal_slowdown", "74 us", "_hw_therm_slowdown>74 us<",
	 "\"throttled_hw_thermal_s\":0.000074000"},
	{WTL_GPU_THROTTLED_HW_POWER_BRAKE_NS, 75000,
	 "clocks_event_reasons_counters.hw_power_brake_slowdown", "75 us", "_hw_power_brake>75 us<",
	 "\"throttled_hw_power_brake_s\":0.000075000"},
	{WTL_GPU_PCIE_GEN, 3, "pcie.link.gen.gpucurrent", "3",
	 "<device_current_link_gen>3</device_current_link_gen>", "\"pcie_generation\":3"},
	{WTL_GPU_PCIE_GEN_MAX, 4, "pcie.link.gen.max", "4", "<max_link_gen>4</max_link_gen>",
	 "\"pcie_generation_max\":4"},
	{WTL_GPU_PCIE_GEN_GPU_MAX, 5, "pcie.link.gen.gpumax", "5",
	 "<max_device_link_gen>5</max_device_link_gen>", "\"pcie_generation_gpu_max\":5"},
	{WTL_GPU_PCIE_WIDTH, 8, "pcie.link.width.current", "8",
	 "<current_link_width>8x</current_link_width>", "\"pcie_lanes\":8"},
	{WTL_GPU_PCIE_WIDTH_MAX, 16, "pcie.link.width.max", "16",
	 "<max_link_width>16x</max_link_width>", "\"pcie_lanes_max\":16"},
	{WTL_GPU_PCIE_TX_BYTES_PER_S, 81000, "pcie.tx", "81 KB/s", "<tx_util>81 KB/s</tx_util>",
	 "\"pcie_tx_bytes_per_s\":81000"},
	{WTL_GPU_PCIE_RX_BYTES_PER_S, 82000, "pcie.rx", "82 KB/s", "<rx_util>82 KB/s</rx_util>",
	 "\"pcie_rx_bytes_per_s\":82000"},
	{WTL_GPU_PCI_CLASS, 0x380, "pci.subClass", "0x80", "<pci_sub_class>0x80</pci_sub_class>",
	 "\"pci_class\":896"},
	{WTL_GPU_PERSISTENCE, 1, "persistence_mode", "Enabled",
	 "<persistence_mode>Enabled</persistence_mode>", "\"persistence\":true"},
	{WTL_GPU_COMPUTE_MODE, 2, "compute_mode", "Prohibited",
	 "<compute_mode>Prohibited</compute_mode>", "\"compute_mode\":\"prohibited\""},
	{WTL_GPU_DISPLAY_ACTIVE, 1, "display_active", "Enabled",
	 "<display_active>Enabled</display_active>", "\"display_active\":true"},
	{WTL_GPU_DISPLAY_ATTACHED, 0, "display_attached", "No",
	 "<display_attached>No</display_attached>", "\"display_attached\":false"},
	{WTL_GPU_MIG_MODE, 1, "mig.mode.current", "Enabled", "<current_mig>Enabled</current_mig>",
	 "\"mig\":true"},
	{WTL_GPU_MIG_PENDING, 0, "mig.mode.pending", "Disabled",
	 "<pending_mig>Disabled</pending_mig>", "\"mig_pending\":false"},
	{WTL_GPU_ECC_MODE, 1, "ecc.mode.current", "Enabled", "<current_ecc>Enabled</current_ecc>",
	 "\"ecc\":true"},
	{WTL_GPU_ECC_PENDING, 0, "ecc.mode.pending", "Disabled",
	 "<pending_ecc>Disabled</pending_ecc>", "\"ecc_pending\":false"},
	{WTL_GPU_ECC_CORRECTED_VOLATILE, 91, "ecc.errors.corrected.volatile.total", "91", NULL,
	 "\"ecc_corrected_volatile\":91"},
	{WTL_GPU_ECC_UNCORRECTED_VOLATILE, 92, "ecc.errors.uncorrected.volatile.total", "92", NULL,
	 "\"ecc_uncorrected_volatile\":92"},
	{WTL_GPU_ECC_CORRECTED_AGGREGATE, 93, "ecc.errors.corrected.aggregate.total", "93", NULL,
	 "\"ecc_corrected_aggregate\":93"},
	{WTL_GPU_ECC_UNCORRECTED_AGGREGATE, 94, "ecc.errors.uncorrected.aggregate.total", "94",
	 NULL, "\"ecc_uncorrected_aggregate\":94"},
	{WTL_GPU_ECC_DRAM_CORRECTED_VOLATILE, 95, "ecc.errors.corrected.volatile.dram", "95",
	 "<dram_correctable>95</dram_correctable>", "\"ecc_dram_corrected_volatile\":95"},
	{WTL_GPU_ECC_DRAM_UNCORRECTED_VOLATILE, 96, "ecc.errors.uncorrected.volatile.device_memory",
	 "96", "<dram_uncorrectable>96</dram_uncorrectable>",
	 "\"ecc_dram_uncorrected_volatile\":96"},
	{WTL_GPU_ECC_DRAM_CORRECTED_AGGREGATE, 97, "ecc.errors.corrected.aggregate.dram", "97",
	 "<dram_correctable>97</dram_correctable>", "\"ecc_dram_corrected_aggregate\":97"},
	{WTL_GPU_ECC_DRAM_UNCORRECTED_AGGREGATE, 98, "ecc.errors.uncorrected.aggregate.dram", "98",
	 "<dram_uncorrectable>98</dram_uncorrectable>", "\"ecc_dram_uncorrected_aggregate\":98"},
	{WTL_GPU_ECC_SRAM_CORRECTED_VOLATILE, 99, "ecc.errors.corrected.volatile.sram", "99",
	 "<sram_correctable>99</sram_correctable>", "\"ecc_sram_corrected_volatile\":99"},
	{WTL_GPU_ECC_SRAM_UNCORRECTED_VOLATILE, 100, "ecc.errors.uncorrected.volatile.sram", "100",
	 NULL, "\"ecc_sram_uncorrected_volatile\":100"},
	{WTL_GPU_ECC_SRAM_CORRECTED_AGGREGATE, 101, "ecc.errors.corrected.aggregate.sram", "101",
	 "<sram_correctable>101</sram_correctable>", "\"ecc_sram_corrected_aggregate\":101"},
	{WTL_GPU_ECC_SRAM_UNCORRECTED_AGGREGATE, 102, "ecc.errors.uncorrected.aggregate.sram",
	 "102", NULL, "\"ecc_sram_uncorrected_aggregate\":102"},
	{WTL_GPU_REMAPPED_CORRECTABLE, 111, "remapped_rows.correctable", "111",
	 "<remapped_row_corr>111</remapped_row_corr>", "\"remapped_correctable\":111"},
	{WTL_GPU_REMAPPED_UNCORRECTABLE, 112, "remapped_rows.dbe", "112",
	 "<remapped_row_unc>112</remapped_row_unc>", "\"remapped_uncorrectable\":112"},
	{WTL_GPU_REMAPPED_PENDING, 1, "remapped_rows.pending", "Yes",
	 "<remapped_row_pending>Yes</remapped_row_pending>", "\"remapped_pending\":true"},
	{WTL_GPU_REMAPPED_FAILURE, 1, "remapped_rows.failure", "Yes",
	 "<remapped_row_failure>Yes</remapped_row_failure>", "\"remapped_failure\":true"},
	{WTL_GPU_REMAPPED_MAX, 113, "remapped_rows.histogram.max", "113", "_max>113 bank(s)<",
	 "\"remap_banks_max\":113"},
	{WTL_GPU_REMAPPED_HIGH, 114, "remapped_rows.histogram.high", "114", "_high>114 bank(s)<",
	 "\"remap_banks_high\":114"},
	{WTL_GPU_REMAPPED_PARTIAL, 115, "remapped_rows.histogram.partial", "115",
	 "_partial>115 bank(s)<", "\"remap_banks_partial\":115"},
	{WTL_GPU_REMAPPED_LOW, 116, "remapped_rows.histogram.low", "116", "_low>116 bank(s)<",
	 "\"remap_banks_low\":116"},
	{WTL_GPU_REMAPPED_NONE, 117, "remapped_rows.histogram.none", "117", "_none>117 bank(s)<",
	 "\"remap_banks_none\":117"},
	{WTL_GPU_ENCODER_SESSIONS, 121, "encoder.stats.sessionCount", "121",
	 "<session_count>121</session_count>", "\"encoder_sessions\":121"},
	{WTL_GPU_ENCODER_FPS, 122, "encoder.stats.averageFps", "122",
	 "<average_fps>122</average_fps>", "\"encoder_frames_per_s\":122"},
	{WTL_GPU_ENCODER_LATENCY_US, 123, "encoder.stats.averageLatency", "123",
	 "<average_latency>123</average_latency>", "\"encoder_latency_us\":123"},
	{WTL_GPU_ACCOUNTING_MODE, 1, "accounting.mode", "Enabled",
	 "<accounting_mode>Enabled</accounting_mode>", "\"accounting\":true"},
	{WTL_GPU_ACCOUNTING_BUFFER, 4000, "accounting.buffer_size", "4000",
	 "<accounting_mode_buffer_size>4000</accounting_mode_buffer_size>",
	 "\"accounting_processes_max\":4000"},
	{WTL_GPU_GSP_MODE, 1, "gsp.mode.current", "Enabled", NULL, "\"gsp\":true"},
	{WTL_GPU_GSP_DEFAULT, 0, "gsp.mode.default", "Disabled", NULL, "\"gsp_default\":false"},
	{WTL_GPU_ADDRESSING_MODE, 2, "addressing_mode", "ATS",
	 "<addressing_mode>ATS</addressing_mode>", "\"addressing_mode\":\"ats\""},
	{WTL_GPU_C2C_MODE, 1, "c2c.mode", "Enabled", "<c2c_mode>Enabled</c2c_mode>",
	 "\"c2c\":true"},
	{WTL_GPU_MODULE_ID, 7, "platform.module_id", "7", "<gpu_module_id>7</gpu_module_id>",
	 "\"module_id\":7"},
	{WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE, 3, "remapped_rows.correctable_inactive", "3",
	 "<remapped_row_corr_inactive>3</remapped_row_corr_inactive>",
	 "\"remapped_correctable_inactive\":3"},
	{WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE, 4, "remapped_rows.uncorrectable_inactive", "4",
	 "<remapped_row_unc_inactive>4</remapped_row_unc_inactive>",
	 "\"remapped_uncorrectable_inactive\":4"},
	{WTL_GPU_ECC_SRAM_PARITY_VOLATILE, 511, "ecc.errors.uncorrected.volatile.sram.parity",
	 "511", "<sram_uncorrectable_parity>511</sram_uncorrectable_parity>",
	 "\"ecc_sram_parity_volatile\":511"},
	{WTL_GPU_ECC_SRAM_SECDED_VOLATILE, 512, "ecc.errors.uncorrected.volatile.sram.secded",
	 "512", "<sram_uncorrectable_secded>512</sram_uncorrectable_secded>",
	 "\"ecc_sram_secded_volatile\":512"},
	{WTL_GPU_ECC_SRAM_PARITY_AGGREGATE, 513, "ecc.errors.uncorrected.aggregate.sram.parity",
	 "513", "<sram_uncorrectable_parity>513</sram_uncorrectable_parity>",
	 "\"ecc_sram_parity_aggregate\":513"},
	{WTL_GPU_ECC_SRAM_SECDED_AGGREGATE, 514, "ecc.errors.uncorrected.aggregate.sram.secded",
	 "514", "<sram_uncorrectable_secded>514</sram_uncorrectable_secded>",
	 "\"ecc_sram_secded_aggregate\":514"},
	{WTL_GPU_ECC_SRAM_L2, 515, "ecc.errors.uncorrected.aggregate.sram.l2", "515",
	 "<sram_l2>515</sram_l2>", "\"ecc_sram_l2\":515"},
	{WTL_GPU_ECC_SRAM_SM, 516, "ecc.errors.uncorrected.aggregate.sram.sm", "516",
	 "<sram_sm>516</sram_sm>", "\"ecc_sram_sm\":516"},
	{WTL_GPU_ECC_SRAM_MICROCONTROLLER, 517, "ecc.errors.uncorrected.aggregate.sram.mcu", "517",
	 "<sram_microcontroller>517</sram_microcontroller>", "\"ecc_sram_microcontroller\":517"},
	{WTL_GPU_ECC_SRAM_PCIE, 518, "ecc.errors.uncorrected.aggregate.sram.pcie", "518",
	 "<sram_pcie>518</sram_pcie>", "\"ecc_sram_pcie\":518"},
	{WTL_GPU_ECC_SRAM_OTHER, 519, "ecc.errors.uncorrected.aggregate.sram.other", "519",
	 "<sram_other>519</sram_other>", "\"ecc_sram_other\":519"},
	{WTL_GPU_ECC_SRAM_EXCEEDED, 1, "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
	 "Yes", "<sram_threshold_exceeded>Yes</sram_threshold_exceeded>",
	 "\"ecc_sram_exceeded\":true"},
	{WTL_GPU_EDPP_MICROPERCENT, 87500000, "edpp_multiplier", "87.50 %",
	 "<edpp_multiplier>87.50%</edpp_multiplier>", "\"edpp_percent\":87.500000"},
	{WTL_GPU_RECOVERY_ACTION, WTL_RECOVERY_DRAIN_AND_RESET, "gpu_recovery_action",
	 "Drain and Reset", "<gpu_recovery_action>Drain and Reset</gpu_recovery_action>",
	 "\"recovery_action\":\"drain-and-reset\""},
	{WTL_GPU_VIRTUALIZATION, WTL_VIRTUALIZATION_PASSED_THROUGH, "virtualization_mode",
	 "Pass-Through", "<virtualization_mode>Pass-Through</virtualization_mode>",
	 "\"virtualization\":\"pass-through\""},
	{WTL_GPU_PCIE_GEN_HOST_MAX, 5, "pcie.link.gen.hostmax", "5",
	 "<max_host_link_gen>5</max_host_link_gen>", "\"pcie_generation_host_max\":5"},
	{WTL_GPU_INFOROM_VALID, 0, "inforom.checksum_validation", "invalid", NULL,
	 "\"inforom_valid\":false"},
	{WTL_GPU_FABRIC_STATE, 2, "fabric.state", "In Progress", "<state>In Progress</state>",
	 "\"fabric_state\":\"in-progress\""},
	{WTL_GPU_FABRIC_CLIQUE, 32766, "fabric.cliqueId", "32766", "<cliqueId>32766</cliqueId>",
	 "\"fabric_clique\":32766"},
	{WTL_GPU_FABRIC_HEALTH, 3, "fabric.health.summary", "Limited Capacity",
	 "<summary>Limited Capacity</summary>", "\"fabric_health\":\"limited-capacity\""},
	{WTL_GPU_FABRIC_DEGRADED, 1, "fabric.health.bandwidth", "Degraded",
	 "<bandwidth>Degraded</bandwidth>", "\"fabric_degraded\":true"},
	{WTL_GPU_FABRIC_RECOVERING, 1, "fabric.health.route_recovery_in_progress", "True",
	 "<route_recovery_in_progress>True</route_recovery_in_progress>",
	 "\"fabric_recovering\":true"},
	{WTL_GPU_FABRIC_BAD_ROUTE, 0, "fabric.health.route_unhealthy", "False",
	 "<route_unhealthy>False</route_unhealthy>", "\"fabric_bad_route\":false"},
	{WTL_GPU_FABRIC_TIMED_OUT, 1, "fabric.health.access_timeout_recovery", "True",
	 "<access_timeout_recovery>True</access_timeout_recovery>", "\"fabric_timed_out\":true"},
	{WTL_GPU_FABRIC_MISCONFIGURED, WTL_MISCONFIGURED_NO_PARTITION,
	 "fabric.health.incorrect_configuration", "No Partition",
	 "<incorrect_configuration>No Partition</incorrect_configuration>",
	 "\"fabric_misconfigured\":\"no-partition\""},
	{WTL_GPU_FABRIC_PARTITION, 0, "fabric.health.partition_assigned", "False",
	 "<partition_assigned>False</partition_assigned>", "\"fabric_partition\":false"},
	{WTL_GPU_PLATFORM_SLOT, 14, "platform.slot_number", "14", NULL, "\"platform_slot\":14"},
	{WTL_GPU_PLATFORM_TRAY, 4, "platform.tray_index", "4", NULL, "\"platform_tray\":4"},
	{WTL_GPU_PLATFORM_HOST, 1, "platform.host_id", "1", NULL, "\"platform_host\":1"},
	{WTL_GPU_PLATFORM_PEER, 1, "platform.peer_type", "Switch Connected", NULL,
	 "\"platform_peer\":\"switch\""},
	{WTL_GPU_PLATFORM_GUID, UINT64_C(0x034c4931ff7d1c4f), "platform.gpu_fabric_guid",
	 "0x034c4931ff7d1c4f", NULL, "\"platform_guid\":\"0x034c4931ff7d1c4f\""},
};

/* A GPU of which one number is known. */
static void only(struct smi_bench *bench, const struct form *form)
{
	struct wtl_gpu *gpu = &bench->gpus[SMI_AMD];

	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		smi_unset(gpu, i, WATTLE_STATUS_ABSENT, 0);
	smi_set(gpu, form->number, form->value);
	bench->look.gpus = gpu;
	bench->look.n_gpus = 1;
}

static void test_every_number_is_here_once(void **state)
{
	bool seen[WTL_GPU_NUMBERS] = {false};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		assert_false(seen[forms[i].number]);
		seen[forms[i].number] = true;
	}
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		if (!seen[i])
			fail_msg("the number %zu is in no form", i);
}

static void test_csv(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		char *text;

		if (!forms[i].field)
			continue;
		only(&bench, &forms[i]);
		text = smi_value(&bench, SMI_AMD, forms[i].field, true);
		assert_string_equal(text, forms[i].csv);
		free(text);
	}
}

struct taken {
	enum wtl_gpu_number number;
	struct wtl_gpu_value value;
};

static int take_number(void *context, const struct wtl_smi_record *record)
{
	struct taken *taken = context;

	taken->value = record->gpu->numbers[taken->number];
	return 0;
}

static uint64_t as_printed(const struct form *form)
{
	if (form->number == WTL_GPU_ENERGY_UJ)
		return form->value / 1000 * 1000;
	/* Of the class, this field has the lower half. */
	return form->number == WTL_GPU_PCI_CLASS ? form->value & 0xff : form->value;
}

static void test_csv_is_read_back(void **state)
{
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		struct taken taken = {.number = forms[i].number};
		char *text;

		if (!forms[i].field)
			continue;
		only(&bench, &forms[i]);
		text = smi_query(&wtl_smi_query_gpu, forms[i].field, true, true, &bench.look);
		assert_int_equal(
			wtl_smi_read_csv(text, strlen(text), NULL, take_number, &taken, NULL, NULL),
			0);
		assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
		assert_int_equal(taken.value.value, as_printed(&forms[i]));
		free(text);
	}
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void test_xml(void **state)
{
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		if (!forms[i].xml)
			continue;
		only(&bench, &forms[i]);
		wtl_buf_clear(&buf);
		assert_int_equal(wtl_smi_xml(&buf, &bench.look), 0);
		if (count(wtl_buf_str(&buf), forms[i].xml) != 1)
			fail_msg("%s is not in the XML once", forms[i].xml);
	}
	wtl_buf_done(&buf);
}

#if HAVE_EXPAT
static void test_xml_is_read_back(void **state)
{
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		struct taken taken = {.number = forms[i].number};

		if (!forms[i].xml)
			continue;
		only(&bench, &forms[i]);
		wtl_buf_clear(&buf);
		wtl_smi_xml(&buf, &bench.look);
		assert_int_equal(wtl_smi_read_xml(wtl_buf_str(&buf), buf.len, take_number, &taken,
						  NULL, NULL),
				 0);
		assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
		assert_int_equal(taken.value.value, forms[i].value);
	}
	wtl_buf_done(&buf);
}
#endif

#if HAVE_JANSSON
static void test_json(void **state)
{
	static struct smi_bench bench;
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
		only(&bench, &forms[i]);
		wtl_buf_clear(&buf);
		assert_int_equal(wtl_look_json(&buf, &bench.look, true), 0);
		if (count(wtl_buf_str(&buf), forms[i].json) != 1)
			fail_msg("%s is not in the JSON once:\n%s", forms[i].json,
				 wtl_buf_str(&buf));
		/* All others are not known. */
		assert_int_equal(count(wtl_buf_str(&buf), "\"not supported\""),
				 WTL_GPU_NUMBERS - 1);
	}
	wtl_buf_done(&buf);
}
#endif

/* The bits of a mask, one at a time. */
static void test_throttle_bits(void **state)
{
	static const struct {
		uint64_t bit;
		const char *name;
	} bits[] = {
		{0x1, "gpu_idle"},
		{0x2, "applications_clocks_setting"},
		{0x4, "sw_power_cap"},
		{0x8, "hw_slowdown"},
		{0x10, "sync_boost"},
		{0x20, "sw_thermal_slowdown"},
		{0x40, "hw_thermal_slowdown"},
		{0x80, "hw_power_brake_slowdown"},
		{0x100, "display_clocks_setting"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(bits); i++)
		for (size_t k = 0; k < UNIT_COUNT(bits); k++) {
			char field[96], *text;

			smi_set(&bench.gpus[SMI_H100], WTL_GPU_THROTTLE, bits[k].bit);
			snprintf(field, sizeof(field), "clocks_event_reasons.%s", bits[i].name);
			text = smi_value(&bench, SMI_H100, field, true);
			assert_string_equal(text, i == k ? "Active" : "Not Active");
			free(text);
		}
}

/* Every way not to know, for every number. */
static void test_every_number_not_known(void **state)
{
	static const struct {
		enum wattle_status status;
		int code;
		const char *text;
	} ways[] = {
		{WATTLE_STATUS_DENIED, 0, "[Insufficient Permissions]"},
		{WATTLE_STATUS_FAILED, 999, "[Unknown Error]"},
		{WATTLE_STATUS_FAILED, -5, "[Unknown Error]"},
		{WATTLE_STATUS_GONE, 15, "[GPU is lost]"},
		{WATTLE_STATUS_ABSENT, 26, "[Requested functionality has been deprecated]"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(forms); i++)
		for (size_t k = 0; forms[i].field && k < UNIT_COUNT(ways); k++) {
			char *text;

			smi_unset(&bench.gpus[SMI_H100], forms[i].number, ways[k].status,
				  ways[k].code);
			text = smi_value(&bench, SMI_H100, forms[i].field, true);
			assert_string_equal(text, ways[k].text);
			free(text);
		}
}

/* Every word of a number there and back, and the number behind the last one, which no driver has yet. */
static void test_words(void **state)
{
	static const struct {
		const char *field;
		enum wtl_gpu_number number;
		uint64_t first;
		const char *words; /* separated by bars */
	} cases[] = {
		{"inforom.checksum_validation", WTL_GPU_INFOROM_VALID, 0, "invalid|valid"},
		{"gpu_recovery_action", WTL_GPU_RECOVERY_ACTION, 0,
		 "None|Reset|Reboot|Drain P2P|Drain and Reset|Recover IMEX Domain"},
		{"virtualization_mode", WTL_GPU_VIRTUALIZATION, 0,
		 "None|Pass-Through|VGPU|Host VGPU|Host VSGA"},
		{"fabric.state", WTL_GPU_FABRIC_STATE, 1, "Not Started|In Progress|Completed"},
		{"fabric.health.summary", WTL_GPU_FABRIC_HEALTH, 1,
		 "Healthy|Unhealthy|Limited Capacity"},
		{"fabric.health.bandwidth", WTL_GPU_FABRIC_DEGRADED, 0, "Full|Degraded"},
		{"fabric.health.route_unhealthy", WTL_GPU_FABRIC_BAD_ROUTE, 0, "False|True"},
		{"fabric.health.incorrect_configuration", WTL_GPU_FABRIC_MISCONFIGURED, 0,
		 "None|Incorrect SysGUID|Incorrect Chassis SN|No Partition|Insufficient NVLinks|"
		 "Incompatible GPU FW|Invalid Location|GPU State Invalid"},
		{"platform.peer_type", WTL_GPU_PLATFORM_PEER, 0,
		 "Direct Connected|Switch Connected"},
	};
	static struct smi_bench bench;

	(void)state;
	smi_bench_init(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct form form = {.number = cases[i].number, .value = cases[i].first};
		char words[256], *rest = words, *word, *text;

		strcpy(words, cases[i].words);
		for (; (word = strsep(&rest, "|")); form.value++) {
			struct taken taken = {.number = form.number};

			only(&bench, &form);
			text = smi_query(&wtl_smi_query_gpu, cases[i].field, true, true,
					 &bench.look);
			assert_string_equal(strchr(text, '\n') + 1 + strlen(word), "\n");
			assert_memory_equal(strchr(text, '\n') + 1, word, strlen(word));
			assert_int_equal(wtl_smi_read_csv(text, strlen(text), NULL, take_number,
							  &taken, NULL, NULL),
					 0);
			assert_int_equal(taken.value.status, WATTLE_STATUS_OK);
			assert_int_equal(taken.value.value, form.value);
			free(text);
		}
		only(&bench, &form);
		text = smi_value(&bench, SMI_AMD, cases[i].field, true);
		assert_string_equal(text, "[Unknown Error]");
		free(text);
	}
}

/* ---- Fabric and platform ---- */

static void check_texts(struct smi_bench *bench, const char *expected)
{
	char *text = smi_query(&wtl_smi_query_gpu,
			       "fabric.status,fabric.clusterUuid,platform.chassis_serial_number",
			       false, true, &bench->look);

	assert_string_equal(text, expected);
	free(text);
}

/* Texts go with numbers: what an earlier reading left is nothing. */
static void test_texts_of_fabric_and_platform(void **state)
{
	static struct smi_bench bench;
	static const struct form none = {WTL_GPU_FABRIC_STATE, 2, "", "", NULL, ""};
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];

	(void)state;
	smi_bench_init(&bench);
	only(&bench, &none);
	strcpy(gpu->fabric_status, "Insufficient Resources");
	strcpy(gpu->fabric_cluster, "dc6e40c4-d722-4357-9ba6-5291dd461278");
	strcpy(gpu->chassis_serial, "1820000000001");
	check_texts(&bench, "N/A, N/A, [N/A]\n");
	smi_set(gpu, WTL_GPU_FABRIC_CLIQUE, 0);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	check_texts(&bench, "Insufficient Resources, dc6e40c4-d722-4357-9ba6-5291dd461278, "
			    "1820000000001\n");
	gpu->chassis_serial[0] = '\0'; /* known to be empty */
	check_texts(&bench, "Insufficient Resources, dc6e40c4-d722-4357-9ba6-5291dd461278, \n");
	strcpy(gpu->fabric_status, "a\033[31m\nb");
	check_texts(&bench, "a?[31m?b, dc6e40c4-d722-4357-9ba6-5291dd461278, \n");
	gpu->status = WATTLE_STATUS_GONE;
	check_texts(&bench, "[GPU is lost], [GPU is lost], [GPU is lost]\n");
}

/* The documents have the platform of GPUs since Blackwell; of older ones its zeros are in the CSV alone. */
static void test_platform_since_blackwell(void **state)
{
	static const struct {
		const char *capability;
		bool is_told;
	} cases[] = {{"7.5", false}, {"9.0", false}, {"10.0", true}, {"12.0", true}, {"", false}};
	static struct smi_bench bench;
	static const struct form slot = {WTL_GPU_PLATFORM_SLOT, 14, "", "", NULL, ""};
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	only(&bench, &slot);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		bool is_told = cases[i].is_told;

		strcpy(gpu->compute_capability, cases[i].capability);
		wtl_buf_clear(&buf);
		wtl_smi_xml(&buf, &bench.look);
		assert_int_equal(count(wtl_buf_str(&buf), "<slot_number>14</slot_number>"),
				 is_told);
		assert_int_equal(count(wtl_buf_str(&buf), "<host_id>1</host_id>"), is_told);
		assert_int_equal(count(wtl_buf_str(&buf), "<host_id>N/A</host_id>"), !is_told);
		assert_int_equal(
			count(wtl_buf_str(&buf), "<chassis_serial_number></chassis_serial_number>"),
			is_told);
		wtl_buf_clear(&buf);
		wtl_smi_log(&buf, &bench.look);
		assert_int_equal(count(wtl_buf_str(&buf),
				       "Slot Number                                    : "
				       "14\n"),
				 is_told);
	}
	wtl_buf_done(&buf);
}

#if HAVE_JANSSON
static void test_texts_in_json(void **state)
{
	static struct smi_bench bench;
	static const struct form clique = {WTL_GPU_FABRIC_CLIQUE, 7, "", "", NULL, ""};
	struct wtl_gpu *gpu = &bench.gpus[SMI_AMD];
	struct wtl_buf buf;

	(void)state;
	smi_bench_init(&bench);
	wtl_buf_init(&buf, 1 << 20);
	only(&bench, &clique);
	strcpy(gpu->fabric_status, "Success");
	strcpy(gpu->chassis_serial, "1820000000001");
	wtl_look_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"fabric_status\":\"Success\""), 1);
	assert_int_equal(count(wtl_buf_str(&buf), "fabric_cluster"), 0);
	assert_int_equal(count(wtl_buf_str(&buf), "platform_chassis_serial"), 0);
	smi_set(gpu, WTL_GPU_PLATFORM_HOST, 1);
	wtl_buf_clear(&buf);
	wtl_look_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"platform_chassis_serial\":\"1820000000001\""),
			 1);
	smi_set(gpu, WTL_GPU_RECOVERY_ACTION, 99);
	wtl_buf_clear(&buf);
	wtl_look_json(&buf, &bench.look, true);
	assert_int_equal(count(wtl_buf_str(&buf), "\"recovery_action\":\"unknown\""), 1);
	wtl_buf_done(&buf);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number_is_here_once),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_is_read_back),
		cmocka_unit_test(test_xml),
#if HAVE_EXPAT
		cmocka_unit_test(test_xml_is_read_back),
#endif
#if HAVE_JANSSON
		cmocka_unit_test(test_json),
#endif
		cmocka_unit_test(test_throttle_bits),
		cmocka_unit_test(test_every_number_not_known),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_texts_of_fabric_and_platform),
		cmocka_unit_test(test_platform_since_blackwell),
#if HAVE_JANSSON
		cmocka_unit_test(test_texts_in_json),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
