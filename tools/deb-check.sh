#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tools/deb-check.sh PACKAGES WORK | --can
# Installs the Debian packages in the directory PACKAGES in a new Debian 12 below WORK, starts what is in them, upgrades, purges,
# and looks at what is left. As root. The base system and what apt downloads are kept in WORK, for the next time.
# Status 77: there is no such base system to be had here. --can: may this user do it at all?
set -eu

if [ "$1" = --can ]; then
	[ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true 2>/dev/null && exit 0
	echo "deb-check: skipped: it takes root, and namespaces of its own"
	exit 1
fi

# Mounts and processes go with the namespaces, however this ends.
[ "${DEB_CHECK_INSIDE-}" ] || DEB_CHECK_INSIDE=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"

packages=$(realpath "$1")
work=$(realpath "$2")
root=$work/root
tests=$(realpath "$(dirname "$0")/../debian/tests/installed")
ours='wattle libwattle0 libwattle-recording0 libwattle-dev libwattle-recording-dev'

say() { printf '\n--- %s: %s ---\n' "$(date +%T)" "$*"; }
cannot() {
	echo "deb-check: skipped: $*"
	exit 77
}
fail() {
	echo "deb-check: $*" >&2
	exit 1
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
apt() { inside apt-get -q -y --no-install-recommends "$@"; }
install() {
	inside sh -c "apt-get -q -y --no-install-recommends install $1" >"$work/apt.log" 2>&1 || {
		cat "$work/apt.log" >&2
		fail "apt-get install $1 failed"
	}
}
# What dpkg and apt note is theirs; nobody's groups are removed, as Debian's policy says.
files() {
	(cd "$root" && find . -xdev -path ./debs -prune -o -path ./proc -prune -o -path ./var/cache -prune -o -path ./var/log -prune \
		-o -path ./var/lib/dpkg -prune -o -path ./var/lib/apt -prune -o -print) | LC_ALL=C sort
}

# With what its packages are tried with. systemd does not run here. It leaves much behind when it is purged, so it stays.
if [ ! -f "$work/base.tar" ]; then
	say "a new Debian 12"
	mmdebstrap --variant=minbase --format=tar --skip=cleanup/apt/lists --dpkgopt=force-unsafe-io \
		--aptopt='Acquire::Languages "none"' --include=gcc,libc6-dev,pkg-config,libcairo2,libexpat1,libmicrohttpd12,systemd \
		bookworm "$work/base.tar.part" >"$work/mmdebstrap.log" 2>&1 || {
		tail -n 20 "$work/mmdebstrap.log" >&2
		cannot "mmdebstrap failed"
	}
	mv "$work/base.tar.part" "$work/base.tar"
fi
rm -rf --one-file-system "$root"
mkdir -p "$root/debs/new" "$work/archives"
tar -C "$root" -xf "$work/base.tar"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount --bind "$work/archives" "$root/var/cache/apt/archives"
cp "$packages"/*wattle*.deb "$root/debs"
rm -f "$root"/debs/*-dbgsym_*

say "a higher version of the same"
for deb in "$root"/debs/*.deb; do
	rm -rf "$work/repack"
	dpkg-deb -R "$deb" "$work/repack"
	version=$(dpkg-deb -f "$deb" Version)
	sed -i "s/^Version: .*/&+next/; s/(= $version)/(= $version+next)/g" "$work/repack/DEBIAN/control"
	dpkg-deb -Znone -b "$work/repack" "$root/debs/new" >/dev/null
done
rm -rf "$work/repack"

say "install"
apt update >/dev/null || cannot "apt-get update failed"
inside sh -c 'dpkg-query -W -f "\${Package}\n" | sort >/debs/before'
files >"$work/files-before"
install '/debs/*.deb'

say "start"
mkdir "$root/debs/tests"
cp "$tests" "$root/debs/installed"
inside env AUTOPKGTEST_TMP=/debs/tests /debs/installed </dev/null
inside getent group wattle
[ "$(inside getent group wattle | cut -d: -f4)" = "" ] || fail "the group wattle has members"
inside getent passwd wattle
[ "$(stat -c '%a %U %G' "$root/run/wattle")" = "755 root root" ] || fail "/run/wattle is not as tmpfiles.d says"
inside systemd-tmpfiles --create wattle.conf

say "upgrade"
install '/debs/new/*.deb'
for package in $ours; do
	case $(inside dpkg-query -W -f '${db:Status-Status} ${Version}' "$package") in
	"installed "*+next) ;;
	*) fail "$package is not upgraded" ;;
	esac
done
inside wattle --version
inside sh -c 'mkdir /var/lib/wattle && : >/var/lib/wattle/idle' # root's idle power, were there any to learn

say "remove and purge"
# shellcheck disable=SC2086 # a list
inside dpkg --remove $ours >/dev/null
inside sh -c '! command -v wattle'
# shellcheck disable=SC2086
inside dpkg --purge $ours >/dev/null 2>&1
inside sh -c 'dpkg-query -W -f "\${Package}\n" | sort | comm -13 /debs/before - | xargs apt-get -q -y purge' >/dev/null 2>&1
files >"$work/files-after"
LC_ALL=C comm -13 "$work/files-before" "$work/files-after" >"$work/files-left"
if grep -q . "$work/files-left"; then
	cat "$work/files-left" >&2
	fail "the packages are purged, and this is left"
fi
umount "$root/proc" "$root/var/cache/apt/archives"
rm -rf --one-file-system "$root"
say "all is well"
