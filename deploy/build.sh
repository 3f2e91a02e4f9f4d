#!/usr/bin/env bash
# Builds the program as it is shipped, target/shipped/nodesift: with jemalloc, without symbols, debug information and paths of this machine.
# Its symbols are in nodesift.debug. gdb, perf and the program's own backtraces find that file where it is in the program's folder.
# `CARGO_PROFILE_DIST_DEBUG=line-tables-only` adds lines to it. `NODESIFT_REVISION` is what the program names in --version.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v objcopy >/dev/null || { echo 'error: symbols are split off with objcopy, which is not here: apt-get install binutils' >&2; exit 1; }
export RUSTFLAGS="--cfg nodesift_shipped --remap-path-prefix=$PWD=/nodesift --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo ${RUSTFLAGS:-}"
export NODESIFT_REVISION=${NODESIFT_REVISION:-$(deploy/revision.sh)}
[ "$NODESIFT_REVISION" != unknown ] || unset NODESIFT_REVISION
${CARGO:-cargo} build -p nodesift --locked --profile dist --features jemalloc

target=${CARGO_TARGET_DIR:-target}
rm -rf "$target/shipped"
mkdir "$target/shipped"
objcopy --only-keep-debug "$target/dist/nodesift" "$target/shipped/nodesift.debug"
# The link is the file's name and checksum.
(cd "$target/shipped" && objcopy --strip-all --add-gnu-debuglink=nodesift.debug ../dist/nodesift nodesift)
chmod 0644 "$target/shipped/nodesift.debug"
