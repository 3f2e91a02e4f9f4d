#!/usr/bin/env bash
# Runs kube-scheduler with the plugin beside the stock one: `make e2e-scheduler`. With numbers of nodes, such as 1000,5000, it
# measures both on clusters of these sizes instead; that wants a quiet machine. With `negotiation`, pods with external parties are
# placed by the programs alone: `make e2e-negotiation`. With `accounting`, so are machines that take what their annotations say:
# `make e2e-accounting`.
#
# NODESIFT_KUBERNETES=1.35 builds kube-scheduler of that version. NODESIFT_BINARY names another sidecar, NODESIFT_DEV_BINARY another nodesift-dev than that beside it, NODESIFT_E2E another folder with etcd and kube-apiserver.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(cd ../.. && pwd)

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null || fail 'kube-scheduler is built with Go, which is not here: install Go 1.26'
products=${CARGO_TARGET_DIR:-target}
[[ $products = /* ]] || products=$root/$products
export NODESIFT_BINARY=${NODESIFT_BINARY:-$products/release/nodesift} NODESIFT_E2E=${NODESIFT_E2E:-$products/e2e}
version=${NODESIFT_KUBERNETES:-1.36}
modules=()
[ "$version" = 1.36 ] || modules=(-modfile="go.$version.mod" -tags "kubernetes_${version/./_}")
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -mod=readonly"
[ -x "$NODESIFT_BINARY" ] || fail "$NODESIFT_BINARY is not built"

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "not as gofmt has it: $unformatted"
if [ -n "${1:-}" ] && [ "$1" != negotiation ] && [ "$1" != accounting ]; then
    NODESIFT_SPEED=$1 exec go test "${modules[@]}" -trimpath -vet off -count 1 -timeout 1h -v -run Speed ./e2e
fi
mkdir -p "$NODESIFT_E2E"
export NODESIFT_SCHEDULER=$NODESIFT_E2E/kube-scheduler-$version
[ -x "$NODESIFT_SCHEDULER" ] || echo 'building kube-scheduler; the first time this takes some minutes'
go vet "${modules[@]}" -trimpath ./...
go build "${modules[@]}" -trimpath -buildvcs=false -o "$NODESIFT_SCHEDULER" ./cmd/kube-scheduler
if [ "${1:-}" = negotiation ]; then
    NODESIFT_SEATS=1 exec go test "${modules[@]}" -trimpath -vet off -count 1 -timeout 1h -v -run Seats ./e2e
fi
if [ "${1:-}" = accounting ]; then
    nodesift_dev=${NODESIFT_DEV_BINARY:-$(dirname "$NODESIFT_BINARY")/nodesift-dev}
    [ -x "$nodesift_dev" ] || fail "$nodesift_dev is not built"
    export NODESIFT_ACCOUNTING=$NODESIFT_E2E/accounting NODESIFT_MIGRATIONS=$NODESIFT_E2E/migrations
    mkdir -p "$NODESIFT_ACCOUNTING"
    "$nodesift_dev" module build "$root/predicates/examples/neon" --output "$NODESIFT_ACCOUNTING/accounting.wasm"
    "$nodesift_dev" module build "$root/predicates/examples/neon_fit" --output "$NODESIFT_ACCOUNTING/neon_fit.wasm"
    (cd ../migrations && go build -trimpath -buildvcs=false -o "$NODESIFT_MIGRATIONS" .)
    exec go test "${modules[@]}" -trimpath -vet off -count 1 -timeout 1h -v -run 'TestAccounting$' ./e2e
fi
# A package at a time: both run programs that want the processors.
go test "${modules[@]}" -trimpath -vet off -count 1 -timeout 30m -p 1 -v ./plugin ./e2e | sed '/^=== RUN/d'
