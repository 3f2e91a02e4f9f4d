#!/usr/bin/env bash
# Prints the manifest for krew of an archive with the programs: `manifest.sh VERSION MACHINE ARCHIVE`, with MACHINE as `uname -m` has it.
# To try it, `kubectl krew install --manifest=nodesift.yaml --archive=ARCHIVE`.
set -euo pipefail

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ $# -eq 3 ] || fail 'usage: manifest.sh VERSION MACHINE ARCHIVE'
version=$1 machine=$2 archive=$3
case $machine in
    x86_64) arch=amd64 ;;
    aarch64) arch=arm64 ;;
    *) fail "krew has no name for the processor $machine" ;;
esac
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "$version is no semantic version"
sha256=$(sha256sum <"$archive" | cut -d' ' -f1)
# The comment is about the template.
sed -e '/^#/d' -e "s/VERSION/$version/g" -e "s/MACHINE/$machine/g" -e "s/ARCH/$arch/g" -e "s/SHA256/$sha256/g" \
    "$(dirname "$0")/nodesift.yaml"
