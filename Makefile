# What one runs here. Every target obtains what it needs first; `make run` and `make test` want no step before them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build test bench figures bench-smoke readme e2e fmt style lint deny ci toolchain clean

CARGO ?= cargo
# Arguments for the sidecar or the benchmark: make run ARGS="--cluster nodes.json", make bench ARGS=NodeAffinity
ARGS ?=
# What runs in earnest, and is measured, has jemalloc; what is built to try and to test need not wait for it.
RELEASE ?= --features jemalloc
# CI builds exactly what Cargo.lock says.
LOCKED ?=

help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Builds and starts the sidecar, on a sample cluster unless ARGS names one
	@exec $(CARGO) run --quiet --bin nodesift -- serve $(ARGS)

# Always the whole workspace: a part of it would select other features of the same dependencies and build them again.
build: toolchain
	@[ -e target/debug/nodesift ] || echo 'building; the first time this takes some minutes (about 12 on two cores), most of it the wasm compiler'
	@$(CARGO) build --workspace $(LOCKED)

test: toolchain ## Runs all tests
	@[ -e target/debug/nodesift ] || echo 'building; the first time this takes some minutes (about 16 on two cores), most of it the wasm compiler'
	@$(CARGO) test --workspace $(LOCKED)

bench: toolchain ## Benchmarks everything: make figures, predicates, preemption, the cache's speed and memory
	@$(MAKE) --no-print-directory figures ARGS=
	@$(CARGO) bench --workspace $(LOCKED) $(RELEASE) --bench '*' -- $(ARGS)

figures: toolchain ## Measures whole answers, natively and over the socket: a table, with the aims beside it
	@[ -e target/release/deps ] || echo 'building in the release profile; the first time this takes some minutes'
	@$(CARGO) build --workspace $(LOCKED) --release $(RELEASE) --bins
	@exec "$${CARGO_TARGET_DIR:-target}/release/nodesift" bench $(ARGS)

# In the profile of the tests, so that CI does not build everything twice: shows that it runs, measures nothing.
bench-smoke: toolchain ## Runs every benchmark of the smallest cluster once, unmeasured
	@$(CARGO) test --workspace $(LOCKED) --bench '*' -- '^1000/'

readme: build ## Starts the sidecar and runs what it and README.md tell people to run
	tests/readme.sh

# Neither of `make test` nor of CI: the servers take minutes to build, and Go to build them.
e2e: build ## Runs the sidecar beside a real etcd and a real kube-apiserver
	@tests/e2e/programs.sh "$${CARGO_TARGET_DIR:-target}/e2e"
	@exec $(CARGO) run --quiet --bin nodesift-e2e -- $(ARGS)

fmt: ## Formats
	$(CARGO) fmt --all

style:
	$(CARGO) fmt --all --check

lint: style toolchain ## Formatting and clippy, warnings refused
	$(CARGO) clippy --workspace --all-targets $(LOCKED) -- -D warnings

deny: ## Licences, sources and advisories of dependencies, where cargo-deny is installed
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny --locked --offline check --hide-inclusion-graph bans licenses sources; \
	else \
		echo 'cargo-deny is not installed, dependencies are not checked; to install it: cargo install --locked cargo-deny'; \
	fi

# Clippy comes along with every compilation, warnings refused. The tests come last: how they end is what one looks for at
# the end of the output.
ci: LOCKED = --locked
# Two passes over a crate cannot share what is kept for the next build.
ci: export CARGO_INCREMENTAL = 0
ci: export RUSTC_WORKSPACE_WRAPPER = $(CURDIR)/.ci/lint-and-compile
ci: style deny readme bench-smoke test ## All that CI checks

toolchain: ## Obtains what compiles predicates to wasm, if it is not there
	@.ci/toolchain

clean: ## Removes everything built
	$(CARGO) clean
