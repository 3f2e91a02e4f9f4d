#!/usr/bin/env python3
"""Takes guards away, one at a time, and shows that a test notices.

    tests/guards.py [WORD ...]

Each line of tests/guards.tsv has, with tabs between: what holds, file, text of the guard, text in its place, test. The text is
once in the file. It is replaced, the test is built and run alone, and the text is put back. A test that still passes notices nothing, and
one that does not compile, or is not found, says nothing: with any of these the exit code is 1. WORDs select lines that contain one.

Tests are named as in SECURITY.md: `suite::test`, `crate::module::test`, `go:FOLDER::Test`.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/guards.tsv"
# A mutant may wait for ever where the guard was a limit.
SECONDS = 900
# Test programs that are not those of a library, by the crate that a name begins with.
SUITES = sorted(path.stem if path.is_file() else path.name for path in (ROOT / "tests/suites").iterdir())


def command(test):
    """The command that runs one test alone."""
    of, name = test.split("::")[0], test.rsplit("::", 1)[1]
    if test.startswith("go:"):
        go = 'PATH="$(.ci/go env GOROOT)/bin:$PATH"; cd "$1"; GOFLAGS=-mod=readonly go test -count 1 -timeout 120s -run "^$2\\$" .'
        return ["bash", "-ec", go, "-", of[len("go:"):], name]
    if of in SUITES:
        # Some suites run the other program as well, which cargo does not build for them.
        suite = 'cargo build --quiet -p nodesift-dev; exec cargo test --quiet -p "$1" --test "$2" "$3"'
        return ["bash", "-ec", suite, "-", "nodesift-dev" if of == "authors" else "nodesift", of, name]
    return ["cargo", "test", "--quiet", "-p", of.replace("_", "-"), "--lib", "--tests", name]


def run(test):
    """How a test ends: `failed`, `passed`, or why that is not known; and what it prints."""
    lint = str(ROOT / ".ci/lint-and-compile")
    environment = dict(os.environ, NODESIFT_LINT="no", RUSTC_WORKSPACE_WRAPPER=lint, CARGO_INCREMENTAL="0")
    environment.setdefault("CARGO_PROFILE_DEV_CODEGEN_UNITS", "4")
    try:
        done = subprocess.run(command(test), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "failed", f"no end after {SECONDS} s"
    text = done.stdout
    if "could not compile" in text or "[build failed]" in text:
        return "does not compile", text
    ran = sum(int(number) for number in re.findall(r"^running (\d+) tests?", text, re.MULTILINE))
    if ran == 0 and not re.search(r"^(ok|FAIL)\s", text, re.MULTILINE) or "[no tests to run]" in text:
        return "is not found", text
    return ("failed" if done.returncode else "passed"), text


def main():
    # Whatever ends this, the file is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    lines = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    chosen = [line for line in lines if len(sys.argv) == 1 or any(word in "\t".join(line) for word in sys.argv[1:])]
    wrong = 0
    for what, name, old, new, test in chosen:
        path = ROOT / name
        text = path.read_text()
        if text.count(old) != 1:
            print(f"WRONG     {what}: {old!r} is {text.count(old)} times in {name}", flush=True)
            wrong += 1
            continue
        started = time.monotonic()
        path.write_text(text.replace(old, new))
        try:
            outcome, output = run(test)
        finally:
            path.write_text(text)
        noticed = outcome == "failed"
        wrong += not noticed
        print(f"{'noticed ' if noticed else 'WRONG   '}  {what}: {test} {outcome}, {time.monotonic() - started:.0f} s", flush=True)
        if outcome in ("does not compile", "is not found"):
            print("\n".join(output.splitlines()[-12:]), flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} are noticed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
