# Commands of this repository. Every target installs what it needs first, so no setup step is needed.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help features contract run build explorer explorer-test test bench perf figures figures-claims bench-smoke book interop scripts examples cells author-times mistakes bare-tools go-test go-race migrations proto proto-check e2e e2e-claims e2e-scheduler e2e-negotiation e2e-accounting scheduler-perf scheduler-test mutants guards fuzz fuzz-smoke random histories soak flap manifests alerts image dist fmt style lint deny ci toolchain clean

CARGO ?= cargo
# Tests that `make test` runs: those whose names contain it.
FILTER ?=
# Arguments for the sidecar or the benchmark: make run ARGS="--cluster nodes.json", make bench ARGS=NodeAffinity
ARGS ?=
# Seconds that `make fuzz` runs each target (60), `make soak` altogether (600), and `make flap` two policies in turn (60); and the one
# target to run.
TIME ?=
TARGET ?=
# Features of release builds. Builds of the dev profile go without jemalloc, because its C code builds for minutes.
RELEASE ?= --features jemalloc
# CI builds exactly what Cargo.lock says.
LOCKED ?=
# Targets of `make build`. Tests select a feature of tokio that no shipped binary has. CI builds the binaries together with the tests,
# hence with the features of the tests; otherwise tokio and everything that depends on it would be built twice.
TARGETS ?=

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Without a folder for sockets of this user, the socket is here: the sidecar does not choose one that everybody may write to.
run: toolchain ## Build and start the sidecar, on a sample cluster unless ARGS names one
	@[ -e target/debug/nodesift ] || echo 'building; the first time this takes some minutes (about 15 on two cores), most of it the wasm compiler'
	@.ci/explorer --if-possible
	@$(CARGO) build -p nodesift $(LOCKED)
	@if [ -z "$${NODESIFT_SOCKET:-}" ] && [ ! -d "$${XDG_RUNTIME_DIR:-}" ] && [ "$$(id -u)" -ne 0 ]; then \
		mkdir -p -m 700 target/run && export NODESIFT_SOCKET=target/run/nodesift.sock; \
	fi; \
	exec "$${CARGO_TARGET_DIR:-target}/debug/nodesift" serve $(if $(filter --cluster% --kube% --context%,$(ARGS)),,--sample) $(filter-out --sample,$(ARGS))

build: toolchain ## Build all programs: nodesift, nodesift-dev and those of the tests
	@[ -e target/debug/nodesift ] || echo 'building; the first time this takes some minutes (about 15 on two cores), most of it the wasm compiler'
	@.ci/explorer --if-possible
	@$(CARGO) build --workspace $(LOCKED) $(TARGETS)

# Node is needed for the page alone: `make run` and `make build` make it where Node is there, and go on without.
explorer: ## Build the page of the explorer into explorer/dist, for the next build of the program; needs Node 18 and npm
	@.ci/explorer

explorer-test: build ## Test the page: types, units, and flows in Chromium against the sidecar; ARGS=pending for some flows; needs chromium
	@.ci/explorer-test $(ARGS)

test: toolchain ## Run all tests, several programs at once; those of the Go client where there is Go; FILTER=name runs some
	@[ -e target/debug/nodesift ] || echo 'building; the first time this takes some minutes (about 20 on two cores), most of it the wasm compiler'
	@FILTER="$(FILTER)" .ci/tests $(LOCKED) $(if $(FILTER),,go='sdk/core/go/run.sh test')

features: ## Write host/features/Cargo.toml, after dependencies have changed; needs cargo-hakari
	@$(CARGO) hakari --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-hakari
	$(CARGO) hakari generate
	$(CARGO) hakari manage-deps --yes

bench: toolchain ## Run all benchmarks: make figures, predicates, preemption, allocations, speed and memory of the cache
	@$(MAKE) --no-print-directory figures ARGS=
	@$(CARGO) bench --workspace $(LOCKED) $(RELEASE) --bench '*' -- $(ARGS)

