#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tools/systemd-check.sh WATTLE
# Starts both units under a real systemd, with the command WATTLE: process 1 of namespaces of its own, on this machine's files with a
# layer above that is thrown away. As root. 77, and a line that says why, where that is not possible. What it prints and leaves
# undone is a fault otherwise.
set -eu

wattle=$(realpath "$1")
units=$(realpath "$(dirname "$0")/../packaging/systemd")
systemd=/lib/systemd/systemd

skip() {
	echo "systemd-check: skipped: $*" >&2
	exit 77
}
fail() {
	echo "systemd-check: $*" >&2
	exit 1
}

# ---- Process 1 of the namespaces ----

# What systemd sees: no units but those that are asked for, and nothing of the kernel that it could set.
begin_systemd() {
	layer=$SYSTEMD_CHECK
	mount -t tmpfs tmpfs "$layer"
	mkdir "$layer/upper" "$layer/work" "$layer/root"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
	cd "$layer/root"
	rm -rf etc/systemd/system usr/lib/systemd/system/*.wants etc/fstab
	mkdir -p etc/systemd/system old
	printf '[Unit]\nDescription=Nothing\nDefaultDependencies=no\n' >etc/systemd/system/nothing.target
	for half in reader exporter; do
		sed 's,@bindir@,/usr/bin,' "$units/wattle-$half.service.in" >"etc/systemd/system/wattle-$half.service"
		mkdir "etc/systemd/system/wattle-$half.service.d"
		printf '[Service]\nStandardError=append:/tmp/%s.log\n' "$half" >"etc/systemd/system/wattle-$half.service.d/log.conf"
	done
	cp "$units/wattle.sysusers" usr/lib/sysusers.d/wattle.conf
	cp "$units/wattle.tmpfiles" usr/lib/tmpfiles.d/wattle.conf
	rm -f usr/bin/wattle
	cp "$wattle" usr/bin/wattle
	ip link set lo up 2>/dev/null || :
	mount -t proc proc proc
	mount -o bind,ro proc/sys proc/sys
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount --rbind /dev dev
	mount -t tmpfs tmpfs dev/shm # systemd cleans there
	mount -t tmpfs tmpfs run
	mount -t tmpfs tmpfs tmp
	pivot_root . old
	umount -l /old
	exec env -i container=wattle-check PATH=/usr/sbin:/usr/bin:/sbin:/bin $systemd --unit=nothing.target --show-status=no \
		--log-target=null </dev/null
}

if [ "${SYSTEMD_CHECK-}" ]; then
	begin_systemd
fi

# ---- This machine's side ----

[ "$(id -u)" = 0 ] || skip "only root can"
[ -x $systemd ] || skip "there is no $systemd"
tree=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
[ "$tree" ] || skip "no cgroup2 is mounted"
own=$tree/wattle-check.$$
mkdir "$own" 2>/dev/null || skip "$tree cannot be written"
layer=$(mktemp -d)
first=
end() {
	[ -z "$first" ] || kill -KILL "$first" 2>/dev/null || :
	i=0
	while [ $i -lt 50 ] && ! find "$own" -depth -type d -exec rmdir {} + 2>/dev/null; do
		echo 1 >"$own/cgroup.kill" 2>/dev/null || :
		sleep 0.1
		i=$((i + 1))
	done
	rmdir "$layer"
}
trap end EXIT
trap 'exit 1' INT TERM
unshare --mount --pid --cgroup --ipc --uts --net --fork true 2>/dev/null || skip "no namespaces can be made"

# The namespace of control groups begins where the process is that makes it.
sh -c "echo \$\$ >'$own/cgroup.procs' && SYSTEMD_CHECK='$layer' exec unshare --mount --pid --cgroup --ipc --uts --net --fork --kill-child \
	--propagation private '$0' '$wattle'" >/dev/null &
first=$!

# "wait_for WHAT COMMAND…": twenty seconds at most.
wait_for() {
	what=$1
	shift
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "waited in vain for $what"
		sleep 0.1
	done
}
process_1() { one=$(cat "/proc/$first/task/$first/children") && [ "$one" ] && one=${one% }; }
inside() { timeout -k 1 20 nsenter -t "$one" -a "$@"; }
is_up() { inside systemctl is-system-running; }
tell_of() { inside systemctl show -P "$2" "wattle-$1"; }
logs() { inside sh -c 'tail -n 5 /tmp/*.log' >&2 || :; }
has_metrics() { inside curl -sf -o /tmp/metrics http://127.0.0.1:9177/metrics && inside grep -q '^wattle_' /tmp/metrics; }
is_another() { now=$(tell_of reader MainPID) && [ "$now" != 0 ] && [ "$now" != "$reader" ] && [ "$(tell_of reader ActiveState)" = active ]; }

wait_for "process 1" process_1
wait_for "systemd" is_up
inside systemd-sysusers wattle.conf 2>/dev/null
inside systemd-tmpfiles --create wattle.conf
inside systemctl start wattle-exporter || { logs; fail "the units do not start"; }
for half in reader exporter; do
	[ "$(tell_of $half ActiveState)" = active ] || { logs; fail "wattle-$half is $(tell_of $half ActiveState)"; }
done
wait_for "metrics" has_metrics || { logs; exit 1; }
echo "metrics: $(inside grep -c '^wattle_' /tmp/metrics) samples"

reader=$(tell_of reader MainPID)
exporter=$(tell_of exporter MainPID)
rights() { inside sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
[ "$(inside stat -c '%a %U %G' /run/wattle/agent/serve.sock)" = "660 wattle wattle" ] || fail "the socket is not the group's"
[ "$(rights "$reader" CapEff)" = 0000004000001000 ] || fail "the reader has the rights $(rights "$reader" CapEff)"
[ "$(rights "$exporter" CapEff)" = 0000000000000000 ] || fail "the exporter has the rights $(rights "$exporter" CapEff)"
for pid in "$reader" "$exporter"; do
	[ "$(rights "$pid" NoNewPrivs) $(rights "$pid" Seccomp)" = "1 2" ] || fail "process $pid may gain rights"
done
echo "rights: as the units say"

inside kill -KILL "$reader"
wait_for "the reader's return" is_another
wait_for "the exporter to hear it" inside grep -q 'answers again' /tmp/exporter.log
inside rm /tmp/metrics
wait_for "metrics of the new reader" has_metrics
echo "killed: process $now reads instead of $reader"

# The drop-in of docs/share.md; the group is the administrator's.
sed -n '/^ExecStart=$/,/^```/p' "$units/../../docs/share.md" | sed '1i [Service]' | sed '/^```/d' >"/proc/$one/root/tmp/limit.conf"
inside sh -c 'groupadd --system wattle-limit && mv /tmp/limit.conf /etc/systemd/system/wattle-reader.service.d/ && systemctl daemon-reload'
inside systemctl restart wattle-reader || { logs; fail "the reader does not start with the drop-in"; }
reader=$(tell_of reader MainPID)
[ "$(rights "$reader" CapEff)" = 0000004000201000 ] || fail "with the drop-in the reader has the rights $(rights "$reader" CapEff)"
inside grep -q -e --limit-group "/proc/$reader/cmdline" || fail "the drop-in's command is not what runs"
echo "limits: the drop-in works"

inside systemctl stop wattle-exporter wattle-reader
for half in reader exporter; do
	[ "$(tell_of $half Result)" = success ] || { logs; fail "wattle-$half ended with $(tell_of $half Result)"; }
done
inside sh -c '[ ! -e /run/wattle/agent ] && [ -d /var/lib/wattle-serve/serve ]' || fail "the socket's folder stays, or the store does not"
echo "stopped: the store stays"
