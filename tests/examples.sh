#!/usr/bin/env bash
# Tests and builds every project of predicates/examples as its author would: unit tests, `module build`, `module check`, `module test`;
# and what its README says of the sample cluster, where there is a sample.yaml. Prints size and imports, and holds sizes against the bounds
# below. Needs a build first: `make examples`. Names of examples as arguments select them.
#
# A toolchain that is missing is said, and with CI set that is a failure. Unit tests of those in Rust are part of `make test`. Packages for
# scripts come from npm and PyPI into the folder of products, as for tests/scripts; NODESIFT_BINARY and NODESIFT_DEV_BINARY are as there.
set -euo pipefail
cd "$(dirname "$0")/.."

# Upper bounds of modules in bytes, some 15% above the largest example: what exceeds them has pulled in more than it needs.
declare -A largest=([rust]=210000 [go]=3800000 [c]=20000 [js]=2200000 [ts]=2200000 [python]=22000000)

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
products=$(realpath "${CARGO_TARGET_DIR:-target}")
nodesift_dev=${NODESIFT_DEV_BINARY:-$products/debug/nodesift-dev}
nodesift=${NODESIFT_BINARY:-$products/debug/nodesift}
for program in "$nodesift" "$nodesift_dev"; do [ -x "$program" ] || fail "$program is not built: run make examples"; done
mkdir -p "$products/scripts"
venv=$products/scripts/venv
source tests/scripts/node.sh
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_cache=$products/scripts/npm-cache
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a command, whose output matters only where it fails.
quietly() {
    local what=$1
    shift
    "$@" >"$scratch/output.txt" 2>&1 || { cat "$scratch/output.txt" >&2; fail "$what"; }
}

language() {
    case $(cd "$1" && ls) in
        *Cargo.toml*) echo rust ;;
        *go.mod*) echo go ;;
        *tsconfig.json*) echo ts ;;
        *package.json*) echo js ;;
        *pyproject.toml*) echo python ;;
        *Makefile*) echo c ;;
        *) fail "$1 is a project in no known language" ;;
    esac
}

# What is missing for a language; nothing where all is here.
missing() {
    case $1 in
        rust) ;;
        go) .ci/go >/dev/null || echo 'Go 1.24' ;;
        c) { command -v make && command -v wasm-ld && clang --print-targets | grep wasm32; } >/dev/null 2>&1 || echo 'clang, lld and make' ;;
        js | ts) has_node || echo "Node.js $least_node with npm" ;;
        python) [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" >/dev/null 2>&1 || echo 'Python 3.11 with venv' ;;
    esac
}

# The SDK of a language, installed once for all projects in it; then the unit tests of the project in $2.
unit_tests() {
    local language=$1 project=$2
    case $language in
        go) (cd "$project" && go mod edit -replace "github.com/nodesift/nodesift/sdk/predicate/go=$PWD/../sdk-go" &&
            GOFLAGS=-mod=readonly GOPROXY=off go test -count 1 .) ;;
        c)
            sed -i 's#^SDK = .*#SDK = ../sdk-c#' "$project/Makefile"
            env -u MAKEFLAGS -u MAKELEVEL make --silent -C "$project" test ;;
        js | ts)
            # npm packs no symbolic links, and the contract is one.
            if ! [ -d "$scratch/sdk-js" ]; then
                cp -rL sdk/predicate/js "$scratch/sdk-js"
                (cd "$scratch/sdk-js" && npm pack --silent --pack-destination "$scratch")
            fi
            sed -i "s#file:[^\"]*#file:$(echo "$scratch"/nodesift-predicate-*.tgz)#" "$project/package.json"
            (cd "$project" && npm install --silent --no-package-lock && npm test --silent) ;;
        python)
            if ! [ -d "$scratch/sdk-python" ]; then
                cp -rL sdk/predicate/python "$scratch/sdk-python"
                "$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$scratch/sdk-python"
                "$venv/bin/pip" install --quiet --disable-pip-version-check "$scratch/sdk-python[build]" pytest
            fi
            ln -s "$venv" "$project/.venv"
            (cd "$project" && PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest -q -p no:cacheprovider) ;;
    esac
}

# Runs the last command of the README of the project in $1, which asks about a pod in the sample cluster, and looks for each line that the
# README shows of its answer; blanks aside.
sample() {
    local readme=$1/README.md command answer line
    command=$(sed -n 's/^nodesift explain //p' "$readme")
    [ -n "$command" ] || fail "$readme: it does not ask about the sample cluster"
    command=${command//..\/..\/..\//$PWD/}
    answer=$(cd "$1" && xargs "$nodesift" explain <<<"$command" | tr -s ' ')
    sed -n '/^```text$/,/^```$/{/^```/!p}' "$readme" | tr -s ' ' >"$scratch/shown.txt"
    [ -s "$scratch/shown.txt" ] || fail "$readme: it shows no answer"
    while read -r line; do
        grep -qF -- "$line" <<<"$answer" || fail "$readme: this line is not in the answer: $line"$'\n'"$answer"
    done <"$scratch/shown.txt"
}

# Where there is none, each example that needs it says so.
find_node || true
if go=$(.ci/go); then PATH=$("$go" env GOROOT)/bin:$PATH; fi
cp -r sdk/predicate/go "$scratch/sdk-go"
cp -r sdk/predicate/c "$scratch/sdk-c"
[ $# -gt 0 ] || set -- $(cd predicates/examples && ls -d -- */ | tr -d /)
for example in "$@"; do
    source=predicates/examples/$example project=$scratch/$example
    [ -f "$source/cases.yaml" ] && [ -f "$source/policy.yaml" ] || fail "$example: cases.yaml or policy.yaml is not there"
    language=$(language "$source")
    absent=$(missing "$language")
    if [ -n "$absent" ]; then
        echo "$example: not tested, for want of $absent"
        [ -z "${CI:-}" ] || fail 'CI has to test it'
        continue
    fi
    if [ "$language" = rust ]; then
        # A member of the workspace is built where it is.
        mkdir "$project"
        cp "$source"/*.yaml "$source/README.md" "$project"
    else
        cp -r "$source" "$project"
        quietly "$example: a unit test fails" unit_tests "$language" "$project"
        source=$project
    fi
    # As its cases name it: predicate.wasm or accounting.wasm.
    module=$project/$(sed -n 's/^module: //p' "$source/cases.yaml")
    quietly "$example: the project is not built" "$nodesift_dev" module build "$source" --output "$module"
    size=$(stat -c %s "$module")
    printf '%-24s %-7s %9s bytes  %s\n' "$example" "$language" "$size" \
        "$("$nodesift_dev" module inspect "$module" | sed -n 's/^allow *//p')"
    [ "$size" -le "${largest[$language]}" ] || fail "$example: more than the ${largest[$language]} bytes that a module in $language may have"
    quietly "$example: a case fails" "$nodesift_dev" module test "$project"
    quietly "$example: a check fails" "$nodesift_dev" module check "$module"
    [ ! -f "$project/sample.yaml" ] || sample "$project"
done
