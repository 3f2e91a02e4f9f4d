#!/usr/bin/env bash
# run.sh test: the tests of the Go client and of deploy/yunikorn, against the sidecar that is built, and of deploy/migrations. `run.sh race`:
# with the race detector.
# run.sh proto: makes nodesiftv1 from the proto. `run.sh proto-check`: compares it with what the proto makes.
#
# Where there is no Go, it says so; with CI set that is a failure. The modules come from the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

if ! go=$("$root/.ci/go"); then
    echo "Go is not here: nothing was done for the Go client ($1)"
    [ -z "${CI:-}" ] && [ "$1" != proto ] || fail 'Go 1.21 or later is needed: https://go.dev/dl, or make interop, which installs it'
    exit 0
fi
# The plugins are run as tools of Go. Flags are those of `make interop`, so that the two share what is compiled.
PATH=$("$go" env GOROOT)/bin:$PATH
export PATH GOFLAGS=-mod=readonly

generate() {
    (cd generate && CGO_ENABLED=0 go run -trimpath -buildvcs=false . ../../proto "$1" nodesift/v1/nodesift.proto nodesift/v1/negotiation.proto nodesift/v1/why.proto)
}

case ${1:-} in
    test | race)
        products=${CARGO_TARGET_DIR:-target}
        [[ $products = /* ]] || products=$root/$products
        export NODESIFT_BINARY=${NODESIFT_BINARY:-$products/debug/nodesift}
        [ -z "${CI:-}" ] || [ -x "$NODESIFT_BINARY" ] || fail "$NODESIFT_BINARY is not built"
        # Where the suites in Rust keep compiled predicates: else three sidecars would compile them all. What is in it is executed.
        export NODESIFT_TEST_CACHE=$products/tmp
        mkdir -p -m 0700 "$NODESIFT_TEST_CACHE"
        for module in sdk/core/go deploy/yunikorn deploy/migrations; do
            cd "$root/$module"
            unformatted=$(gofmt -l .)
            [ -z "$unformatted" ] || fail "$module: not as gofmt has it: $unformatted"
            # With -v, the tests say what they have compared, from which seed. -count 1: the sidecar may be another one.
            if [ "$1" = race ]; then
                CGO_ENABLED=1 go test -race -trimpath -count 1 -v ./...
            else
                export CGO_ENABLED=0
                go vet -trimpath ./...
                go test -trimpath -vet off -count 1 -v ./... | sed '/^=== RUN/d'
            fi
        done
        ;;
    proto)
        generate ..
        ;;
    proto-check)
        scratch=$(mktemp -d)
        trap 'rm -rf "$scratch"' EXIT
        generate "$scratch"
        diff -ru nodesiftv1 "$scratch/nodesiftv1" || fail 'nodesiftv1 is not what the proto makes: run make proto'
        echo 'nodesiftv1 is what the proto makes'
        ;;
    *) fail 'takes test, race, proto or proto-check' ;;
esac
