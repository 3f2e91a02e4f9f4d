#!/usr/bin/env bash
# Builds programs as they are shipped, into target/shipped: with jemalloc, without symbols, debug information and paths of this machine.
# Arguments name them; without any it is `nodesift` alone, which is all that the image has. The page of the explorer is in it, which needs Node. The symbols of each are in PROGRAM.debug. gdb,
# perf and the program's own backtraces find that file where it is in the program's folder.
# `CARGO_PROFILE_DIST_DEBUG=line-tables-only` adds lines to it. `NODESIFT_REVISION` is what the program names in --version.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v objcopy >/dev/null || { echo 'error: symbols are split off with objcopy, which is not here: apt-get install binutils' >&2; exit 1; }
export RUSTFLAGS="--cfg nodesift_shipped --remap-path-prefix=$PWD=/nodesift --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo ${RUSTFLAGS:-}"
export NODESIFT_REVISION=${NODESIFT_REVISION:-$(deploy/revision.sh)}
[ "$NODESIFT_REVISION" != unknown ] || unset NODESIFT_REVISION
target=${CARGO_TARGET_DIR:-target}
.ci/explorer
rm -rf "$target/shipped"
mkdir -p "$target/shipped"
[ $# -gt 0 ] || set -- nodesift
for program in "$@"; do
    # One by one: what one program needs is no reason for the other to have it.
    ${CARGO:-cargo} build -p "$program" --locked --profile dist --features jemalloc
    objcopy --only-keep-debug "$target/dist/$program" "$target/shipped/$program.debug"
    # The link is the file's name and checksum.
    (cd "$target/shipped" && objcopy --strip-all --add-gnu-debuglink="$program.debug" "../dist/$program" "$program")
    chmod 0644 "$target/shipped/$program.debug"
done
