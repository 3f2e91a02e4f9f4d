#!/usr/bin/env bash
# Runs what people are told to run: the lines that `nodesift serve` prints to paste, and the `sh` blocks of README.md,
# beside a sidecar with default settings. `make` lines are left out, for they are what runs this; a block after the
# comment <!-- not run: why --> is left out too. Needs a build first: `make readme`.
set -euo pipefail
cd "$(dirname "$0")/.."

products=${CARGO_TARGET_DIR:-target}/debug
# How long the sidecar may take to be ready: with an empty cache it compiles every predicate.
timeout_seconds=$((60 * ${NODESIFT_TIMEOUT_FACTOR:-1}))

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ -x "$products/nodesift" ] || fail "$products/nodesift is not built: run make readme"
command -v curl >/dev/null || fail 'curl is not here: apt-get install curl'
products=$(cd "$products" && pwd)
export PATH="$products:$PATH"

scratch=$(mktemp -d)
# The sidecar's socket goes here, so that one that runs on this machine is left alone.
export XDG_RUNTIME_DIR=$scratch
: >"$scratch/out"
nodesift serve --sample >>"$scratch/out" 2>"$scratch/err" &
sidecar=$!
# Invoked by the trap below.
# shellcheck disable=SC2317
stop() {
    kill "$sidecar" 2>/dev/null && wait "$sidecar" || true
    rm -rf "$scratch"
}
trap stop EXIT

# The last line that it prints comes after it listens; waits for that or for its end.
deadline=$((SECONDS + timeout_seconds))
until grep -q 'predicates/examples' "$scratch/out"; do
    kill -0 "$sidecar" 2>/dev/null || { cat "$scratch/err" >&2; fail 'the sidecar does not start'; }
    [ "$SECONDS" -lt "$deadline" ] || fail 'the sidecar is not ready in time'
    sleep 0.1
done

# Runs one text in a shell of its own and says so.
run() {
    printf '+ %s\n' "$1"
    if ! bash -euo pipefail -c "$1" >"$scratch/answer" 2>&1; then
        cat "$scratch/answer" >&2
        fail 'what people are told to run fails'
    fi
    # An answer that names an error is one, whatever the exit code of curl.
    if [[ $1 == *curl* ]] && grep -q '"error":{\|"Error":"[^"]' "$scratch/answer"; then
        cat "$scratch/answer" >&2
        fail 'what people are told to run is refused'
    fi
}

printed=0
while IFS= read -r line; do
    run "$line"
    printed=$((printed + 1))
done < <(sed -n -E 's/^ +(curl .*|nodesift explain --server .*)$/\1/p' "$scratch/out")
[ "$printed" -ge 4 ] || fail "the sidecar prints $printed lines to paste, not 4"

blocks=0
if [ -e README.md ]; then
    block= inside=false skip=false
    while IFS= read -r line; do
        if $inside; then
            if [ "$line" = '```' ]; then
                inside=false
                if [ -n "${block//[[:space:]]/}" ]; then
                    run "$block"
                    blocks=$((blocks + 1))
                fi
            elif [[ ! $line =~ ^(make|#) ]]; then
                block+=$line$'\n'
            fi
        elif [[ $line == '<!-- not run:'* ]]; then
            skip=true
        elif [ "$line" = '```sh' ]; then
            if ! $skip; then
                inside=true
                block=
            fi
            skip=false
        fi
    done <README.md
    [ "$blocks" -gt 0 ] || fail 'README.md has no block of commands'
fi
echo "$printed lines that the sidecar prints and $blocks blocks of README.md work"
