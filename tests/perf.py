#!/usr/bin/env python3
"""Measures what tests print as figures, and compares it with the committed table. It gates nothing: whatever the figures are, it ends with
0; only what does not run is an error.

    tests/perf.py [--locked] [SUITE ...]

Programs run one after the other, one test at a time, only the modules that print figures: see `measuring`. Times of different machines
are compared by what one piece of work takes there, which is timed before, between and after the programs: the pace. `ratio` is the
value over the committed one; of times, each is divided by its pace first.

`NODESIFT_BLESS=1` writes tests/perf.tsv: name, value, aim, unit (`s`, or `-` for numbers). The aim is what the value is to be at most.
Lines at the top that begin with `#` stay as they are.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CARGO = os.environ.get("CARGO", "cargo")
TABLE = os.path.join(ROOT, "tests", "perf.tsv")
# The library whose own tests print figures.
LIBRARY = "nodesift_parties"
# Calls that print figures.
CALL = re.compile(r"timing::(figure|number|at_most)\(")


def pace():
    """Seconds that a fixed piece of work takes on one core, the least of some."""

    def work():
        started = time.process_time()
        state = 1
        for _ in range(1_000_000):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        assert state == 14884097605143612481, state
        return time.process_time() - started

    return min(work() for _ in range(5))


def measuring():
    """By suite, the modules with calls that print figures: a filter of test names each, or '' for those of the root."""
    suites = {}
    folder = os.path.join(ROOT, "tests", "suites")
    for place, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            with open(os.path.join(place, file), encoding="utf-8") as source:
                if not file.endswith(".rs") or not CALL.search(source.read()):
                    continue
            parts = os.path.relpath(os.path.join(place, file), folder)[:-3].split(os.sep)
            # The helpers of a suite are called by tests of any of its modules.
            module = "" if parts[-1] in ("main", "arena") else "::".join(parts[1:]) + "::"
            suites.setdefault(parts[0], set()).add(module)
    suites[LIBRARY] = {"tests::latency::"}
    return suites


def build(suites, arguments):
    """Builds the test programs of suites, and gives the folder and the program of each."""
    command = [CARGO, "test", "--no-run", "--message-format=json-render-diagnostics", *arguments, "-p", "nodesift", "-p", LIBRARY.replace("_", "-"), "--lib"]
    for suite in suites:
        command += ["--test", suite] if suite != LIBRARY else []
    cargo = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    programs = {}
    for line in cargo.stdout:
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            programs[message["target"]["name"]] = (os.path.dirname(message["manifest_path"]), message["executable"])
    if cargo.wait() != 0:
        sys.exit(cargo.returncode)
    return programs


def measure(suites, programs):
    """Runs the programs; gives [value, aim, unit] by name, the median of those that a test prints more than once, and whether all ran."""
    figures, sound = {}, True
    for suite, modules in suites.items():
        folder, program = programs[suite]
        with tempfile.NamedTemporaryFile("r", suffix=".tsv") as told:
            environment = dict(os.environ, NODESIFT_FIGURES=told.name, CARGO_MANIFEST_DIR=folder)
            print(f"{suite} ...", file=sys.stderr, flush=True)
            command = [program, "--test-threads=1", *([] if "" in modules else sorted(modules))]
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                sound = False
                print(f"{done.stdout.decode(errors='replace')}\nerror: {suite} failed", file=sys.stderr)
            for line in told:
                _, name, value, aim, unit = line.rstrip("\n").split("\t")
                figures.setdefault(f"{suite}: {name}", []).append((float(value), float(aim), unit))
    medians = {}
    for name, found in figures.items():
        middle = [statistics.median(one[place] for one in found) for place in (0, 1)]
        medians[name] = (*middle, found[0][2])
    return medians, sound


def committed():
    """The comment of the committed table, and its figures by name."""
    if not os.path.exists(TABLE):
        return "", {}
    with open(TABLE, encoding="utf-8") as table:
        lines = table.readlines()
    rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    comment = "".join(line for line in lines if line.startswith("#"))
    return comment, {name: (float(value), float(aim), unit) for name, value, aim, unit in rows}


def shown(value, unit):
    if unit != "s":
        return f"{value:.2f}"
    return f"{value * 1e6:.0f} us" if value < 1e-3 else f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"


def main():
    given = sys.argv[1:]
    arguments = [one for one in given if one.startswith("--")]
    wanted = [one for one in given if not one.startswith("--")]
    suites = {name: modules for name, modules in measuring().items() if not wanted or name in wanted}
    if not suites:
        sys.exit(f"error: no suite of these prints figures: {' '.join(wanted)}")
    programs = build(suites, arguments)
    paces = [pace()]
    figures = {}
    sound = True
    for suite, modules in suites.items():
        found, is_sound = measure({suite: modules}, programs)
        figures.update(found)
        sound &= is_sound
        paces.append(pace())
    figures = {"pace of the machine": (min(paces), 0.0, "s"), **dict(sorted(figures.items()))}
    comment, before = committed()
    ours, theirs = min(paces), before.get("pace of the machine", (min(paces),))[0]
    widest = max(len(name) for name in figures)
    print(f"{'figure':{widest}}  {'value':>10}  {'aim':>10}  {'committed':>10}  {'ratio':>6}")
    for name, (value, aim, unit) in figures.items():
        known = before.get(name)
        of_pace = theirs / ours if unit == "s" and name != "pace of the machine" else 1.0
        ratio = f"{value * of_pace / known[0]:.2f}" if known and known[0] > 0 else ""
        over = " !" if aim > 0 and value > aim else ""
        print(f"{name:{widest}}  {shown(value, unit):>10}  {shown(aim, unit) if aim > 0 else '':>10}  {shown(known[0], unit) if known else '':>10}  {ratio:>6}{over}")
    print(f"{len(figures)} figures; '!' is over its aim, which is a hint; paces of {min(paces) * 1e3:.0f} to {max(paces) * 1e3:.0f} ms in this run")
    if os.environ.get("NODESIFT_BLESS"):
        table = before if wanted else {}
        table.update(figures)
        with open(TABLE, "w", encoding="utf-8") as out:
            out.write(comment)
            out.writelines(f"{name}\t{value:.6f}\t{aim:.6f}\t{unit}\n" for name, (value, aim, unit) in table.items())
        print(f"written: {os.path.relpath(TABLE, ROOT)}")
    sys.exit(0 if sound else 1)


main()
