#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Capture what wattle reads of this machine into a directory that `wattle --root` can use, to go
# with a bug report:
#
#	tools/mkroot.sh [-r SOURCE] DEST
#
# SOURCE is the machine's root (default /); DEST must not exist. A file that cannot be read becomes
# "!errno NAME", as tests/fixtures/roots/README.md describes. Left out: serial numbers, UUIDs, host
# name, and perf counters (only a running program has them). Container and pod ids become zeros.
# A device that sleeps is not read, so that it is not woken: its sensors become "!errno EPERM".

set -eu
LC_ALL=C
export LC_ALL

usage() {
	echo "usage: mkroot.sh [-r SOURCE] DEST" >&2
	exit 2
}

source=/
while getopts r: option; do
	case $option in
	r) source=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
dest=$1
if [ -e "$dest" ] || [ -L "$dest" ]; then
	echo "mkroot.sh: $dest exists already" >&2
	exit 1
fi
source=$(cd -P "$source" && pwd -P) || exit 1
source=${source%/}
mkdir -p "$dest"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
trap 'exit 130' INT TERM HUP

# The errno name for what a failed read said.
errno_of() {
	case $(cat "$errors") in
	*"Permission denied"*) echo EACCES ;;
	*"Operation not permitted"*) echo EPERM ;;
	*"No data available"*) echo ENODATA ;;
	*"Invalid argument"*) echo EINVAL ;;
	*"No such device or address"*) echo ENXIO ;;
	*"No such device"*) echo ENODEV ;;
	*"Resource temporarily unavailable"*) echo EAGAIN ;;
	*"Operation not supported"*) echo EOPNOTSUPP ;;
	*"timed out"*) echo ETIMEDOUT ;;
	*) echo EIO ;;
	esac
}

# Make the directory that is to hold the path.
parent() {
	case $1 in
	*/*) mkdir -p "$dest/${1%/*}" ;;
	esac
}

# Copy one file, or leave the reason why it cannot be read; what does not exist is left out.
# With a sed script, copy through it.
copy() {
	[ -f "$source/$1" ] || return 0
	parent "$1"
	if ! cat "$source/$1" >"$dest/$1" 2>"$errors"; then
		echo "!errno $(errno_of)" >"$dest/$1"
	elif [ $# -gt 1 ]; then
		sed "$2" "$source/$1" >"$dest/$1"
	fi
}

# Copy the given names (patterns allowed) of one directory.
copy_names() {
	folder=$1
	shift
	for pattern in "$@"; do
		# shellcheck disable=SC2231 # the pattern is meant to expand
		for path in "$source/$folder"/$pattern; do
			copy "${path#"$source"/}"
		done
	done
}

# As copy_names, for values that the driver would wake its device ($1) for.
copy_values() {
	if [ -f "$source/$1/power/runtime_status" ] &&
		[ "$(cat "$source/$1/power/runtime_status")" = suspended ]; then
		folder=$2
		shift 2
		for pattern in "$@"; do
			# shellcheck disable=SC2231 # the pattern is meant to expand
			for path in "$source/$folder"/$pattern; do
				[ -f "$path" ] || continue
				parent "${path#"$source"/}"
				echo "!errno EPERM" >"$dest/${path#"$source"/}"
			done
		done
	else
		shift
		copy_names "$@"
	fi
}

# Copy a symbolic link as it is. Absolute ones would lead out of the copy: they are left out.
link() {
	[ -L "$source/$1" ] || return 0
	target=$(readlink "$source/$1")
	case $target in
	/*) return 0 ;;
	esac
	parent "$1"
	[ -L "$dest/$1" ] || ln -s "$target" "$dest/$1"
}

# Where a directory really is, relative to the source; empty if it does not exist.
real() {
	where=$(cd -P "$source/$1" 2>/dev/null && pwd -P) || where=
	where=${where#"$source"/}
}

# Call $2 with the real directory of each entry of the class directory $1.
each() {
	for entry in "$source/$1"/*; do
		entry=${entry#"$source"/}
		link "$entry"
		real "$entry"
		[ -z "$where" ] || "$2" "$where"
	done
}

zone() {
	copy_names "$1" name energy_uj max_energy_range_uj enabled constraint_\*_name \
		constraint_\*_max_power_uw
}

sensor() {
	sensor=$1
	copy_names "$sensor" name '*_label' '*_oem_info' update_interval '*_enable'
	link "$sensor/device"
	real "$sensor/device"
	[ -n "$where" ] || return 0
	device=$where
	for folder in "$sensor" "$device"; do
		copy_values "$device" "$folder" '[a-z]*[0-9]_input' 'power[0-9]*_average' \
			'power[0-9]*_average_interval' 'power[0-9]*_cap*' '[a-z]*[0-9]_max' \
			'pwm[0-9]' \
			'power[0-9]*_accuracy' 'power[0-9]*_is_battery'
	done
	# ACPI power meters keep their attributes, and in old kernels the name, on the device.
	copy_names "$device" name 'power[0-9]*_oem_info'
}

display() {
	copy_names "$1" dev status
	link "$1/device"
}

supply() {
	copy_names "$1" type scope status present online technology 'power_[na]*' 'current_[na]*' \
		'voltage_*' 'energy_*' 'charge_now' 'charge_full*' capacity capacity_level
}

events() {
	copy_names "$1" type cpumask
	case ${1##*/} in
	power*) copy_names "$1" 'format/*' 'events/*' ;;
	esac
}

