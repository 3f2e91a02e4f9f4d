#!/usr/bin/env bash
# Builds the predicate of sdk/predicate/bare in five languages with the tools of their ecosystems alone: the contract as `nodesift-dev module
# wit` writes it, and no SDK. Each module has to pass the cases of TeamIsolation, and a sidecar has to serve it with the verdicts that the
# others have. Needs a build first: `make bare-tools`. Names of languages as arguments select them: js python rust c go.
#
# jco comes from npm, componentize-py from PyPI and wit-bindgen from crates.io, into the folder of products; compilers are those of the
# machine. What is not built for want of one is said, and with CI set that is a failure. NODESIFT_BINARY and NODESIFT_DEV_BINARY are as in
# tests/scripts.
set -euo pipefail
cd "$(dirname "$0")/.."

jco_version=1.35.0
componentize_py_version=0.25.1
# The latest whose Go bindings build with the Go that go.mod of this repository asks for.
wit_bindgen_version=0.61.1
# Seconds for a sidecar to be ready: it compiles the module first.
ready_seconds=$((300 * ${NODESIFT_TIMEOUT_FACTOR:-1}))

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
products=$(realpath "${CARGO_TARGET_DIR:-target}")
nodesift=${NODESIFT_BINARY:-$products/debug/nodesift}
nodesift_dev=${NODESIFT_DEV_BINARY:-$products/debug/nodesift-dev}
for program in "$nodesift" "$nodesift_dev"; do [ -x "$program" ] || fail "$program is not built: run make bare-tools"; done
tools=$products/bare
mkdir -p "$tools"
venv=$tools/venv
source tests/scripts/node.sh
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_cache=$tools/npm-cache
scratch=$(mktemp -d)
sidecar=
stop() { [ -z "$sidecar" ] || { kill "$sidecar" && wait "$sidecar"; } 2>/dev/null || true; sidecar=; }
trap 'stop; rm -rf "$scratch"' EXIT

# Runs a command, whose output matters only where it fails.
quietly() {
    local what=$1
    shift
    "$@" >"$scratch/output.txt" 2>&1 || { cat "$scratch/output.txt" >&2; fail "$what"; }
}

jco() { "$tools/js/node_modules/.bin/jco" "$@"; }
has_target() { [ -d "$(rustc --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown" ]; }
has_debian_rust() { [ -x /usr/bin/rustc ] && [ -d /usr/lib/rustlib/src/rust/library ] && command -v wasm-ld >/dev/null; }

# What is missing for a language; nothing where all is here.
missing() {
    case $1 in
        python) python3 -c 'import ensurepip, venv' 2>/dev/null || echo 'Python 3.11 with venv'; return ;;
        *) has_node || { echo "Node.js $least_node with npm, for jco"; return; } ;;
    esac
    case $1 in
        rust) has_target || has_debian_rust || echo 'Rust for wasm32-unknown-unknown: rustup target add wasm32-unknown-unknown' ;;
        c)
            clang --print-targets 2>/dev/null | grep -q wasm32 && command -v wasm-ld >/dev/null && [ -d /usr/include/wasm32-wasi ] ||
                echo 'clang, lld and a C library for wasm32: on Debian, apt-get install clang lld wasi-libc libclang-rt-dev-wasm32' ;;
        go) .ci/go >/dev/null || echo 'Go 1.25' ;;
    esac
}

install_jco() {
    [ -x "$tools/js/node_modules/.bin/jco" ] || npm install --silent --prefix "$tools/js" "@bytecodealliance/jco@$jco_version"
}
install_wit_bindgen() {
    [ "$("$tools/bin/wit-bindgen" --version 2>/dev/null)" = "wit-bindgen-cli $wit_bindgen_version" ] ||
        cargo install --quiet --locked --debug --root "$tools" "wit-bindgen-cli@$wit_bindgen_version" --no-default-features --features c,go
}

