# The part of `run.sh` for Go and C. It is read by run.sh, which gives `check`, `say`, `fail`, `nodesift_dev`, `scratch` and `products`.
#
# A toolchain that is missing is said. With CI set that is a failure for what `.ci` installs: Go.

# Runs the cases of the functions that came with scores in the language $1: unit tests by the command after it, and the built module.
score_facts() {
    local language=$1 project=$scratch/score-facts-$1
    shift
    say "$language: unit tests answer the functions of scores as the host does"
    cp -r "tests/scripts/score_facts/$language" "$project"
    cp tests/scripts/score_facts/cases.yaml "$project/"
    (cd "$project" && "$@" >"$scratch/facts.txt" 2>&1) || { cat "$scratch/facts.txt" >&2; fail "$language: other answers than expected"; }
    "$nodesift_dev" module build "$project" --output "$project/predicate.wasm" >"$scratch/build.txt" 2>&1 \
        || { cat "$scratch/build.txt" >&2; fail "$language: the project is not built"; }
    "$nodesift_dev" module test "$project"
}

# Makes a project of a scorer in the language $1, runs its unit tests by the command after it, builds it, and runs its cases.
scorer() {
    local language=$1 project=$scratch/team-first-$1
    shift
    say "$language: a new project of a scorer"
    "$nodesift_dev" module new --score --lang "$language" "$project" >/dev/null
    (cd "$project" && "$@" >"$scratch/scorer.txt" 2>&1) || { cat "$scratch/scorer.txt" >&2; fail "$language: a test of a new scorer fails"; }
    "$nodesift_dev" module build "$project" --output "$project/predicate.wasm" >"$scratch/build.txt" 2>&1 \
        || { cat "$scratch/build.txt" >&2; fail "$language: the scorer is not built"; }
    "$nodesift_dev" module test "$project"
}

# Go: that of the machine, or the one that `make interop` has installed.
if go=$(.ci/go); then
    PATH=$("$go" env GOROOT)/bin:$PATH
    say 'Go: unit tests of the SDK'
    (
        cd sdk/predicate/go
        unformatted=$(gofmt -l .)
        [ -z "$unformatted" ] || fail "Go: not as gofmt has it: $unformatted"
        go vet ./...
        GOOS=wasip1 GOARCH=wasm go vet . ./facts ./scoring
        go test -count 1 ./...
    ) >"$scratch/go.txt" 2>&1 || { cat "$scratch/go.txt" >&2; fail 'Go: a test of the SDK fails'; }
    project=$scratch/team-isolation-go
    "$nodesift_dev" module new --lang go "$project" >/dev/null
    sed -i 's/TeamIsolationGo/TeamIsolation/' "$project"/*.go
    cp -r predicates/examples/team_isolation_go "$scratch/team_isolation_go"
    (cd "$scratch/team_isolation_go" && go mod edit -replace "github.com/nodesift/nodesift/sdk/predicate/go=$PWD/../sdk-go")
    cp -r sdk/predicate/go "$scratch/sdk-go"
    for name in team-isolation-go team_isolation_go; do
        (cd "$scratch/$name" && test -z "$(gofmt -l ./*.go)" && GOFLAGS=-mod=readonly GOPROXY=off go test -count 1 .) \
            || fail "$name: a test of a new project fails"
        check "$name" "$scratch/$name"
    done
    say 'Go: the same source gives the same bytes in another folder'
    cp -r "$project" "$scratch/elsewhere"
    "$nodesift_dev" module build "$scratch/elsewhere" --output "$scratch/elsewhere.wasm" >/dev/null 2>&1
    cmp "$project/predicate.wasm" "$scratch/elsewhere.wasm" || fail 'Go: other bytes'
    score_facts go env GOFLAGS=-mod=readonly GOPROXY=off go test -count 1 .
    scorer go env GOFLAGS=-mod=readonly GOPROXY=off go test -count 1 .
else
    echo 'the SDK for Go was not tested: Go 1.24 or later is not here: https://go.dev/dl, or make interop, which installs it'
    [ -z "${CI:-}" ] || fail 'CI has to test it'
fi

if command -v make >/dev/null && command -v wasm-ld >/dev/null && clang --print-targets 2>/dev/null | grep -q wasm32; then
    say 'C: unit tests of the SDK'
    cp -r sdk/predicate/c "$scratch/sdk-c"
    env -u MAKEFLAGS -u MAKELEVEL make --silent -C "$scratch/sdk-c/tests" >"$scratch/c.txt" 2>&1 \
        || { cat "$scratch/c.txt" >&2; fail 'C: a test of the SDK fails'; }
    project=$scratch/team-isolation-c
    "$nodesift_dev" module new --lang c "$project" >/dev/null
    sed -i 's/TeamIsolationC/TeamIsolation/' "$project/predicate.c"
    cp -r predicates/examples/team_isolation_c "$scratch/team_isolation_c"
    sed -i 's#^SDK = .*#SDK = ../sdk-c#' "$scratch/team_isolation_c/Makefile"
    for name in team-isolation-c team_isolation_c; do
        env -u MAKEFLAGS -u MAKELEVEL make --silent -C "$scratch/$name" test >"$scratch/c.txt" 2>&1 \
            || { cat "$scratch/c.txt" >&2; fail "$name: a test of a new project fails"; }
        check "$name" "$scratch/$name"
    done
    score_facts c env -u MAKEFLAGS -u MAKELEVEL make --silent test
    scorer c env -u MAKEFLAGS -u MAKELEVEL make --silent test
else
    echo 'the SDK for C was not tested: on Debian, apt-get install clang lld make'
fi
