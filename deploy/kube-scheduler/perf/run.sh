#!/usr/bin/env bash
# Kubernetes' own benchmark of kube-scheduler, scheduler_perf, by the stock scheduler and by one with the plugin, in turns:
# `make scheduler-perf`. Arguments are flags of main_test.go: -nodes 500,1000 -workloads Basic,Affinity -rounds 5.
#
# NODESIFT_BINARY names another sidecar, NODESIFT_E2E another folder with etcd, TEST_ASSET_ETCD another etcd.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

command -v go >/dev/null || fail 'kube-scheduler is built with Go, which is not here: install Go 1.26'
products=${CARGO_TARGET_DIR:-target}
[[ $products = /* ]] || products=$root/$products
export NODESIFT_BINARY=${NODESIFT_BINARY:-$products/release/nodesift}
[ -x "$NODESIFT_BINARY" ] || fail "$NODESIFT_BINARY is not built"
etcd=${TEST_ASSET_ETCD:-${NODESIFT_E2E:-$products/e2e}/etcd}
[ -x "$etcd" ] || fail "$etcd is not built"
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -mod=readonly"

kubernetes=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
if [ -z "$kubernetes" ]; then
    go mod download k8s.io/kubernetes
    kubernetes=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)
fi
export NODESIFT_SCHEDULER_PERF=$kubernetes/test/integration/scheduler_perf
# Kubernetes' test server looks for its certificates beside its source, and is told by Bazel's variables where that is: a build with
# -trimpath, which shares what `make e2e-scheduler` has compiled, does not know.
export TEST_SRCDIR=${kubernetes%/k8s.io/kubernetes@*} TEST_WORKSPACE=.
mkdir -p "$products/scheduler-perf/path"
[ -x "$products/scheduler-perf/perf.test" ] || echo 'building kube-scheduler and kube-apiserver; the first time this takes some minutes'
go test -c -trimpath -vet off -o "$products/scheduler-perf/perf.test" .
# scheduler_perf looks for a program of this name.
ln -sf "$(realpath "$etcd")" "$products/scheduler-perf/path/etcd"
export PATH=$products/scheduler-perf/path:$PATH
exec "$products/scheduler-perf/perf.test" -test.run '^TestTurns$' -test.v -test.timeout 24h -keep "$products/scheduler-perf/runs" "$@"