# Builds the project of a language, in its folder, into the file $1. `set -e` does not hold where the exit code is looked at, so each step
# says that the next one depends on it.
build_js() {
    install_jco &&
        jco componentize predicate.js --wit ../wit --world-name team-isolation --backend qjs --backend-qjs-disable-async \
            --backend-qjs-stub-wasi -o "$1"
}
build_python() {
    { [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"; } &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check "componentize-py==$componentize_py_version" &&
        "$venv/bin/componentize-py" -d ../wit -w team-isolation componentize --stub-wasi predicate -o "$1"
}
compile_rust() {
    if has_target; then
        cargo build --locked "$@"
    else
        # Debian has the standard library as source only.
        PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="-C linker=$(command -v wasm-ld)" /usr/bin/cargo build --locked \
            "$@" -Zbuild-std=std,panic_abort -Zbuild-std-features=
    fi
}
build_rust() {
    install_jco &&
        compile_rust --release --target wasm32-unknown-unknown --target-dir "$tools/rust" &&
        jco new "$tools/rust/wasm32-unknown-unknown/release/team_isolation_bare.wasm" -o "$1"
}
build_c() {
    install_jco && install_wit_bindgen &&
        "$tools/bin/wit-bindgen" c ../wit --world team-isolation --out-dir generated &&
        clang --target=wasm32-wasi -mexec-model=reactor -Os -Wl,--strip-debug -Igenerated -o core.wasm predicate.c \
            generated/team_isolation.c generated/team_isolation_component_type.o &&
        jco new core.wasm -o "$1"
}
build_go() {
    local export=generated/export_nodesift_predicate_predicate
    install_jco && install_wit_bindgen &&
        "$tools/bin/wit-bindgen" go ../wit --world team-isolation --out-dir generated &&
        mkdir $export && cp predicate.go $export/ && cp go.mod go.sum generated/ && cp embed.mjs "$tools/js/" &&
        (cd generated && GOOS=wasip1 GOARCH=wasm GOFLAGS=-mod=readonly go build -buildmode=c-shared -trimpath -buildvcs=false \
            -ldflags='-w -checklinkname=0' -o ../core.wasm .) &&
        node "$tools/js/embed.mjs" core.wasm embedded.wasm team-isolation ../wit/world.wit ../wit/deps/nodesift-predicate/package.wit &&
        jco parse wasi.wat -o wasi.wasm &&
        jco new embedded.wasm --adapt wasi_snapshot_preview1=wasi.wasm -o "$1"
}

# Asks a sidecar with the module of $1 about the pods of tests/scripts.
verdicts() {
    local folder=$1 deadline=$((SECONDS + ready_seconds))
    cat >"$folder/policy.yaml" <<END
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
metadata: {name: bare}
spec:
  schedulerNames: [default-scheduler]
  predicates:
  - name: TeamIsolation
    module: {path: predicate.wasm}
    args: {label: example.com/team}
    allow: [node-labels, pod-labels]
END
    "$nodesift" serve --cluster tests/scripts/cluster.yaml --policy "$folder/policy.yaml" --socket "$folder/socket" --no-tcp \
        >"$folder/serve.txt" 2>&1 &
    sidecar=$!
    until "$nodesift" health --socket "$folder/socket" >/dev/null 2>&1; do
        kill -0 "$sidecar" 2>/dev/null || { cat "$folder/serve.txt" >&2; fail 'the sidecar does not start'; }
        [ "$SECONDS" -lt "$deadline" ] || { cat "$folder/serve.txt" >&2; fail 'the sidecar is not ready in time'; }
        sleep 0.2
    done
    "$nodesift" explain --server "unix:$folder/socket" --pods tests/scripts/cluster.yaml --output json >"$folder/verdicts.json" \
        2>"$folder/explain.txt" || { cat "$folder/explain.txt" >&2; fail 'the sidecar does not answer'; }
    stop
    grep -q "belong to the pod's team" "$folder/verdicts.json" || fail 'no node is rejected: nothing would be compared'
}

# Where there is none, each language that needs it says so.
find_node || true
if go=$(.ci/go); then PATH=$("$go" env GOROOT)/bin:$PATH; fi
cp -r sdk/predicate/bare/. "$scratch/"
quietly 'the contract is not written' "$nodesift_dev" module wit "$scratch"
mkdir -p "$scratch/wit/deps/nodesift-predicate"
cp "$scratch"/nodesift-predicate-*.wit "$scratch/wit/deps/nodesift-predicate/package.wit"
[ $# -gt 0 ] || set -- js python rust c go
first=
for language in "$@"; do
    absent=$(missing "$language")
    if [ -n "$absent" ]; then
        echo "$language: not built, for want of $absent"
        [ -z "${CI:-}" ] || fail 'CI has to build it'
        continue
    fi
    folder=$scratch/$language
    (cd "$folder" && quietly "$language: the predicate is not built" "build_$language" "$folder/predicate.wasm")
    cp predicates/examples/team_isolation/cases.yaml "$folder/"
    # Two of the five read their arguments without a parser of JSON.
    cat >>"$folder/cases.yaml" <<'END'
- name: a mistyped argument beside a right one is refused
  args: {label: owner, typo: red}
  refuses: unknown field
END
    quietly "$language: a case fails" "$nodesift_dev" module test "$folder"
    verdicts "$folder"
    first=${first:-$folder/verdicts.json}
    diff "$first" "$folder/verdicts.json" || fail "$language: other verdicts than those of the first"
    printf '%-7s %9s bytes, served; made with %s\n' "$language" "$(stat -c %s "$folder/predicate.wasm")" \
        "$("$nodesift_dev" module inspect "$folder/predicate.wasm" | sed -n 's/^made with *//p')"
done
