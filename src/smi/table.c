/* SPDX-License-Identifier: MIT */
#include "smi/row.h"

/* All fields of --query-gpu, -q, -x and the JSON, in the order of -q and -x as drivers 590 to 610 write them. */

/* ---- Kinds of numbers ---- */

#define MAKE(name, how, ...) \
	static const struct wtl_smi_kind name = {.form = WTL_SMI_##how, __VA_ARGS__}

MAKE(plain, DECIMAL, .unit = 1);
MAKE(mib, DECIMAL, .unit = 1 << 20, .rounds_up = true); /* of bytes */
MAKE(kilo, DECIMAL, .unit = 1000);			/* of bytes/s */
MAKE(micros, DECIMAL, .unit = 1000, .json = WTL_SMI_JSON_NANOSECONDS);
MAKE(pstate, DECIMAL, .unit = 1, .prefix = "P");
MAKE(signed_number, SIGNED, .json = WTL_SMI_JSON_SIGNED);
MAKE(centi, FIXED, .digits = 2, .rounds = true, .json = WTL_SMI_JSON_MILLIONTHS);
MAKE(milli, FIXED, .digits = 3, .json = WTL_SMI_JSON_MILLIONTHS);
MAKE(hex1, HEX, .digits = 1);
MAKE(hex2, HEX, .digits = 2);
MAKE(hex4, HEX, .digits = 4);
MAKE(mask, HEX, .digits = 16, .json = WTL_SMI_JSON_REASONS);
MAKE(hex, HEX, .digits = 1, .is_small = true, .json = WTL_SMI_JSON_HEX);
MAKE(guid, HEX, .digits = 16, .is_small = true, .json = WTL_SMI_JSON_HEX);

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define WORDS(name, list, ...) \
	MAKE(name, WORD, .json = WTL_SMI_JSON_WORD, .words = list, __VA_ARGS__)
#define FLAG(name, no, yes) MAKE(name, WORD, .json = WTL_SMI_JSON_FLAG, .words = LIST(no, yes))

FLAG(enabled, "Disabled", "Enabled");
FLAG(yes, "No", "Yes");
FLAG(active, "Not Active", "Active");
FLAG(valid, "invalid", "valid");
FLAG(degraded, "Full", "Degraded");
FLAG(truth, "False", "True");
/* NVML's numbers. */
WORDS(brand,
      LIST("Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan",
	   "NVIDIA Virtual Applications", "NVIDIA Virtual PC", "NVIDIA Virtual Compute Server",
	   "NVIDIA RTX Virtual Workstation", "NVIDIA Cloud Gaming", "Quadro RTX", "NVIDIA RTX",
	   "NVIDIA", "GeForce RTX", "Titan RTX"));
WORDS(architecture, LIST("Tesla", "Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing",
			 "Ampere", "Ada Lovelace", "Hopper", "Blackwell"));
WORDS(addressing, LIST("None", "HMM", "ATS"));
WORDS(mode, LIST("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"));

/* Seen in outputs of drivers 570 to 595, or in nvidia-smi's manual. nvml.h's descriptions are the source of
 * the last of `recovery`, those after the first of `misconfigured`, and the last two of `virtualization`. */
WORDS(recovery,
      LIST("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Recover IMEX Domain"));
WORDS(virtualization, LIST("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"));
WORDS(fabric_state, LIST("Not Supported", "Not Started", "In Progress", "Completed"));
WORDS(health, LIST("Not Supported", "Healthy", "Unhealthy", "Limited Capacity"));
WORDS(misconfigured,
      LIST("None", "Incorrect SysGUID", "Incorrect Chassis SN", "No Partition",
	   "Insufficient NVLinks", "Incompatible GPU FW", "Invalid Location", "GPU State Invalid"),
      .json_words = LIST("none", "system-guid", "chassis-serial", "no-partition", "too-few-links",
			 "firmware", "location", "gpu-state"));
WORDS(peer, LIST("Direct Connected", "Switch Connected"), .json_words = LIST("direct", "switch"));

/* ---- Rows ---- */

#define OF(how, which, json_key) \
	.kind = &(how), .place = WTL_SMI_NUMBER, .number = WTL_GPU_##which, .key = (json_key)
#define COUNT(which, json_key)	      OF(plain, which, json_key)
#define PERCENT(which, json_key)      OF(plain, which, json_key), .unit = "%"
#define MHZ(which, json_key)	      OF(plain, which, json_key), .unit = "MHz"
#define WATTS(which, json_key)	      OF(centi, which, json_key), .unit = "W"
#define MIB(which, json_key)	      OF(mib, which, json_key), .unit = "MiB"
#define RATE(which, json_key)	      OF(kilo, which, json_key), .unit = "KB/s"
#define SWITCH(which, json_key)	      OF(enabled, which, json_key)
#define BIT(which)		      OF(active, THROTTLE, NULL), .mask = WTL_THROTTLE_##which
#define TEXT_WITH(how, member, which) TEXT_OF(how, member), .number = WTL_GPU_##which
#define PCI_CLASS(json_key, bits)     OF(hex1, PCI_CLASS, json_key), .mask = (bits)
#define SUM(which)		      KIND(sum), .number = WTL_SMI_SUM_##which, .unit = "W"
#define PLACE(how, where, member) \
	.kind = &(how), .place = WTL_SMI_##where, MEMBER(struct wtl_gpu, member)

/* What is never known, in -q and -x. */
#define NEVER(t, e, ...) FIELD(AT(t, e), KIND(none), __VA_ARGS__)

/* Places in -q and -x. */
#define INFOROM(t, e)  AT("Inforom Version/" t, "inforom_version/" e)
#define PLATFORM(t, e) AT("Platform Info/" t, "platformInfo/" e), .when = WTL_SMI_BLACKWELL
#define PCI(t, e)      AT("PCI/" t, "pci/" e)
#define GEN(t, e)      PCI("GPU Link Info/PCIe Generation/" t, "pci_gpu_link_info/pcie_gen/" e)
#define WIDTH(t, e) \
	PCI("GPU Link Info/Link Width/" t, "pci_gpu_link_info/link_widths/" e), .suffix = "x"
#define FB(t, e)	  AT("FB Memory Usage/" t, "fb_memory_usage/" e)
#define BAR1(t, e)	  AT("BAR1 Memory Usage/" t, "bar1_memory_usage/" e)
#define CAPTURE(t, e)	  AT("FBC Stats/" t, "fbc_stats/" e)
#define PROTECTED(t, e)	  AT("Conf Compute Protected Memory Usage/" t, "cc_protected_memory_usage/" e)
#define ENCODER(t, e)	  AT("Encoder Stats/" t, "encoder_stats/" e)
#define ROWS(t, e)	  AT("Remapped Rows/" t, "remapped_rows/" e), .when = WTL_SMI_REMAPPED
#define TEMPERATURE(t, e) AT("Temperature/" t, "temperature/" e), .suffix = " C"
/* As temperatures where the GPU knows no margins, else as margins. */
#define LIMIT_C(t, e, which, json_key)                                                     \
	FIELD(COUNT(which##_C, json_key "_temperature_c"), TEMPERATURE(t, e "_threshold"), \
	      .when = WTL_SMI_NO_MARGIN)
#define LIMIT_MARGIN(t, e, which, json_key)                                  \
	FIELD(OF(signed_number, which##_MARGIN_C, json_key "_margin_c"),     \
	      TEMPERATURE(t, e "_tlimit_threshold"), .when = WTL_SMI_MARGIN, \
	      .title_of_610 = "Temperature/" t " Specification")
#define BOARD(t, e)   AT("GPU Power Readings/" t, "gpu_power_readings/" e)
#define CEILING(t, e) BOARD(t, e), .title_of_610 = "GPU Power Readings/GPU Ceiling Power Limit/" t
#define BASE_POWER(t) \
	NEVER("GPU Power Readings/GPU Base Power/" t " Base Power", NULL, .title_since = 610)
#define MEMORY_POWER(t, e) AT("GPU Memory Power Readings /" t, "gpu_memory_power_readings/" e)
#define MODULE(t, e)	   AT("Module Power Readings/" t, "module_power_readings/" e)
#define FABRIC(t, e)	   AT("Fabric/" t, "fabric/" e), .unknown = "N/A"
#define HEALTH(t, e)	   FABRIC("Health/" t, "health/" e)

/* ---- Rows that are alike ---- */

#define REASON(word, t, which, about, ...)                                                   \
	ROW("clocks_event_reasons." word, BIT(which),                                        \
	    AT("Clocks Event Reasons/" t, "clocks_event_reasons/clocks_event_reason_" word), \
	    "Clocks are held down now: " about, .alias = "clocks_throttle_reasons." word,    \
	    .older = "clocks_throttle_reasons/clocks_throttle_reason_" word, __VA_ARGS__)

#define THROTTLED(word, which, json_word, t, e, ...)                                      \
	ROW("clocks_event_reasons_counters." word,                                        \
	    OF(micros, THROTTLED_##which##_NS, "throttled_" json_word "_s"),              \
	    AT("Clocks Event Reasons Counters/" t,                                        \
	       "clocks_event_reasons_counters/clocks_event_reasons_counters_" e),         \
	    "How long clocks were held down for that reason since the driver was loaded", \
	    .unit = "us", __VA_ARGS__)

#define USE(word, which, json_key, t, about)                   \
	ROW("utilization." word, PERCENT(which, json_key),     \
	    AT("Utilization/" t, "utilization/" word "_util"), \
	    "The part of the last sixth to one second in which " about)

#define BANKS(word, t, which, some)                                                        \
	ROW("remapped_rows.histogram." word, COUNT(REMAPPED_##which, "remap_banks_" word), \
	    ROWS("Bank Remap Availability Histogram/" t,                                   \
		 "row_remapper_histogram/row_remapper_histogram_" word),                   \
	    "Memory banks that can still have " some " replaced", .suffix = " bank(s)")

/* Counts of memory errors, by the part of the memory. -q and -x order them otherwise: see ECC_SPAN. */
#define ECC_NAME(severity, span, place) "ecc.errors." severity "." span "." place
#define ECC(severity, span, which, bits, about)                                          \
	COLUMN(ECC_NAME(severity, span, "device_memory"), COUNT(ECC_DRAM_##which, NULL), \
	       about ", of the device memory"),                                          \
		COLUMN(ECC_NAME(severity, span, "dram"),                                 \
		       COUNT(ECC_DRAM_##which, "ecc_dram_" severity "_" span),           \
		       about ", of the device memory",                                   \
		       .older = "ecc_errors/" span "/" bits "/device_memory"),           \
		NONE(ECC_NAME(severity, span, "register_file")),                         \
		NONE(ECC_NAME(severity, span, "l1_cache")),                              \
		NONE(ECC_NAME(severity, span, "l2_cache")),                              \
		NONE(ECC_NAME(severity, span, "texture_memory")),                        \
		NONE(ECC_NAME(severity, span, "cbu")),                                   \
		COLUMN(ECC_NAME(severity, span, "sram"),                                 \
		       COUNT(ECC_SRAM_##which, "ecc_sram_" severity "_" span),           \
		       about ", of the on-chip memory"),                                 \
		COLUMN(ECC_NAME(severity, span, "total"),                                \
		       COUNT(ECC_##which, "ecc_" severity "_" span), about,              \
		       .older = "ecc_errors/" span "/" bits "/total")

#define ECC_AT(place, t, span, e) AT("ECC Errors/" place "/" t, "ecc_errors/" span "/" e)
#define ECC_FOUND(word, span, which, place, t, how, since)                            \
	ROW("ecc.errors.uncorrected." span ".sram." word,                             \
	    COUNT(ECC_SRAM_##which, "ecc_sram_" word "_" span),                       \
	    ECC_AT(place, "SRAM Uncorrectable " t, span, "sram_uncorrectable_" word), \
	    "Uncorrected errors of on-chip memory found by " how ", " since, .when = WTL_SMI_SRAM)
#define ECC_SPAN(place, span, which, since)                                                  \
	FIELD(COUNT(ECC_SRAM_CORRECTED_##which, NULL),                                       \
	      ECC_AT(place, "SRAM Correctable", span, "sram_correctable")),                  \
		FIELD(COUNT(ECC_SRAM_UNCORRECTED_##which, NULL),                             \
		      ECC_AT(place, "SRAM Uncorrectable", span, "sram_uncorrectable"),       \
		      .when = WTL_SMI_OLD_SRAM),                                             \
		ECC_FOUND("parity", span, PARITY_##which, place, "Parity", "parity", since), \
		ECC_FOUND("secded", span, SECDED_##which, place, "SEC-DED", "SEC-DED codes", \
			  since),                                                            \
		FIELD(COUNT(ECC_DRAM_CORRECTED_##which, NULL),                               \
		      ECC_AT(place, "DRAM Correctable", span, "dram_correctable")),          \
		FIELD(COUNT(ECC_DRAM_UNCORRECTED_##which, NULL),                             \
		      ECC_AT(place, "DRAM Uncorrectable", span, "dram_uncorrectable"))
#define SRAM_SOURCE(word, which, json_word, t, where)                            \
	ROW("ecc.errors.uncorrected.aggregate.sram." word,                       \
	    COUNT(ECC_SRAM_##which, "ecc_sram_" json_word),                      \
	    ECC_AT("Aggregate Uncorrectable SRAM Sources", "SRAM " t,            \
		   "aggregate_uncorrectable_sram_sources", "sram_" json_word),   \
	    "Uncorrected errors of on-chip memory " where ", of the gpu's life", \
	    .when = WTL_SMI_SRAM)

#define SMOOTH(profile, name, ...) NONE("power_smoothing." profile "." name, __VA_ARGS__)
#define SMOOTHING(profile)                                              \
	SMOOTH(profile, "percent_tmp_floor", .unit = "%"),              \
		SMOOTH(profile, "ramp_up_rate", .unit = "W/s"),         \
		SMOOTH(profile, "ramp_down_rate", .unit = "W/s"),       \
		SMOOTH(profile, "ramp_down_hysteresis", .unit = "ms"),  \
		SMOOTH(profile, "secondary_power_floor", .unit = "W"),  \
		SMOOTH(profile, "primary_floor_act_window_multiplier"), \
		SMOOTH(profile, "primary_floor_tar_window_multiplier"), \
		SMOOTH(profile, "primary_floor_act_offset", .unit = "W")

#define SINCE_LOADED "since the driver was loaded"
#define OF_ITS_LIFE  "of the gpu's life"

const struct wtl_smi_field wtl_smi_gpu_fields[] = {
	COLUMN("timestamp", KIND(timestamp),
	       "When the values were read, by the clock on the wall: YYYY/MM/DD HH:MM:SS.mmm",
	       .help = 1),
	COLUMN("driver_version", TEXT_OF(driver, driver), "The driver's version"),
	COLUMN("kmd_version", TEXT_OF(driver, driver), "The same: the kernel driver's version"),
	NONE("vgpu_driver_capability.heterogenous_multivGPU"),
	COLUMN("count", KIND(count), "How many GPUs the machine has"),
	ROW("name", TEXT(name), AT("Product Name", "product_name"), "The maker's name of the GPU",
	    .alias = "gpu_name"),
	FIELD(OF(brand, BRAND, "brand"), AT("Product Brand", "product_brand")),
	FIELD(OF(architecture, ARCHITECTURE, "architecture"),
	      AT("Product Architecture", "product_architecture")),
	ROW("display_mode", KIND(deprecated), AT("Display Mode", "display_mode"),
	    "Withdrawn by NVIDIA", .help = 13),
	ROW("display_attached", OF(yes, DISPLAY_ATTACHED, "display_attached"),
	    AT("Display Attached", "display_attached"), "Whether a display is connected"),
	ROW("display_active", SWITCH(DISPLAY_ACTIVE, "display_active"),
	    AT("Display Active", "display_active"), "Whether a display is initialised on the GPU"),
	ROW("persistence_mode", SWITCH(PERSISTENCE, "persistence"),
	    AT("Persistence Mode", "persistence_mode"),
	    "Whether the driver stays loaded while nobody uses the GPU"),
	ROW("addressing_mode", OF(addressing, ADDRESSING_MODE, "addressing_mode"),
	    AT("Addressing Mode", "addressing_mode"),
	    "How the GPU reaches the system's memory: None, HMM or ATS"),
	ROW("mig.mode.current", SWITCH(MIG_MODE, "mig"),
	    AT("MIG Mode/Current", "mig_mode/current_mig"),
	    "Whether the GPU is cut into MIG instances", .help = 31),
	ROW("mig.mode.pending", SWITCH(MIG_PENDING, "mig_pending"),
	    AT("MIG Mode/Pending", "mig_mode/pending_mig"), "The same after the next reset"),
	COLUMN("gsp.mode.current", SWITCH(GSP_MODE, "gsp"),
	       "Whether the GPU's own processor runs its firmware"),
	COLUMN("gsp.mode.default", SWITCH(GSP_DEFAULT, "gsp_default"),
	       "Whether it does where nobody chose"),
	FIELD(KIND(migs), AT("MIG Device", "mig_devices")),
	ROW("accounting.mode", SWITCH(ACCOUNTING_MODE, "accounting"),
	    AT("Accounting Mode", "accounting_mode"),
	    "Whether the driver keeps statistics per process", .help = 14),
	ROW("accounting.buffer_size", COUNT(ACCOUNTING_BUFFER, "accounting_processes_max"),
	    AT("Accounting Mode Buffer Size", "accounting_mode_buffer_size"),
	    "For how many processes it keeps them"),
	NONE("driver_model.current", AT("Driver Model/Current", "driver_model/current_dm")),
	NONE("driver_model.pending", AT("Driver Model/Pending", "driver_model/pending_dm")),
	ROW("serial", TEXT(serial), AT("Serial Number", "serial"), "The board's serial number",
	    .alias = "gpu_serial", .help = 2),
	ROW("uuid", TEXT(uuid), AT("GPU UUID", "uuid"),
	    "The GPU's own identifier, which never changes", .alias = "gpu_uuid"),
	FIELD(OF(guid, PDI, "pdi"), .title = "GPU PDI"),
	FIELD(COUNT(MINOR_NUMBER, "minor_number"), AT("Minor Number", "minor_number")),
	ROW("vbios_version", TEXT(vbios), AT("VBIOS Version", "vbios_version"),
	    "The version of the board's BIOS", .help = 15),
	FIELD(OF(yes, MULTI_GPU_BOARD, "multi_gpu_board"), AT("MultiGPU Board", "multigpu_board")),
	FIELD(OF(hex, BOARD_ID, "board_id"), AT("Board ID", "board_id")),
	FIELD(TEXT(board_part), AT("Board Part Number", "board_part_number")),
	NEVER("GPU Part Number", "gpu_part_number"),
	NEVER("FRU Part Number", "gpu_fru_part_number"),
	FIELD(COUNT(MODULE_ID, NULL), XML("gpu_module_id")),
	ROW("platform.chassis_serial_number", TEXT_WITH(chassis, chassis_serial, PLATFORM_HOST),
	    PLATFORM("Chassis Serial Number", "chassis_serial_number"),
	    "The serial number of the chassis; empty where it has none", .help = 35),
	ROW("platform.slot_number", COUNT(PLATFORM_SLOT, "platform_slot"),
	    PLATFORM("Slot Number", "slot_number"), "The slot in the chassis, switches counted"),
	ROW("platform.tray_index", COUNT(PLATFORM_TRAY, "platform_tray"),
	    PLATFORM("Tray Index", "tray_index"), "The tray, of those that compute"),
	ROW("platform.host_id", COUNT(PLATFORM_HOST, "platform_host"),
	    PLATFORM("Host ID", "host_id"), "The machine within the slot"),
	ROW("platform.peer_type", OF(peer, PLATFORM_PEER, "platform_peer"),
	    PLATFORM("Peer Type", "peer_type"),
	    "How the GPU reaches its NVLink peers: Direct Connected or Switch Connected"),
	ROW("platform.module_id", COUNT(MODULE_ID, "module_id"),
	    AT("Platform Info/Module Id", "platformInfo/module_id"),
	    "The GPU's number within the machine", .older = "platform_info/module_id"),
	ROW("platform.gpu_fabric_guid", OF(guid, PLATFORM_GUID, "platform_guid"),
	    PLATFORM("GPU Fabric GUID", "gpu_fabric_guid"),
	    "The GPU's identifier in the fabric, in hex"),
	NONE("hostname"),
	COLUMN("energy.total", OF(milli, ENERGY_UJ, "energy_counter_j"),
	       "wattle's own: the GPU's energy counter, from when the driver was loaded",
	       .unit = "J"),
	COLUMN("energy.window", METER(ENERGY, "J"),
	       "wattle's own: the energy since wattle began to watch"),
	COLUMN("energy.window.uncertainty", METER(ENERGY_UNCERTAINTY, "J"),
	       "wattle's own: its expanded uncertainty (k = 2)"),
	COLUMN("power.mean", METER(POWER, "W"),
	       "wattle's own: the mean power since the row before"),
	COLUMN("power.uncertainty", METER(POWER_UNCERTAINTY, "W"),
	       "wattle's own: its expanded uncertainty (k = 2)"),
	COLUMN("cpu.power.draw", SUM(CPU),
	       "wattle's own: the mean power of the processors since the row before"),
	COLUMN("dram.power.draw", SUM(DRAM), "wattle's own: that of the machine's memory"),
	COLUMN("total.power.draw", SUM(TOTAL),
	       "wattle's own: that of all domains that count, GPUs included"),
	ROW("inforom.img", TEXT(inforom_image), INFOROM("Image Version", "img_version"),
	    "The version of the board's info ROM", .alias = "inforom.image", .help = 16),
	ROW("inforom.oem", TEXT(inforom_oem), INFOROM("OEM Object", "oem_object"),
	    "The version of its OEM part"),
	ROW("inforom.ecc", TEXT(inforom_ecc), INFOROM("ECC Object", "ecc_object"),
	    "The version of its ECC part"),
	ROW("inforom.pwr", TEXT(inforom_power), INFOROM("Power Management Object", "pwr_object"),
	    "The version of its power part", .alias = "inforom.power"),
	COLUMN("inforom.checksum_validation", OF(valid, INFOROM_VALID, "inforom_valid"),
	       "Whether the info ROM is whole: valid or invalid. Looked at once a minute"),
	NEVER("Inforom BBX Object Flush/Latest Timestamp", NULL),
	NEVER("Inforom BBX Object Flush/Latest Duration", NULL),
	COLUMN("bbx.time_run", COUNT(TIME_RUN_S, "time_run_s"),
	       "How long the GPU has run since its first start", .unit = "seconds",
	       .title = "Inforom Time Data/Time Run", .title_since = 610, .help = 36),
	NONE("gom.current", AT("GPU Operation Mode/Current", "gpu_operation_mode/current_gom"),
	     .alias = "gpu_operation_mode.current", .help = 18),
	NONE("gom.pending", AT("GPU Operation Mode/Pending", "gpu_operation_mode/pending_gom"),
	     .alias = "gpu_operation_mode.pending"),
	ROW("c2c.mode", SWITCH(C2C_MODE, "c2c"), AT("GPU C2C Mode", "c2c_mode"),
	    "Whether the chip-to-chip link is on", .help = 32),
	ROW("virtualization_mode", OF(virtualization, VIRTUALIZATION, "virtualization"),
	    AT("GPU Virtualization Mode/Virtualization Mode",
	       "gpu_virtualization_mode/virtualization_mode"),
	    "wattle's own: None, Pass-Through, VGPU, Host VGPU or Host VSGA", .help = 37),
	NEVER("GPU Virtualization Mode/Host VGPU Mode", NULL),
	NEVER("GPU Virtualization Mode/vGPU Heterogeneous Mode", NULL),
	ROW("gpu_recovery_action", OF(recovery, RECOVERY_ACTION, "recovery_action"),
	    AT("GPU Recovery Action", "gpu_recovery_action"),
	    "What a fault makes necessary: None, Reset, Reboot, Drain P2P, Drain and Reset",
	    .help = 17),
	FIELD(TEXT(gsp_firmware), AT("GSP Firmware Version", "gsp_firmware_version")),
	NEVER("IBMNPU/Relaxed Ordering Mode", NULL),
	ROW("pci.bus", PLACE(hex2, ADDRESS, pci_bus), PCI("Bus", "pci_bus"), "The PCI bus, in hex",
	    .help = 5),
	ROW("pci.device", PLACE(hex2, ADDRESS, pci_device), PCI("Device", "pci_device"),
	    "The PCI device, in hex"),
	ROW("pci.domain", PLACE(hex4, ADDRESS, pci_domain), PCI("Domain", "pci_domain"),
	    "The PCI domain, in hex", .help = 4),
	ROW("pci.baseClass", PCI_CLASS("pci_class", 0xff00),
	    PCI("Base Classcode", "pci_base_class"), "The PCI base class, in hex", .help = 6),
	ROW("pci.subClass", PCI_CLASS(NULL, 0xff), PCI("Sub Classcode", "pci_sub_class"),
	    "The PCI subclass, in hex"),
	ROW("pci.device_id", TEXT(pci_device_id), PCI("Device Id", "pci_device_id"),
	    "The PCI device and vendor numbers, in hex"),
	ROW("pci.bus_id", KIND(bus_id), PCI("Bus Id", "pci_bus_id"),
	    "Where it is on the PCI bus: domain:bus:device.function, in hex", .alias = "gpu_bus_id",
	    .help = 3),
	ROW("pci.sub_device_id", TEXT(pci_subsystem_id), PCI("Sub System Id", "pci_sub_system_id"),
	    "The PCI subsystem numbers, in hex", .help = 7),
	NONE("vgpu_device_capability.fractional_multiVgpu"),
	NONE("vgpu_device_capability.heterogeneous_timeSlice_profile"),
	NONE("vgpu_device_capability.heterogeneous_timeSlice_sizes"),
	NONE("vgpu_device_capability.homogeneous_placements"),
	NONE("vgpu_device_capability.mig_timeSlicing"),
	NONE("vgpu_device_capability.mig_timeSlicing_mode"),
	ROW("pcie.link.gen.max", COUNT(PCIE_GEN_MAX, "pcie_generation_max"),
	    GEN("Max", "max_link_gen"), "The highest PCIe generation of this GPU in this slot",
	    .help = 9),
	ROW("pcie.link.gen.current", COUNT(PCIE_GEN, "pcie_generation"),
	    GEN("Current", "current_link_gen"),
	    "The PCIe generation that the link runs at now; lower while idle", .help = 8),
	ROW("pcie.link.gen.gpucurrent", COUNT(PCIE_GEN, NULL),
	    GEN("Device Current", "device_current_link_gen"), "The same"),
	ROW("pcie.link.gen.gpumax", COUNT(PCIE_GEN_GPU_MAX, "pcie_generation_gpu_max"),
	    GEN("Device Max", "max_device_link_gen"),
	    "The highest PCIe generation of the GPU itself", .help = 10),
	ROW("pcie.link.gen.hostmax", COUNT(PCIE_GEN_HOST_MAX, "pcie_generation_host_max"),
	    GEN("Host Max", "max_host_link_gen"),
	    "The highest PCIe generation of the machine's own end, from /sys; none in a virtual machine"),
	ROW("pcie.link.width.max", COUNT(PCIE_WIDTH_MAX, "pcie_lanes_max"),
	    WIDTH("Max", "max_link_width"), "PCIe lanes that this GPU can use in this slot",
	    .help = 12),
	COLUMN("index", PLACE(plain, U32, index),
	       "The GPU's number from 0; may change when the machine starts anew"),
	ROW("pcie.link.width.current", COUNT(PCIE_WIDTH, "pcie_lanes"),
	    WIDTH("Current", "current_link_width"), "PCIe lanes in use now", .help = 11),
	NEVER("PCI/Bridge Chip/Type", NULL),
	NEVER("PCI/Bridge Chip/Firmware", NULL),
	FIELD(COUNT(PCIE_REPLAYS, "pcie_replays"), PCI("Replays Since Reset", "replay_counter")),
	FIELD(COUNT(PCIE_REPLAY_ROLLOVERS, "pcie_replay_rollovers"),
	      PCI("Replay Number Rollovers", "replay_rollover_counter")),
	ROW("pcie.tx", RATE(PCIE_TX_BYTES_PER_S, "pcie_tx_bytes_per_s"),
	    PCI("Tx Throughput", "tx_util"), "wattle's own: what the GPU sends over PCIe",
	    .help = 39),
	ROW("pcie.rx", RATE(PCIE_RX_BYTES_PER_S, "pcie_rx_bytes_per_s"),
	    PCI("Rx Throughput", "rx_util"), "wattle's own: what it receives"),
	NEVER("PCI/Atomic Caps Outbound", NULL),
	NEVER("PCI/Atomic Caps Inbound", NULL),
	ROW("fan.speed", PERCENT(FAN_PERCENT, "fan_percent"), AT("Fan Speed", "fan_speed"),
	    "The speed that the fan is told to run at", .help = 19),
	ROW("pstate", OF(pstate, PSTATE, "pstate"), AT("Performance State", "performance_state"),
	    "The performance state: P0 is the fastest", .older = "power_readings/power_state"),
	COLUMN("clocks_event_reasons.supported", OF(mask, THROTTLE_KNOWN, "throttle_known"),
	       "Bits of the reasons that this GPU can show",
	       .alias = "clocks_throttle_reasons.supported"),
	COLUMN("clocks_event_reasons.active", OF(mask, THROTTLE, "throttle"),
	       "Bits of the reasons why clocks are held down now",
	       .alias = "clocks_throttle_reasons.active"),
	REASON("gpu_idle", "Idle", IDLE, "nothing runs"),
	REASON("applications_clocks_setting", "Applications Clocks Setting", APPLICATION_CLOCKS,
	       "a lower clock was asked for"),
	REASON("sw_power_cap", "SW Power Cap", SW_POWER_CAP, "the power limit"),
	REASON("hw_slowdown", "HW Slowdown", HW_SLOWDOWN, "the hardware halves them or more"),
	REASON("hw_thermal_slowdown", "    HW Thermal Slowdown", HW_THERMAL,
	       "the hardware, as it is too hot"),
	REASON("hw_power_brake_slowdown", "    HW Power Brake Slowdown", HW_POWER_BRAKE,
	       "an external power brake"),
	REASON("sync_boost", "Sync Boost", SYNC_BOOST, "another GPU of its group", .help = 21),
	REASON("sw_thermal_slowdown", "SW Thermal Slowdown", SW_THERMAL,
	       "the driver, as it is too hot", .help = 20),
	ROW("clocks_event_reasons.display_clocks_setting", BIT(DISPLAY_CLOCKS),
	    AT("Clocks Event Reasons/Display Clock Setting",
	       "clocks_event_reasons/clocks_event_reason_display_clocks_setting"),
	    "wattle's own: clocks are held down now: a display", .help = 41,
	    .older = "clocks_throttle_reasons/clocks_throttle_reason_display_clocks_setting"),
	THROTTLED("sw_power_cap", SW_POWER_CAP, "sw_power_cap", "SW Power Capping", "sw_power_cap",
		  .help = 22),
	THROTTLED("sync_boost", SYNC_BOOST, "sync_boost", "Sync Boost", "sync_boost"),
	THROTTLED("sw_thermal_slowdown", SW_THERMAL, "sw_thermal", "SW Thermal Slowdown",
		  "sw_therm_slowdown"),
	THROTTLED("hw_thermal_slowdown", HW_THERMAL, "hw_thermal", "HW Thermal Slowdown",
		  "hw_therm_slowdown"),
	THROTTLED("hw_power_brake_slowdown", HW_POWER_BRAKE, "hw_power_brake", "HW Power Braking",
		  "hw_power_brake"),
	NEVER("Sparse Operation Mode", NULL),
	ROW("memory.total", MIB(MEMORY_TOTAL_BYTES, "memory_total_bytes"), FB("Total", "total"),
	    "The GPU's memory"),
	ROW("memory.reserved", MIB(MEMORY_RESERVED_BYTES, "memory_reserved_bytes"),
	    FB("Reserved", "reserved"), "Of it, what driver and firmware hold"),
	ROW("memory.used", MIB(MEMORY_USED_BYTES, "memory_used_bytes"), FB("Used", "used"),
	    "Of it, what programs hold"),
	ROW("memory.free", MIB(MEMORY_FREE_BYTES, "memory_free_bytes"), FB("Free", "free"),
	    "Of it, what is free"),
	FIELD(MIB(BAR1_TOTAL_BYTES, "bar1_total_bytes"), BAR1("Total", "total")),
	FIELD(MIB(BAR1_USED_BYTES, "bar1_used_bytes"), BAR1("Used", "used")),
	FIELD(MIB(BAR1_FREE_BYTES, "bar1_free_bytes"), BAR1("Free", "free")),
	ROW("protected_memory.total", MIB(PROTECTED_TOTAL_BYTES, "protected_total_bytes"),
	    PROTECTED("Total", "total"), "Memory for confidential computing", .help = 33),
	ROW("protected_memory.used", MIB(PROTECTED_USED_BYTES, "protected_used_bytes"),
	    PROTECTED("Used", "used"), "Of it, what is in use"),
	ROW("protected_memory.free", MIB(PROTECTED_FREE_BYTES, "protected_free_bytes"),
	    PROTECTED("Free", "free"), "Of it, what is free"),
	ROW("compute_mode", OF(mode, COMPUTE_MODE, "compute_mode"),
	    AT("Compute Mode", "compute_mode"),
	    "Who may compute on it: Default, Exclusive_Thread, Prohibited, Exclusive_Process",
	    .help = 23),
	COLUMN("compute_cap", TEXT(compute_capability), "The CUDA compute capability"),
	USE("gpu", USE_PERCENT, "use_percent", "GPU", "some kernel ran"),
	USE("memory", MEMORY_USE_PERCENT, "memory_use_percent", "Memory",
	    "the memory was read or written"),
	USE("encoder", ENCODER_PERCENT, "encoder_percent", "Encoder",
	    "the video encoder was in use"),
	USE("decoder", DECODER_PERCENT, "decoder_percent", "Decoder",
	    "the video decoder was in use"),
	USE("jpeg", JPEG_PERCENT, "jpeg_percent", "JPEG", "the JPEG engine was in use"),
	USE("ofa", OFA_PERCENT, "ofa_percent", "OFA", "the optical flow engine was in use"),
	ROW("encoder.stats.sessionCount", COUNT(ENCODER_SESSIONS, "encoder_sessions"),
	    ENCODER("Active Sessions", "session_count"), "Video encoder sessions"),
	ROW("encoder.stats.averageFps", COUNT(ENCODER_FPS, "encoder_frames_per_s"),
	    ENCODER("Average FPS", "average_fps"), "Their mean frames a second"),
	ROW("encoder.stats.averageLatency", COUNT(ENCODER_LATENCY_US, "encoder_latency_us"),
	    ENCODER("Average Latency", "average_latency"), "Their mean latency in microseconds"),
	FIELD(COUNT(CAPTURE_SESSIONS, "capture_sessions"),
	      CAPTURE("Active Sessions", "session_count")),
	FIELD(COUNT(CAPTURE_FPS, "capture_frames_per_s"), CAPTURE("Average FPS", "average_fps")),
	FIELD(COUNT(CAPTURE_LATENCY_US, "capture_latency_us"),
	      CAPTURE("Average Latency", "average_latency")),
	NONE("dramEncryption.mode.current", AT("DRAM Encryption Mode/Current", NULL)),
	NONE("dramEncryption.mode.pending", AT("DRAM Encryption Mode/Pending", NULL)),
	ROW("ecc.mode.current", SWITCH(ECC_MODE, "ecc"),
	    AT("ECC Mode/Current", "ecc_mode/current_ecc"), "Whether memory errors are corrected"),
	ROW("ecc.mode.pending", SWITCH(ECC_PENDING, "ecc_pending"),
	    AT("ECC Mode/Pending", "ecc_mode/pending_ecc"), "The same after the next start"),
	ECC("corrected", "volatile", CORRECTED_VOLATILE, "single_bit",
	    "Corrected memory errors " SINCE_LOADED),
	ECC("corrected", "aggregate", CORRECTED_AGGREGATE, "single_bit",
	    "Corrected memory errors " OF_ITS_LIFE),
	ECC("uncorrected", "volatile", UNCORRECTED_VOLATILE, "double_bit",
	    "Uncorrected memory errors " SINCE_LOADED),
	ECC("uncorrected", "aggregate", UNCORRECTED_AGGREGATE, "double_bit",
	    "Uncorrected memory errors " OF_ITS_LIFE),
	ECC_SPAN("Volatile", "volatile", VOLATILE, SINCE_LOADED),
	ECC_SPAN("Aggregate", "aggregate", AGGREGATE, OF_ITS_LIFE),
	ROW("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
	    OF(yes, ECC_SRAM_EXCEEDED, "ecc_sram_exceeded"),
	    ECC_AT("Aggregate", "SRAM Threshold Exceeded", "aggregate", "sram_threshold_exceeded"),
	    "Whether these are more than the maker allows", .when = WTL_SMI_SRAM),
	SRAM_SOURCE("l2", L2, "l2", "L2", "in the L2 cache"),
	SRAM_SOURCE("sm", SM, "sm", "SM", "in multiprocessors"),
	SRAM_SOURCE("mcu", MICROCONTROLLER, "microcontroller", "Microcontroller",
		    "in microcontrollers"),
	SRAM_SOURCE("pcie", PCIE, "pcie", "PCIE", "in the PCIe unit"),
	SRAM_SOURCE("other", OTHER, "other", "Other", "elsewhere"),
	FIELD(OF(yes, CHANNEL_REPAIR_PENDING, "channel_repair_pending"),
	      AT("ECC Errors/Channel Repair Pending", "ecc_errors/channel_repair_pending"),
	      .when = WTL_SMI_SRAM),
	FIELD(OF(yes, TPC_REPAIR_PENDING, "tpc_repair_pending"),
	      AT("ECC Errors/TPC Repair Pending", "ecc_errors/tpc_repair_pending"),
	      .when = WTL_SMI_SRAM),
	NEVER("ECC Errors/Unrepairable Memory", NULL, .when = WTL_SMI_SRAM),
	NONE("retired_pages.single_bit_ecc.count", AT("Retired Pages/Single Bit ECC", NULL),
	     .alias = "retired_pages.sbe"),
	NONE("retired_pages.double_bit.count", AT("Retired Pages/Double Bit ECC", NULL),
	     .alias = "retired_pages.dbe"),
	NONE("retired_pages.pending", AT("Retired Pages/Pending Page Blacklist", NULL)),
	NEVER("Remapped Rows", "remapped_rows", .when = WTL_SMI_NOT_REMAPPED),
	ROW("remapped_rows.correctable", COUNT(REMAPPED_CORRECTABLE, "remapped_correctable"),
	    ROWS("Correctable Error", "remapped_row_corr"),
	    "Memory rows replaced after errors that could be corrected",
	    .alias = "remapped_rows.sbe"),
	ROW("remapped_rows.correctable_inactive",
	    COUNT(REMAPPED_CORRECTABLE_INACTIVE, "remapped_correctable_inactive"),
	    ROWS("Inactive Correctable Error", "remapped_row_corr_inactive"),
	    "Of the first kind, those not in force yet", .title_since = 595),
	ROW("remapped_rows.uncorrectable", COUNT(REMAPPED_UNCORRECTABLE, "remapped_uncorrectable"),
	    ROWS("Uncorrectable Error", "remapped_row_unc"),
	    "Memory rows replaced after errors that could not", .alias = "remapped_rows.dbe"),
	ROW("remapped_rows.uncorrectable_inactive",
	    COUNT(REMAPPED_UNCORRECTABLE_INACTIVE, "remapped_uncorrectable_inactive"),
	    ROWS("Inactive Uncorrectable Error", "remapped_row_unc_inactive"),
	    "Of the second kind, those not in force yet", .title_since = 595),
	ROW("remapped_rows.pending", OF(yes, REMAPPED_PENDING, "remapped_pending"),
	    ROWS("Pending", "remapped_row_pending"),
	    "Whether rows wait for the next reset to be replaced"),
	ROW("remapped_rows.failure", OF(yes, REMAPPED_FAILURE, "remapped_failure"),
	    ROWS("Remapping Failure Occurred", "remapped_row_failure"),
	    "Whether replacing a row ever failed"),
	BANKS("max", "Max", MAX, "all their spare rows"),
	BANKS("high", "High", HIGH, "many rows"),
	BANKS("partial", "Partial", PARTIAL, "some rows"),
	BANKS("low", "Low", LOW, "few rows"),
	BANKS("none", "None", NONE, "no rows"),
	ROW("temperature.gpu", COUNT(TEMPERATURE_C, "temperature_c"),
	    TEMPERATURE("GPU Current Temp", "gpu_temp"),
	    "The GPU's temperature in degrees Celsius"),
	ROW("temperature.gpu.tlimit",
	    OF(signed_number, TEMPERATURE_MARGIN_C, "temperature_margin_c"),
	    TEMPERATURE("GPU T.Limit Temp", "gpu_temp_tlimit"),
	    "Degrees below the temperature at which it slows down",
	    .title_of_610 = "Temperature/GPU Current T.Limit Temp"),
	LIMIT_C("GPU Shutdown Temp", "gpu_temp_max", SHUTDOWN, "shutdown"),
	LIMIT_MARGIN("GPU Shutdown T.Limit Temp", "gpu_temp_max", SHUTDOWN, "shutdown"),
	LIMIT_C("GPU Slowdown Temp", "gpu_temp_slow", SLOWDOWN, "slowdown"),
	LIMIT_MARGIN("GPU Slowdown T.Limit Temp", "gpu_temp_slow", SLOWDOWN, "slowdown"),
	LIMIT_C("GPU Max Operating Temp", "gpu_temp_max_gpu", MAX_OPERATING, "max_operating"),
	LIMIT_MARGIN("GPU Max Operating T.Limit Temp", "gpu_temp_max_gpu", MAX_OPERATING,
		     "max_operating"),
	FIELD(COUNT(TARGET_C, "target_temperature_c"),
	      TEMPERATURE("GPU Target Temperature", "gpu_target_temperature"),
	      .title_of_610 = "Temperature/GPU Target Temperature Specification"),
	ROW("temperature.memory", COUNT(MEMORY_TEMPERATURE_C, "memory_temperature_c"),
	    TEMPERATURE("Memory Current Temp", "memory_temp"),
	    "The memory's temperature in degrees Celsius", .unknown = "N/A"),
	LIMIT_C("Memory Max Operating Temp", "gpu_temp_max_mem", MEMORY_MAX_OPERATING,
		"memory_max_operating"),
	LIMIT_MARGIN("Memory Max Operating T.Limit Temp", "gpu_temp_max_mem", MEMORY_MAX_OPERATING,
		     "memory_max_operating"),
	COLUMN("power.management", KIND(deprecated), "Withdrawn by NVIDIA"),
	FIELD(OF(pstate, PSTATE, NULL), XML("gpu_power_readings/power_state")),
	ROW("power.draw", WATTS(POWER_UW, "power_w"), XML("gpu_power_readings/power_draw"),
	    "The board's power: the mean of a second from Ampere on (but for GA100), else of the moment",
	    .older = "power_readings/power_draw"),
	ROW("power.draw.average", WATTS(POWER_AVERAGE_UW, "power_average_w"),
	    BOARD("Average Power Draw", "average_power_draw"), "The board's mean power",
	    .alias = "gpu.power.draw.average"),
	ROW("power.draw.instant", WATTS(POWER_INSTANT_UW, "power_instant_w"),
	    BOARD("Instantaneous Power Draw", "instant_power_draw"),
	    "The board's power of the moment", .alias = "gpu.power.draw.instant"),
	ROW("enforced.power.limit", WATTS(LIMIT_UW, "limit_w"),
	    CEILING("Current Power Limit", "current_power_limit"),
	    "The power limit in force: the least of all", .alias = "gpu.power.current_limit",
	    .help = 25, .older = "power_readings/enforced_power_limit"),
	ROW("power.limit", WATTS(LIMIT_REQUESTED_UW, "limit_requested_w"),
	    CEILING("Requested Power Limit", "requested_power_limit"),
	    "The power limit that was set: see wattle limit", .alias = "gpu.power.requested_limit",
	    .help = 24, .older = "power_readings/power_limit"),
	ROW("power.default_limit", WATTS(LIMIT_DEFAULT_UW, "limit_default_w"),
	    CEILING("Default Power Limit", "default_power_limit"),
	    "The power limit after the driver was loaded", .alias = "gpu.power.default_limit",
	    .help = 26, .older = "power_readings/default_power_limit"),
	BASE_POWER("Current"),
	BASE_POWER("Requested"),
	BASE_POWER("Default"),
	ROW("power.min_limit", WATTS(LIMIT_MIN_UW, "limit_min_w"),
	    BOARD("Min Power Limit", "min_power_limit"), "The lowest power limit that can be set",
	    .alias = "gpu.power.min_limit", .older = "power_readings/min_power_limit"),
	ROW("power.max_limit", WATTS(LIMIT_MAX_UW, "limit_max_w"),
	    BOARD("Max Power Limit", "max_power_limit"), "The highest power limit that can be set",
	    .alias = "gpu.power.max_limit", .older = "power_readings/max_power_limit"),
	ROW("memory.power.draw.average", WATTS(MEMORY_POWER_AVERAGE_UW, "memory_power_average_w"),
	    MEMORY_POWER("Average Power Draw", "average_power_draw"),
	    "wattle's own: the mean power of the memory", .help = 38),
	ROW("memory.power.draw.instant", WATTS(MEMORY_POWER_INSTANT_UW, "memory_power_instant_w"),
	    MEMORY_POWER("Instantaneous Power Draw", "instant_power_draw"),
	    "wattle's own: the memory's power of the moment"),
	FIELD(OF(pstate, PSTATE, NULL), XML("module_power_readings/power_state")),
	ROW("module.power.draw.average", WATTS(MODULE_POWER_AVERAGE_UW, "module_power_average_w"),
	    MODULE("Average Power Draw", "average_power_draw"),
	    "The module's mean power (GPU and CPU together)", .help = 27,
	    .older = "module_power_readings/power_draw"),
	ROW("module.power.draw.instant", WATTS(MODULE_POWER_INSTANT_UW, "module_power_instant_w"),
	    MODULE("Instantaneous Power Draw", "instant_power_draw"),
	    "The module's power of the moment"),
	ROW("module.enforced.power.limit", WATTS(MODULE_LIMIT_UW, "module_limit_w"),
	    MODULE("Current Power Limit", "current_power_limit"),
	    "The module's power limit in force", .alias = "module.power.current_limit", .help = 29),
	ROW("module.power.limit", WATTS(MODULE_LIMIT_REQUESTED_UW, "module_limit_requested_w"),
	    MODULE("Requested Power Limit", "requested_power_limit"),
	    "The module's power limit that was set", .alias = "module.power.requested_limit",
	    .help = 28),
	ROW("module.power.default_limit", WATTS(MODULE_LIMIT_DEFAULT_UW, "module_limit_default_w"),
	    MODULE("Default Power Limit", "default_power_limit"),
	    "The module's power limit after the driver was loaded", .help = 30),
	ROW("module.power.min_limit", WATTS(MODULE_LIMIT_MIN_UW, "module_limit_min_w"),
	    MODULE("Min Power Limit", "min_power_limit"), "The lowest one that can be set"),
	ROW("module.power.max_limit", WATTS(MODULE_LIMIT_MAX_UW, "module_limit_max_w"),
	    MODULE("Max Power Limit", "max_power_limit"), "The highest one that can be set"),
	/* How base power is asked for is not public. Power smoothing has field ids (251 to 268, 275 to 288, 300), but
	 * how nvidia-smi writes their values was seen nowhere. */
	NONE("gpu.base.current", .unit = "W"),
	NONE("gpu.base.requested", .unit = "W"),
	NONE("gpu.base.default", .unit = "W"),
	NONE("gpu.base.min", .unit = "W"),
	NONE("gpu.base.max", .unit = "W"),
	NONE("power_smoothing.tmp_floor", .unit = "W"),
	NONE("power_smoothing.tmp_ceil", .unit = "W"),
	NONE("power_smoothing.hw_lifetime_remaining_percent", .unit = "%"),
	NONE("power_smoothing.enabled"),
	NONE("power_smoothing.delayed_power_smoothing_supported"),
	NONE("power_smoothing.soc_power_smoothing_enabled"),
	NONE("power_smoothing.priv_level"),
	NONE("power_smoothing.imm_ramp_down"),
	NONE("power_smoothing.max_percent_tmp_floor", .unit = "%"),
	NONE("power_smoothing.min_percent_tmp_floor", .unit = "%"),
	NONE("power_smoothing.primary_power_floor", .unit = "W"),
	NONE("power_smoothing.secondary_power_floor", .unit = "W"),
	NONE("power_smoothing.min_primary_floor_activation_offset", .unit = "W"),
	NONE("power_smoothing.min_primary_floor_activation_point", .unit = "W"),
	NONE("power_smoothing.window_multiplier", .unit = "ms"),
	NONE("power_smoothing.num_preset_profiles"),
	SMOOTHING("curr_profile"),
	NONE("power_smoothing.active_profile"),
	SMOOTHING("admin_override"),
	NEVER("Power Smoothing", NULL),
	NEVER("Workload Power Profiles/Requested Profiles", NULL),
	NEVER("Workload Power Profiles/Enforced Profiles", NULL),
	ROW("edpp_multiplier", OF(centi, EDPP_MICROPERCENT, "edpp_percent"),
	    AT("EDPp Multiplier", "edpp_multiplier"),
	    "The part of its peak design power that the GPU may draw", .suffix = "%", .unit = "%"),
	ROW("clocks.current.graphics", MHZ(CLOCK_GRAPHICS_MHZ, "clock_graphics_mhz"),
	    AT("Clocks/Graphics", "clocks/graphics_clock"), "The graphics clock now",
	    .alias = "clocks.gr"),
	ROW("clocks.current.sm", MHZ(CLOCK_SM_MHZ, "clock_sm_mhz"),
	    AT("Clocks/SM", "clocks/sm_clock"), "The sm clock now", .alias = "clocks.sm"),
	ROW("clocks.current.memory", MHZ(CLOCK_MEMORY_MHZ, "clock_memory_mhz"),
	    AT("Clocks/Memory", "clocks/mem_clock"), "The memory clock now", .alias = "clocks.mem"),
	ROW("clocks.current.video", MHZ(CLOCK_VIDEO_MHZ, "clock_video_mhz"),
	    AT("Clocks/Video", "clocks/video_clock"), "The video clock now",
	    .alias = "clocks.video"),
	ROW("clocks.applications.graphics",
	    MHZ(CLOCK_GRAPHICS_APPLICATION_MHZ, "clock_graphics_application_mhz"),
	    AT("Applications Clocks/Graphics", "applications_clocks/graphics_clock"),
	    "The graphics clock that was asked for; withdrawn by newer drivers",
	    .alias = "clocks.applications.gr"),
	ROW("clocks.applications.memory",
	    MHZ(CLOCK_MEMORY_APPLICATION_MHZ, "clock_memory_application_mhz"),
	    AT("Applications Clocks/Memory", "applications_clocks/mem_clock"),
	    "The memory clock that was asked for; withdrawn by newer drivers",
	    .alias = "clocks.applications.mem"),
	ROW("clocks.default_applications.graphics",
	    MHZ(CLOCK_GRAPHICS_APPLICATION_DEFAULT_MHZ, "clock_graphics_application_default_mhz"),
	    AT("Default Applications Clocks/Graphics",
	       "default_applications_clocks/graphics_clock"),
	    "The graphics clock where none is asked for; withdrawn by newer drivers",
	    .alias = "clocks.default_applications.gr"),
	ROW("clocks.default_applications.memory",
	    MHZ(CLOCK_MEMORY_APPLICATION_DEFAULT_MHZ, "clock_memory_application_default_mhz"),
	    AT("Default Applications Clocks/Memory", "default_applications_clocks/mem_clock"),
	    "The memory clock where none is asked for; withdrawn by newer drivers",
	    .alias = "clocks.default_applications.mem"),
	NEVER("Deferred Clocks/Memory", NULL),
	ROW("clocks.max.graphics", MHZ(CLOCK_GRAPHICS_MAX_MHZ, "clock_graphics_max_mhz"),
	    AT("Max Clocks/Graphics", "max_clocks/graphics_clock"), "The highest graphics clock",
	    .alias = "clocks.max.gr"),
	ROW("clocks.max.sm", MHZ(CLOCK_SM_MAX_MHZ, "clock_sm_max_mhz"),
	    AT("Max Clocks/SM", "max_clocks/sm_clock"), "The highest sm clock",
	    .alias = "clocks.max.sm"),
	ROW("clocks.max.memory", MHZ(CLOCK_MEMORY_MAX_MHZ, "clock_memory_max_mhz"),
	    AT("Max Clocks/Memory", "max_clocks/mem_clock"), "The highest memory clock",
	    .alias = "clocks.max.mem"),
	ROW("clocks.max.video", MHZ(CLOCK_VIDEO_MAX_MHZ, "clock_video_max_mhz"),
	    AT("Max Clocks/Video", "max_clocks/video_clock"),
	    "wattle's own: the highest video clock", .help = 40),
	FIELD(MHZ(CLOCK_GRAPHICS_BOOST_MAX_MHZ, "clock_graphics_boost_max_mhz"),
	      AT("Max Customer Boost Clocks/Graphics", "max_customer_boost_clocks/graphics_clock")),
	NEVER("Clock Policy/Auto Boost", NULL),
	NEVER("Clock Policy/Auto Boost Default", NULL),
	ROW("fabric.state", OF(fabric_state, FABRIC_STATE, "fabric_state"),
	    FABRIC("State", "state"),
	    "How far the GPU is in joining the NVLink fabric: Not Started, In Progress, Completed",
	    .help = 34),
	ROW("fabric.status", TEXT_WITH(number_text, fabric_status, FABRIC_CLIQUE),
	    FABRIC("Status", "status"), "How joining it went: Success, or the driver's words"),
	ROW("fabric.cliqueId", COUNT(FABRIC_CLIQUE, "fabric_clique"),
	    FABRIC("CliqueId", "cliqueId"), "Its clique in the fabric"),
	ROW("fabric.clusterUuid", TEXT_WITH(number_text, fabric_cluster, FABRIC_CLIQUE),
	    FABRIC("ClusterUUID", "clusterUuid"), "Which fabric"),
	ROW("fabric.health.summary", OF(health, FABRIC_HEALTH, "fabric_health"),
	    HEALTH("Summary", "summary"), "Healthy, Unhealthy or Limited Capacity"),
	ROW("fabric.health.bandwidth", OF(degraded, FABRIC_DEGRADED, "fabric_degraded"),
	    HEALTH("Bandwidth", "bandwidth"), "Full or Degraded"),
	ROW("fabric.health.route_recovery_in_progress",
	    OF(truth, FABRIC_RECOVERING, "fabric_recovering"),
	    HEALTH("Route Recovery in progress", "route_recovery_in_progress"), "True or False"),
	ROW("fabric.health.route_unhealthy", OF(truth, FABRIC_BAD_ROUTE, "fabric_bad_route"),
	    HEALTH("Route Unhealthy", "route_unhealthy"), "True or False"),
	ROW("fabric.health.access_timeout_recovery",
	    OF(truth, FABRIC_TIMED_OUT, "fabric_timed_out"),
	    HEALTH("Access Timeout Recovery", "access_timeout_recovery"), "True or False"),
	ROW("fabric.health.incorrect_configuration",
	    OF(misconfigured, FABRIC_MISCONFIGURED, "fabric_misconfigured"),
	    HEALTH("Incorrect Configuration", "incorrect_configuration"),
	    "None, or what is wrong with the configuration"),
	ROW("fabric.health.partition_assigned", OF(truth, FABRIC_PARTITION, "fabric_partition"),
	    HEALTH("Partition Assigned", "partition_assigned"), "True or False",
	    .title_since = 595),
	FIELD(KIND(processes), AT("Processes", "processes")),
	NEVER("Capabilities/EGM", NULL),
	{0},
};

const struct wtl_smi_query wtl_smi_query_gpu = {
	.option = "--query-gpu",
	.about = "Each row is a GPU.",
	.fields = wtl_smi_gpu_fields,
};
