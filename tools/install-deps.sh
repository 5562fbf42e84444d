#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tools/install-deps.sh run|test|fuzz|deb
# Installs from Debian's packages what building (run), testing (test), fuzzing (fuzz) or Debian's packages (deb) need and is not there yet.
set -eu

run='gcc libc6-dev make meson ninja-build pkg-config python3 libcairo2-dev libdw-dev libelf-dev libexpat1-dev libjansson-dev libncurses-dev libsqlite3-dev libzstd-dev libjs-dygraphs libmicrohttpd-dev libgnutls28-dev libyaml-dev zlib1g-dev libcurl4-gnutls-dev libsnappy-dev'
test="$run abigail-tools ccache g++ clang-14 libclang-rt-14-dev clang-format-14 binutils libcmocka-dev pmccabe python3-pytest python3-pytest-rerunfailures python3-pytest-xdist python3-torch python3-venv python3-yaml graphviz groff libonnx-testdata man-db libcap2-bin tmux zsh fish qpdf chromium prometheus victoria-metrics influxdb openssl libdevel-nytprof-perl valgrind"
fuzz="$run clang-14 libclang-rt-14-dev"
deb="$run debhelper dpkg-dev fakeroot git lintian mmdebstrap"

case ${1-} in
run) wanted=$run ;;
test) wanted=$test ;;
fuzz) wanted=$fuzz ;;
deb) wanted=$deb ;;
*)
	echo "usage: $0 run|test|fuzz|deb" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "$0: not a Debian system; these packages or their like are needed: $wanted" >&2
	exit 0
fi

missing=
for package in $wanted; do
	state=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)
	case $state in
	installed*) ;;
	*) missing="$missing $package" ;;
	esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "$0: as root, run: apt-get install$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "installing:$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086 # the list is meant to be split
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
