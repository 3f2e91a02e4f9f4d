#!/usr/bin/env bash
# Builds the image as an OCI archive: image.sh BINARY ARCHIVE. Needs buildah (`apt-get install buildah`), and no root.
#
# The image is for the processor of this machine. For several, run it on one machine of each, and join the archives:
#   buildah manifest create nodesift
#   buildah manifest add nodesift oci-archive:nodesift-amd64.tar
#   buildah manifest add nodesift oci-archive:nodesift-arm64.tar
#   buildah manifest push --all nodesift docker://REGISTRY/nodesift:VERSION
set -euo pipefail

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ $# -eq 2 ] || fail 'usage: image.sh BINARY ARCHIVE'
here=$(cd "$(dirname "$0")" && pwd)
binary=$1 archive=$2
command -v buildah >/dev/null || fail 'the image is built with buildah, which is not here: apt-get install buildah'

explorer=$("$binary" version -o json)
grep -q '"explorer": *true' <<<"$explorer" || fail "$binary has no page of the explorer: build it with make image"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$here/../Cargo.toml")
[ -n "$version" ] || fail 'Cargo.toml names no version'
# Two builds of one commit make the same image: its time is that of the commit.
revision=$("$here/revision.sh")
time=$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$here/rootfs.sh" "$binary" "$scratch/root"

# Nothing runs in the image as it is built, and files are only copied, so neither a daemon nor an overlay file system is needed.
export STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
tag=ghcr.io/nodesift/nodesift:$version
buildah build --isolation chroot --timestamp "$time" --file "$here/Containerfile" --tag "$tag" \
    --label "org.opencontainers.image.title=nodesift" \
    --label "org.opencontainers.image.version=$version" \
    --label "org.opencontainers.image.revision=$revision" \
    --label "org.opencontainers.image.source=https://github.com/nodesift/nodesift" \
    --label "org.opencontainers.image.licenses=Apache-2.0" \
    "$scratch/root"
mkdir -p "$(dirname "$archive")"
rm -f "$archive"
buildah push "$tag" "oci-archive:$archive:$tag"
printf '%s: %s\n' "$archive" "$tag"
