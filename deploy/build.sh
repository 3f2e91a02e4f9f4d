#!/usr/bin/env bash
# Builds the program as it is shipped, into target/dist: with jemalloc, without debug information and paths of this machine.
# `NODESIFT_REVISION` is what it names in --version.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg nodesift_shipped --remap-path-prefix=$PWD=/nodesift --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo ${RUSTFLAGS:-}"
export NODESIFT_REVISION=${NODESIFT_REVISION:-$(deploy/revision.sh)}
[ "$NODESIFT_REVISION" != unknown ] || unset NODESIFT_REVISION
${CARGO:-cargo} build -p nodesift --locked --profile dist --features jemalloc
