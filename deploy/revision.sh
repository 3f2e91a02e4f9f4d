#!/usr/bin/env bash
# Prints the revision of this tree, for `nodesift --version` and the labels of the image: the commit, with -dirty where there are changes
# that are not committed; unknown without git.
set -euo pipefail
cd "$(dirname "$0")/.."
git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown
