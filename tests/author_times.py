#!/usr/bin/env python3
"""Measures how long an author waits, per language: from a save to a rule that is live, and each step of it. It gates nothing: whatever the
times are, it ends with 0; only a round that fails is an error. A language whose toolchain is missing is named, with the reason.

    tests/author_times.py [--rounds 5] [LANGUAGE ...]

It starts a project as `module new` makes it, and keeps `module dev --serve` open beside it. The first round installs what unit tests need,
and compiles with an empty cache of compiled code; package managers and compilers have the caches of this machine. Each round after it is
a save that changes the module. Times are seconds, and medians but for the first round. `NODESIFT_DEV_BINARY` names the program, beside
which `nodesift` is; without it those of the release profile are taken, else those of the dev profile, which compile modules more slowly.
"""

import argparse
import os
import queue
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRODUCTS = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
# The source of a new project, by language.
SOURCES = {
    "rust": "src/lib.rs", "go": "predicate.go", "js": "src/predicate.js", "ts": "src/predicate.ts", "python": "predicate.py",
    "c": "predicate.c",
}
# What a save changes: a text that is in the module, and in no test.
TEXT = "rejects nodes that belong to another team than the pod"
STEP = re.compile(r"^(set up|build|unit tests|cases|live)\s+([0-9.]+) s  (\S+)")
# Seconds that a step is to take at most on two cores that nothing else uses, once everything is warm.
AIMS = {"build": 5, "unit tests": 2, "cases": 3, "live": 1, "save to live": 5, "check": 3, "bench": 3}
# Seconds after which a round is given up: the first one of Python on a busy machine takes minutes.
PATIENCE = 1200


def program():
    """The path of `nodesift-dev`, and what it was built as."""
    named = os.environ.get("NODESIFT_DEV_BINARY")
    candidates = [named] if named else [os.path.join(PRODUCTS, profile, "nodesift-dev") for profile in ("release", "debug")]
    for path in candidates:
        if os.path.exists(path):
            return os.path.realpath(path)
    sys.exit("error: nodesift-dev is not built: make build, or cargo build --release --workspace --bins")


class Failed(Exception):
    """Why a language has no times."""


class Watching:
    """`module dev --serve` beside a project, and its screens."""

    def __init__(self, dev, folder, environment):
        command = [dev, "module", "dev", folder, "--serve", "--", "--sample", "--no-tcp"]
        self.child = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def round(self):
        """Seconds by step of the next round."""
        screen, steps, until = [], {}, time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(until - time.monotonic(), 0.001))
            except queue.Empty:
                raise Failed(f"no round within {PATIENCE} s: {' '.join(screen[-3:])}") from None
            if line is None:
                raise Failed(f"module dev has ended: {' '.join(screen[-3:])}")
            screen.append(line)
            if found := STEP.match(line):
                steps[found[1]] = steps.get(found[1], 0.0) + float(found[2])
            if line.endswith(": waiting for a save"):
                break
        told = next((line for line in screen if line.startswith("FAILED")), None)
        if told:
            # What the fault's line does not say: the first line of an error.
            why = next((line for line in screen if line not in told and re.search(r"error|PATH|not here", line)), "")
            raise Failed(f"{told} {why}".strip()[:300])
        return steps

    def end(self):
        # It ends its sidecar, and removes its folder.
        self.child.send_signal(signal.SIGINT)
        try:
            self.child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def timed(dev, environment, *arguments):
    """Seconds of a command; one whose checks fail has run all the same."""
    started = time.monotonic()
    done = subprocess.run([dev, "module", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Failed(f"module {arguments[0]}: {done.stderr.strip()[-200:]}")
    return time.monotonic() - started


def measure(dev, language, rounds, scratch):
    """Seconds of the first round by step, and the medians of those after it."""
    # A cache of compiled code of its own; the caches of compilers stay.
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(scratch, "cache"))
    for variable, folder in (("GOCACHE", "go-build"), ("PIP_CACHE_DIR", "pip")):
        environment.setdefault(variable, os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), folder))
    folder = os.path.join(scratch, f"rule-{language}")
    timed(dev, environment, "new", "--lang", language, folder)
    if language == "rust" and not os.environ.get("CARGO_TARGET_DIR"):
        environment["CARGO_TARGET_DIR"] = os.path.join(scratch, "target")
    source = os.path.join(folder, SOURCES[language])
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if TEXT not in text:
        raise Failed(f"{SOURCES[language]} has no text to change")
    watching = Watching(dev, folder, environment)
    try:
        first = watching.round()
        later = []
        for number in range(rounds):
            with open(source, "w", encoding="utf-8") as file:
                file.write(text.replace(TEXT, f"{TEXT}, {number}"))
            saved = time.monotonic()
            steps = watching.round()
            later.append({**steps, "save to live": time.monotonic() - saved})
    finally:
        watching.end()
    medians = {step: statistics.median(one[step] for one in later) for step in later[0]}
    module = os.path.join(folder, "predicate.wasm")
    for command in ("check", "bench"):
        medians[command] = statistics.median(timed(dev, environment, command, module) for _ in range(rounds))
    return first, medians


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"some of {', '.join(SOURCES)}; all without")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    unknown = [language for language in given.languages if language not in SOURCES]
    if unknown or given.rounds < 1:
        parser.error(f"languages are {', '.join(SOURCES)}, and rounds at least 1")
    dev, found, missing = program(), {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        for language in given.languages or SOURCES:
            print(f"{language} ...", file=sys.stderr, flush=True)
            try:
                found[language] = measure(dev, language, given.rounds, scratch)
            except Failed as why:
                missing[language] = str(why)
    languages = list(found)
    cell = lambda seconds: "" if seconds is None else f"{seconds:.1f}"
    rows = [("first round, all of it", [sum(found[one][0].values()) for one in languages], None)]
    rows += [(f"first round, {step}", [found[one][0].get(step) for one in languages], None) for step in ("set up", "build", "cases", "live")]
    rows += [(step, [found[one][1].get(step) for one in languages], aim) for step, aim in AIMS.items()]
    if found:
        print(f"| seconds | {' | '.join(languages)} | aim |\n|---{'|---' * (len(languages) + 1)}|")
        for name, cells, aim in rows:
            print(f"| {name} | {' | '.join(map(cell, cells))} | {'' if aim is None else f'≤ {aim}'} |")
    load = os.getloadavg()[0]
    print(f"\n{dev}, medians of {given.rounds}; {os.cpu_count()} cores, load {load:.1f}, {time.strftime('%Y-%m-%d')}")
    for language, why in missing.items():
        print(f"not measured: {language}: {why}")
    sys.exit(1 if missing and os.environ.get("CI") else 0)


main()
