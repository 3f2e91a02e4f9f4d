#!/usr/bin/env bash
# Tests the SDKs for Go, C, JavaScript, TypeScript and Python as their authors use them: unit tests of each SDK, its packed form, and a
# project outside of the workspace that `module new` makes, installs the packed form, tests and builds. The verdicts of every built module
# must be those of the same predicate in Rust. Needs a build first: `make scripts`. `run.sh native`: only Go and C, which need no network.
#
# Packages come from npm and PyPI in the versions that the templates name, into the folder of products; so does Node.js where the
# machine has none. Without Python scripts are not run: it says so, and with CI set that is a failure.
#
# NODESIFT_BINARY and NODESIFT_DEV_BINARY name other programs than those of the dev profile, which compile a module of Python for some 30 s.
set -euo pipefail
cd "$(dirname "$0")/../.."

products=${CARGO_TARGET_DIR:-target}

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
say() { printf '%6s s  %s\n' "$SECONDS" "$*"; }

nodesift=${NODESIFT_BINARY:-$products/debug/nodesift}
nodesift_dev=${NODESIFT_DEV_BINARY:-$products/debug/nodesift-dev}
guest=$products/debug/nodesift-guest
for program in "$nodesift" "$nodesift_dev" "$guest"; do [ -x "$program" ] || fail "$program is not built: run make scripts"; done
mkdir -p "$products/scripts"
nodesift=$(realpath "$nodesift") nodesift_dev=$(realpath "$nodesift_dev") guest=$(realpath "$guest") products=$(realpath "$products/scripts")

# Projects are made where no folder above them is one of this workspace.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Unit tests of cases ask it for them.
export NODESIFT_DEV=$nodesift_dev
cp -r sdk/predicate/cases "$scratch/cases"

say 'the same predicate in Rust'
"$guest" build predicates/examples/team_isolation --output "$scratch/rust.wasm" >/dev/null

# The verdicts of a module about every pod of the cluster, in which pods of several teams wait.
verdicts() {
    cat >"$scratch/policy.yaml" <<END
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
metadata: {name: test}
spec:
  schedulerNames: [default-scheduler]
  predicates:
  - name: TeamIsolation
    module: {path: $1}
    args: {label: example.com/team}
    allow: [node-labels, pod-labels]
END
    "$nodesift" explain --cluster tests/scripts/cluster.yaml --policy "$scratch/policy.yaml" --output json
}
verdicts "$scratch/rust.wasm" >"$scratch/rust.json"
grep -q "belong to the pod's team" "$scratch/rust.json" || fail 'the cluster has no node that is rejected: nothing would be compared'

# Tests and builds the project in $1 as its author would, and compares its verdicts.
check() {
    local name=$1 project=$2 imports
    say "$name: build"
    "$nodesift_dev" module build "$project" --output "$project/predicate.wasm" >"$scratch/build.txt" 2>&1 \
        || { cat "$scratch/build.txt" >&2; fail "$name: the project is not built"; }
    imports=$("$nodesift_dev" module inspect "$project/predicate.wasm" | sed -n 's/^allow *//p')
    say "$name: imports $imports"
    verdicts "$project/predicate.wasm" >"$scratch/$name.json"
    diff "$scratch/rust.json" "$scratch/$name.json" || fail "$name: other verdicts than in Rust"
    "$nodesift_dev" module test "$project"
}

source tests/scripts/native.sh
[ "${1:-}" != native ] || exit 0

venv=$products/venv
if [ ! -x "$venv/bin/pip" ] && ! python3 -m venv "$venv" >"$products/venv.log" 2>&1; then
    echo 'no SDK for scripts was tested: python3 has no venv here; on Debian: apt-get install python3-venv'
    [ -z "${CI:-}" ] || fail 'CI has to test them'
    exit 0
fi
quiet_pip=(--quiet --disable-pip-version-check)
source tests/scripts/node.sh
find_node || fail "there is no Node.js $least_node, and PyPI gives none"
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_cache=$products/npm-cache