# Graphics cards, and whatever NVIDIA makes; the rest of the bus is nobody's business.
function_of_pci() {
	case $(cat "$source/$1/vendor" "$source/$1/class" 2>/dev/null) in
	*0x10de* | *"
0x03"*) ;;
	*) return 0 ;;
	esac
	link "sys/bus/pci/devices/${1##*/}"
	copy_names "$1" vendor device subsystem_vendor subsystem_device class vbios_version \
		power/runtime_status power/control
	# The board's own number is nobody's business, but that there is one.
	copy "$1/unique_id" 's/[0-9a-fA-F]/0/g'
	copy_values "$1" "$1" gpu_busy_percent mem_busy_percent 'mem_info_vram_*' 'pp_dpm_[sm]clk' \
		'current_link_*' 'max_link_*' 'tile*/gt*/freq*/*_freq' 'tile*/gt*/freq*/throttle/*' \
		'drm/card*/gt_*_freq_mhz' 'drm/card*/gt/gt*/*'
	link "$1/driver"
	real "$1/driver"
	[ -z "$where" ] || link "$where/${1##*/}"
}

copy .dockerenv
copy proc/cpuinfo '/^Serial/d'
copy_names proc stat meminfo uptime
copy proc/self/status '/^Cap/!{/^NoNewPrivs:/!{/^Seccomp:/!d;};}'
copy_names proc/sys/kernel perf_event_paranoid osrelease
copy proc/1/cgroup "
	s/[0-9a-f]\{64\}/$(printf %064d 0)/g
	s/[0-9a-f]\{8\}\([-_]\)[0-9a-f]\{4\}[-_][0-9a-f]\{4\}[-_][0-9a-f]\{4\}[-_][0-9a-f]\{12\}/\
00000000\10000\10000\10000\1000000000000/g"
copy proc/driver/nvidia/version
copy_names sys/devices/system/cpu online possible 'cpu[0-9]*/topology/physical_package_id' \
	'cpu[0-9]*/topology/die_id' 'cpu[0-9]*/topology/core_id'
link sys/class/dmi/id
real sys/class/dmi/id
[ -z "$where" ] || copy_names "$where" sys_vendor product_name

each sys/class/powercap zone
each sys/class/hwmon sensor
each sys/class/drm display
copy sys/class/drm/version
each sys/class/power_supply supply
each sys/bus/event_source/devices events
for entry in "$source"/sys/bus/pci/devices/*; do
	real "${entry#"$source"/}"
	[ -z "$where" ] || function_of_pci "$where"
done

# An empty directory where powercap should be is how a container hides it.
if [ -d "$source/sys/devices/virtual/powercap" ]; then
	mkdir -p "$dest/sys/devices/virtual/powercap"
	rmdir "$dest/sys/devices/virtual/powercap" 2>/dev/null && {
		mkdir "$dest/sys/devices/virtual/powercap"
		: >"$dest/sys/devices/virtual/powercap/.keep"
	}
fi

echo "mkroot.sh: captured into $dest; please look through it before you send it" >&2