perf: toolchain ## Measure what tests print as figures, against tests/perf.tsv; NODESIFT_BLESS=1 writes it; ARGS=reload for one suite
	@exec tests/perf.py $(LOCKED) $(ARGS)

figures: toolchain ## Measure evaluation times, in the sandbox, native and over the socket, with their targets
	@[ -e target/release/deps ] || echo 'building in the release profile; the first time this takes some minutes'
	@$(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@exec "$${CARGO_TARGET_DIR:-target}/release/nodesift-dev" bench $(ARGS)

# Part of neither `make test` nor CI: kube-scheduler's plugin takes minutes to build, and needs Go.
figures-claims: toolchain ## Measure pods with claims beside kube-scheduler's own plugin, in turns; ARGS='--devices 500x10 --rounds 1'
	@$(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@tests/e2e/programs.sh "$${CARGO_TARGET_DIR:-target}/e2e" dynamic-resources
	@release="$${CARGO_TARGET_DIR:-target}/release"; exec tests/e2e/claims_figures.py "$$release/nodesift-dev" "$$release/device-cluster" \
	    "$${CARGO_TARGET_DIR:-target}/e2e/dynamic-resources" $(ARGS)

# In the dev profile, so that CI does not build everything twice. It shows that the benchmarks run and measures nothing.
bench-smoke: toolchain ## Run every benchmark of the smallest cluster once, without measuring
	@$(CARGO) test --workspace $(LOCKED) --bench '*' -- '^1000/'

# CI does not build the book: mdBook takes minutes to compile, and the checks need none of it.
book: build ## Check the pages, run the commands on them, and build the book into target/book where mdBook is installed
	@tests/book.py --run
	@if command -v mdbook >/dev/null; then mdbook build docs --dest-dir "$$(realpath -m "$${CARGO_TARGET_DIR:-target}/book")"; \
	else echo 'mdBook is not here, and the book is not built: cargo install --locked mdbook'; fi

interop: build ## Run grpc-python, grpc-go and Prometheus' parsers of metrics against the sidecar
	@tests/interop/run.sh

scripts: build ## Test the SDKs for Go, C, JavaScript, TypeScript and Python as authors use them; needs npm and PyPI
	@tests/scripts/run.sh

examples: build ## Test and build every predicate of predicates/examples, and check sizes; needs npm and PyPI for scripts
	@tests/examples.sh $(ARGS)

cells: build ## Print what becomes of what the sandbox lacks: 14 rows in 5 languages, from real modules; ARGS=go for one
	@tests/cells.py $(ARGS)

author-times: build ## Measure from a save to a rule that is live, in six languages, medians of five rounds; ARGS=go for one
	@tests/author_times.py $(ARGS)

mistakes: toolchain ## Print how ten mistakes of authors are found, each by the command that is run first; needs Go
	@$(CARGO) test --quiet $(LOCKED) -p nodesift-dev --test authors -- --nocapture the_first_command_of_an_author

bare-tools: build ## Build a predicate with jco, componentize-py and wit-bindgen alone, and serve it; ARGS='c go' for some languages
	@tests/bare.sh $(ARGS)

go-test: build ## Run the tests of the Go client and of what is built on it, against the sidecar
	@sdk/core/go/run.sh test

go-race: build ## The same with the race detector, which needs a C compiler
	@sdk/core/go/run.sh race

migrations: ## Test the controller that moves machines off nodes above a watermark; ARGS='-kubeconfig FILE SOCKET' runs it
	@cd deploy/migrations && export CGO_ENABLED=0 GOFLAGS=-mod=readonly && go vet -trimpath . && go test -trimpath -vet off -count 1 . \
	    && { [ -z '$(ARGS)' ] || exec go run -trimpath . $(ARGS); }

contract: toolchain ## Write what repeats the contract: bindings, tables of the host, docs; after predicate.wit has changed
	@$(CARGO) run --quiet $(LOCKED) -p nodesift-contract -- write

proto: ## Make the messages and stubs of the Go client from the proto; needs Go, and no protoc
	@sdk/core/go/run.sh proto

proto-check:
	@sdk/core/go/run.sh proto-check

# Part of neither `make test` nor CI: the servers take minutes to build, and need Go. KUBERNETES names the version of kube-scheduler and of
# the servers; a kube-scheduler of 1.35 runs beside those of 1.36, as the rules of Kubernetes for versions beside each other allow.
SERVERS = $(filter 1.37,$(KUBERNETES))
E2E = $${CARGO_TARGET_DIR:-$(CURDIR)/target}/e2e$(addprefix -,$(SERVERS))
e2e: build ## Run the sidecar beside a real etcd and a real kube-apiserver; KUBERNETES=1.37 for one of that version
	@NODESIFT_KUBERNETES=$(SERVERS) tests/e2e/programs.sh "$(E2E)"
	@for program in kubectl krew; do NODESIFT_KUBERNETES=$(SERVERS) tests/e2e/programs.sh "$(E2E)" "$$program"; done
	@PATH="$(E2E):$$PATH" tests/manifests/dry_run.py "$(E2E)"
	@tests/e2e/kubectl.py "$(E2E)" "$${CARGO_TARGET_DIR:-target}/debug/nodesift"
	@export TEST_ASSET_ETCD="$${TEST_ASSET_ETCD:-$(E2E)/etcd}" TEST_ASSET_KUBE_APISERVER="$${TEST_ASSET_KUBE_APISERVER:-$(E2E)/kube-apiserver}" && \
	    exec $(CARGO) run --quiet --bin nodesift-e2e -- $(ARGS)

# A part of `make e2e`.
e2e-claims: build ## The part of make e2e about pods with claims on devices, placed by a small core
	@tests/e2e/programs.sh "$${CARGO_TARGET_DIR:-target}/e2e"
	@exec $(CARGO) run --quiet --bin nodesift-e2e -- --claims-only $(ARGS)

# Part of neither `make test` nor CI, for the same reason. In the release profile: a sidecar of the dev profile would often answer too
# late, and kube-scheduler would decide in its place.
e2e-scheduler: toolchain ## Compare kube-scheduler with the plugin to the stock one, beside a real API server; ARGS=1000,5000 measures
	@[ -n "$${NODESIFT_BINARY:-}" ] || $(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@[ -n "$${NODESIFT_E2E:-}" ] || NODESIFT_KUBERNETES=$(SERVERS) tests/e2e/programs.sh "$(E2E)"
	@cd tests/e2e/go && go run ./scheduler-config $(addprefix ../../../deploy/,extender/config.yaml kustomize/extender/config.yaml \
	    kustomize/kube-scheduler/config.yaml kube-scheduler/additive.yaml kube-scheduler/scores.yaml)
	@NODESIFT_KUBERNETES=$(KUBERNETES) NODESIFT_E2E="$${NODESIFT_E2E:-$(E2E)}" deploy/kube-scheduler/e2e/run.sh $(ARGS)

# Part of neither, for the same reason; it wants a quiet machine as well.
scheduler-perf: toolchain ## Run Kubernetes' own benchmark of kube-scheduler with the plugin and without, in turns; ARGS='-nodes 500,1000 -workloads Basic -rounds 5'
	@[ -n "$${NODESIFT_BINARY:-}" ] || $(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@[ -n "$${TEST_ASSET_ETCD:-}" ] || tests/e2e/programs.sh "$${NODESIFT_E2E:-$${CARGO_TARGET_DIR:-target}/e2e}" etcd
	@deploy/kube-scheduler/perf/run.sh $(ARGS)

# Part of neither `make test` nor CI: it compiles Kubernetes three times.
scheduler-test: ## Vet and test the plugin of kube-scheduler with each version that it builds with; ARGS=1.37 for one
	@deploy/kube-scheduler/test.sh $(ARGS)

# Part of neither, for the same reason.
e2e-negotiation: toolchain ## Place 500 pods with external parties, beside a real API server, while each program is killed
	@[ -n "$${NODESIFT_BINARY:-}" ] || $(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@[ -n "$${NODESIFT_E2E:-}" ] || tests/e2e/programs.sh "$${CARGO_TARGET_DIR:-target}/e2e"
	@deploy/kube-scheduler/e2e/run.sh negotiation

# Part of neither, for the same reason.
e2e-accounting: toolchain ## Have 500 machines grow, shrink and move by their annotations beside a real API server and kube-scheduler
	@[ -n "$${NODESIFT_BINARY:-}" ] || $(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@[ -n "$${NODESIFT_E2E:-}" ] || tests/e2e/programs.sh "$${CARGO_TARGET_DIR:-target}/e2e"
	@deploy/kube-scheduler/e2e/run.sh accounting

fuzz: build ## Run the fuzz targets, each for TIME=60 seconds; TARGET=name runs one
	@exec $(CARGO) run --quiet --bin nodesift-fuzz -- $(addprefix --time ,$(TIME)) $(addprefix --target ,$(TARGET)) $(ARGS)

# Each target for a second, with mutations of one seed: what CI says of a commit is not left to chance. `make fuzz` takes new
# ones. The committed inputs are replayed by the tests as well.
fuzz-smoke: toolchain
	@$(CARGO) run --quiet $(LOCKED) --bin nodesift-fuzz -- --time 1 --seed 1

# Not part of CI, which has no quiet minutes.
# The sidecar as it is shipped: another allocator gives memory back at other times.
soak: build ## Run the sidecar under mixed load and faults for TIME=600 seconds
	@$(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@exec $(CARGO) run --quiet --bin nodesift-soak -- \
	    --sidecar "$${CARGO_TARGET_DIR:-target}/release/nodesift" $(addprefix --time ,$(TIME)) $(ARGS)

# `make test` runs the same tests with a fraction of the cases.
random: export NODESIFT_RANDOM_TIMES = $(or $(TIMES),25)
random: toolchain ## Compare engine and cache with their references in TIMES=25 times as many random cases as `make test`; FILTER=name runs some
	@$(CARGO) test --workspace $(LOCKED) --test differential -- --nocapture $(FILTER)
	@$(CARGO) test --package nodesift-cache $(LOCKED) --lib -- --nocapture $(or $(FILTER),model:: random)

# `make test` runs a few. They are optimised, with the checks of the dev profile. One of the second kind has 200 negotiations.
histories: export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS = true
histories: export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS = true
histories: export CARGO_TARGET_DIR = target/histories
histories: HISTORIES = $(CARGO) test --package nodesift-negotiation $(LOCKED) --release --lib -- --nocapture
histories: toolchain ## Run CASES=100000 random histories of two sidecars, and a tenth of one with all rules; from NODESIFT_SEED, or any
	@NODESIFT_NEGOTIATION_CASES=$(or $(CASES),100000) $(HISTORIES) of_two_processes
	@NODESIFT_NEGOTIATION_CASES=$$(($(or $(CASES),100000) / 10)) $(HISTORIES) every_outcome

# `make test` runs the same for some seconds.
flap: build ## Replace the policy ten times a second under load for TIME=60 seconds, and time single reloads
	@NODESIFT_SECONDS=$(or $(TIME),60) $(CARGO) test --workspace $(LOCKED) --test reload -- --nocapture --test-threads 1 flap:: $(ARGS)

# The code whose mistakes are the hardest to see from outside.
MUTATED := host/engine/src/reuse host/engine/src/evaluate/conjunction.rs host/cache/src/write host/source/src/feed
# Part of neither `make test` nor CI: each mutant is a build and a run of the tests, and there are some hundreds.
mutants: toolchain ## Plant mutants and list those that no test notices: hours; ARGS='--file FILE' plants fewer
	@$(CARGO) mutants --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-mutants
	$(CARGO) mutants --in-place --test-workspace=true --minimum-test-timeout 300 --output target \
		$(if $(ARGS),$(ARGS),$(foreach path,$(MUTATED),--file '$(path)$(if $(filter %.rs,$(path)),,/**/*.rs)')) \
		-- --lib --test hostile --test differential

# Part of neither `make test` nor CI: each line is a build and a run of one test.
guards: toolchain ## Take the guards of tests/guards.tsv away, one at a time, and show that a test notices: an hour; ARGS=word for some
	@tests/guards.py $(ARGS)

manifests: build ## Check deploy/ against the program, and run it from the image's root file system
	@tests/manifests/check.py "$${CARGO_TARGET_DIR:-target}/debug/nodesift"
	@tests/manifests/alerts.py
	@tests/manifests/image.sh "$${CARGO_TARGET_DIR:-target}/debug/nodesift"

# `make ci` and `make manifests` test the alerts too, where promtool is there: Prometheus compiles for minutes.
PROMTOOL = github.com/prometheus/prometheus/cmd/promtool@v0.316.0
TOOLS = $${CARGO_TARGET_DIR:-$(CURDIR)/target}/tools
alerts: ## Test the alerts of deploy/ with promtool, which is built with Go where the machine has none
	@mkdir -p "$(TOOLS)"
	@command -v promtool "$(TOOLS)/promtool" >/dev/null || { echo 'building promtool; this takes some minutes'; \
	    GOBIN="$$(realpath "$(TOOLS)")" CGO_ENABLED=0 nice "$$(.ci/go)" install -trimpath $(PROMTOOL); }
	@tests/manifests/alerts.py "$$(command -v promtool "$(TOOLS)/promtool" | head -n 1)"

image: toolchain ## Build the image as an OCI archive, target/image/nodesift.tar; needs buildah
	@command -v buildah >/dev/null || { echo 'error: the image is built with buildah, which is not here: apt-get install buildah' >&2; exit 1; }
	@deploy/build.sh
	@deploy/image.sh "$${CARGO_TARGET_DIR:-target}/shipped/nodesift" "$${CARGO_TARGET_DIR:-target}/image/nodesift.tar"

dist: toolchain ## Build a release into target/release-files: programs, symbols, SBOM, chart, manifests, checksums
	@deploy/dist.sh "$${CARGO_TARGET_DIR:-target}/release-files"

fmt: ## Format the code
	$(CARGO) fmt --all

style:
	$(CARGO) fmt --all --check
	@.ci/security
	@.ci/words
	@tests/book.py

lint: style toolchain ## Check formatting, doc comments, pages and the tests that SECURITY.md names, and run clippy with warnings as errors
	$(CARGO) clippy --workspace --all-targets $(LOCKED) -- -D warnings

deny: ## Check bans, licences, sources and advisories of dependencies
	@.ci/deny

# Everything is built in one run of cargo, in which clippy runs with every compilation, warnings as errors. Then the checks and the test
# programs run beside each other. How many tests failed is at the end of the output.
ci: LOCKED = --locked
# Clippy and compiler cannot share one incremental cache.
ci: export CARGO_INCREMENTAL = 0
ci: export RUSTC_WORKSPACE_WRAPPER = $(CURDIR)/.ci/lint-and-compile
# The random tests of a tree have the same seeds in every run: what has passed passes again, also where its commit is written anew, and each
# change has new histories.
ci: export NODESIFT_SEEDS_OF ?= $(shell git rev-parse 'HEAD^{tree}' 2>/dev/null)
# Most of the time of many tests is waiting.
ci: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
ci: style toolchain ## Run everything that CI checks
	@.ci/explorer --if-possible
	@.ci/tests $(LOCKED) --benches \
	    features=.ci/features deny=.ci/deny book='tests/book.py --run' interop=tests/interop/run.sh \
	    manifests='tests/manifests/check.py "$${CARGO_TARGET_DIR:-target}/debug/nodesift" && tests/manifests/alerts.py && tests/manifests/image.sh "$${CARGO_TARGET_DIR:-target}/debug/nodesift"' \
	    fuzz='"$${CARGO_TARGET_DIR:-target}/debug/nodesift-fuzz" --time 1 --seed 1' \
	    go='sdk/core/go/run.sh test' proto='sdk/core/go/run.sh proto-check'

toolchain: ## Install the toolchain that compiles predicates to wasm, if it is missing
	@.ci/toolchain

clean: ## Remove everything built
	$(CARGO) clean
