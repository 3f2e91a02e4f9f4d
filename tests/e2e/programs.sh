#!/usr/bin/env bash
# Builds etcd and kube-apiserver for `make e2e` into the folder given, unless TEST_ASSET_ETCD and TEST_ASSET_KUBE_APISERVER name
# others, as they do for Kubernetes' own test environments; or instead one program that is named; `krew` is of a release of its own. The first time this takes some minutes.
# NODESIFT_KUBERNETES=1.37 builds them of that version, with go.1.37.mod.
set -euo pipefail
mkdir -p "${1:?the folder to build into}"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/go"

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

modules=go${NODESIFT_KUBERNETES:+.$NODESIFT_KUBERNETES}.mod
[ -e "$modules" ] || fail "no $modules beside this: build without NODESIFT_KUBERNETES, or with one of $(echo go.?.*.mod)"

# Builds one program from the module beside this, as go.mod and go.sum name its parts, or those of another version.
build() {
    command -v go >/dev/null || fail "$1 is built with Go, which is not here: install Go 1.26${2:+, or set $2 to a $1}"
    [ -x "$folder/$1" ] || printf 'building %s; the first time this takes some minutes\n' "$1"
    CGO_ENABLED=0 GOFLAGS=-mod=readonly nice go build -modfile="$modules" -trimpath -buildvcs=false \
        -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes" -o "$folder/$1" "./$1"
}

# krew, as its module and Go's checksums have it: what it is made of is older than Kubernetes here, and cannot be in one go.mod with it.
krew() {
    command -v go >/dev/null || fail 'krew is built with Go, which is not here: install Go 1.26'
    [ -x "$folder/krew" ] || GOBIN=$folder CGO_ENABLED=0 nice go install -trimpath sigs.k8s.io/krew/cmd/krew@v0.4.3
}

kubernetes=$(sed -n 's#^\tk8s.io/kubernetes ##p' "$modules")
if [ "$#" -gt 1 ]; then
    if [ "$2" = krew ]; then krew; else build "$2"; fi
    exit
fi
[ -n "${TEST_ASSET_ETCD:-}" ] || build etcd TEST_ASSET_ETCD
[ -n "${TEST_ASSET_KUBE_APISERVER:-}" ] || build kube-apiserver TEST_ASSET_KUBE_APISERVER