say 'JavaScript: unit tests of the SDK'
(cd sdk/predicate/js && node --test tests/*.test.js >"$scratch/node.txt") || { cat "$scratch/node.txt" >&2; fail 'a test fails'; }
grep -E '^# (pass|fail)' "$scratch/node.txt"
# npm packs no symbolic links, and the contract is one.
cp -rL sdk/predicate/js "$scratch/sdk-js"
(cd "$scratch/sdk-js" && npm pack --silent --pack-destination "$scratch" >/dev/null)
package=$(echo "$scratch"/nodesift-predicate-*.tgz)
for language in js ts; do
    project=$scratch/team-isolation-$language
    "$nodesift_dev" module new --lang "$language" --sdk "$package" "$project" >/dev/null
    (cd "$project" && npm install --silent --no-package-lock && npm test --silent >"$scratch/node.txt") \
        || { cat "$scratch/node.txt" >&2; fail "$language: a test of a new project fails"; }
    sed -i 's/TeamIsolation\(Js\|Ts\)/TeamIsolation/' "$project/src/predicate.$language"
    check "$language" "$project"
done
# Builds the new project of a scorer in $1, whose cases have the scores that the sandbox must give.
scores() {
    "$nodesift_dev" module build "$1" --output "$1/predicate.wasm" >"$scratch/build.txt" 2>&1 \
        || { cat "$scratch/build.txt" >&2; fail "$1: the scorer is not built"; }
    "$nodesift_dev" module test "$1"
}
for language in js ts; do
    say "$language: a new project of a scorer"
    project=$scratch/team-first-$language
    "$nodesift_dev" module new --score --lang "$language" --sdk "$package" "$project" >/dev/null
    (cd "$project" && npm install --silent --no-package-lock && npm test --silent >"$scratch/node.txt") \
        || { cat "$scratch/node.txt" >&2; fail "$language: a test of a new scorer fails"; }
    scores "$project"
done
# What the sandbox lacks, and what goes wrong: a case for each.
cells() {
    local language=$1 project=$2
    cp tests/suites/authors/cells/"$language"/cases.yaml "$project/"
    rm -f "$project/policy.yaml"
    say "$language: what the sandbox lacks"
    "$nodesift_dev" module build "$project" --output "$project/predicate.wasm" >"$scratch/build.txt" 2>&1 \
        || { cat "$scratch/build.txt" >&2; fail "$language: the cells are not built"; }
    "$nodesift_dev" module test "$project"
}
cp tests/suites/authors/cells/ts/predicate.ts "$scratch/team-isolation-ts/src/"
cells ts "$scratch/team-isolation-ts"
# The examples have what a new project has installed.
for example in team_isolation_js team_isolation_ts images_present; do
    project=$scratch/$example
    cp -r "predicates/examples/$example" "$project"
    sed -i "s#file:[^\"]*#file:$package#" "$project/package.json"
    (cd "$project" && npm install --silent --no-package-lock && npm test --silent >"$scratch/node.txt") \
        || { cat "$scratch/node.txt" >&2; fail "$example: a test fails"; }
    case $example in
        team_*) check "$example" "$project" ;;
        *) "$nodesift_dev" module build "$project" --output "$project/predicate.wasm" >/dev/null 2>&1 && "$nodesift_dev" module test "$project" ;;
    esac
done

say 'JavaScript: unit tests answer every function as the host does'
cp -r tests/scripts/facts "$scratch/facts"
sed -i "s#file:[^\"]*#file:$package#" "$scratch/facts/package.json"
(cd "$scratch/facts" && npm install --silent --no-package-lock && node cases.mjs)
"$nodesift_dev" module build "$scratch/facts" --output "$scratch/facts/predicate.wasm" >/dev/null 2>&1 && "$nodesift_dev" module test "$scratch/facts"

say 'Python: unit tests of the SDK, from its wheel'
cp -rL sdk/predicate/python "$scratch/sdk-python"
"$venv/bin/pip" wheel "${quiet_pip[@]}" --no-deps --wheel-dir "$scratch" "$scratch/sdk-python"
wheel=$(echo "$scratch"/nodesift_predicate-*.whl)
"$venv/bin/pip" install "${quiet_pip[@]}" --force-reinstall --no-deps "$wheel"
"$venv/bin/pip" install "${quiet_pip[@]}" "$wheel[build]" pytest
pytest() { (cd "$1" && PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -q -p no:cacheprovider); }
pytest "$scratch/sdk-python"
say 'Python: unit tests answer every function as those of JavaScript, and so as the host'
pytest "$scratch/facts"
"$nodesift_dev" module new --lang python --sdk "$wheel" "$scratch/team-isolation-python" >/dev/null
sed -i 's/TeamIsolationPython/TeamIsolation/' "$scratch/team-isolation-python/predicate.py"
say 'Python: a new project of a scorer'
"$nodesift_dev" module new --score --lang python --sdk "$wheel" "$scratch/team-first-python" >/dev/null
ln -s "$venv" "$scratch/team-first-python/.venv"
pytest "$scratch/team-first-python"
scores "$scratch/team-first-python"
for example in team_isolation_python data_locality; do cp -r "predicates/examples/$example" "$scratch/$example"; done
for project in team-isolation-python team_isolation_python data_locality; do
    # The environment of a project, which holds what its requirements name.
    ln -s "$venv" "$scratch/$project/.venv"
    pytest "$scratch/$project"
    case $project in
        team*) check "$project" "$scratch/$project" ;;
        *) "$nodesift_dev" module build "$scratch/$project" --output "$scratch/$project/predicate.wasm" >/dev/null 2>&1 \
            && "$nodesift_dev" module test "$scratch/$project" ;;
    esac
done
cp tests/suites/authors/cells/python/predicate.py "$scratch/team-isolation-python/"
cells python "$scratch/team-isolation-python"
say 'every module has the verdicts of the one in Rust'
