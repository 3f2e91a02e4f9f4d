# Rules for the makefile of a predicate, which sets SDK (this folder), SOURCES and TESTS:
#   make test     compiles the predicate and its tests for this machine, and runs them; with CFLAGS='-g -fsanitize=address,undefined'
#                 memory and undefined behaviour are checked
#   make module   compiles it for wasm32, into MODULE; `nodesift-dev module build` runs this and makes a component of it

CC ?= cc
CLANG ?= clang
CFLAGS ?= -O2 -g
MODULE ?= build/module.wasm
WARNINGS = -std=gnu11 -Wall -Wextra
SDK_SOURCES = $(addprefix $(SDK)/,nodesift.c nodesift_score.c nodesift_args.c nodesift_contract.c nodesift_guest.c \
    nodesift_memory.c)

# Without a C library. What nothing calls is dropped; a stack that overflows traps, because it is below everything else. Names of functions
# stay: a fault says in which it was.
WASM = --target=wasm32 -mbulk-memory -nostdlib -ffreestanding -fvisibility=hidden -ffunction-sections -fdata-sections -Os \
    -Wl,--no-entry -Wl,--gc-sections -Wl,--strip-debug -Wl,--stack-first -Wl,-z,stack-size=65536

.DEFAULT_GOAL := test
# Made anew each time, which takes a second: make would not see that flags have changed.
.PHONY: test build/test module clean

# Memory of tests is not freed: they end with the process.
export ASAN_OPTIONS ?= detect_leaks=0

test: build/test
	@build/test

build/test:
	@mkdir -p build
	$(CC) $(WARNINGS) $(CFLAGS) -I$(SDK) -o $@ $(SOURCES) $(TESTS) $(SDK_SOURCES) \
	    $(addprefix $(SDK)/,nodesift_test.c nodesift_test_scores.c nodesift_test_pods.c nodesift_test_terms.c \
	        nodesift_test_cases.c nodesift_test_json.c)

module:
	@mkdir -p $(dir $(MODULE))
	$(CLANG) $(WARNINGS) $(WASM) -I$(SDK) -o $(MODULE) $(SOURCES) $(SDK_SOURCES)

clean:
	rm -rf build
