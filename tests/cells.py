#!/usr/bin/env python3
"""Prints the table of docs/src/predicates/sandbox.md from real modules: what becomes of what the sandbox lacks and of what goes wrong, 14 rows
in 5 languages, each cell with its text and the author's line.

    tests/cells.py [LANGUAGE ...]

A cell is a case of tests/suites/authors/cells, or a piece of source that does not compile. A language whose toolchain or packages are missing
has `not built here` in each of its cells, and the reason below; with CI set that is a failure. So is, always, a case that fails, and a cell that
has neither. `NODESIFT_DEV_BINARY` names another program than that of the dev profile.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CELLS = os.path.join(ROOT, "tests", "suites", "authors", "cells")
DEV = os.path.realpath(
    os.environ.get("NODESIFT_DEV_BINARY") or os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "debug", "nodesift-dev")
)
ROWS = (
    "print", "log", "clock", "random", "file", "network", "environment", "exit", "exception", "index", "loop", "memory", "stack", "deadlock",
)
# Per language the source of a project, and what installs the packages that its build needs.
LANGUAGES = {
    "go": ("predicate.go", []),
    "ts": ("src/predicate.ts", ["npm install --silent --no-package-lock"]),
    "python": ("predicate.py", ["python3 -m venv .venv", ".venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt"]),
    "c": ("predicate.c", []),
    "rust": ("src/lib.rs", []),
}
# What does not compile: a line to be added at the end of the source.
REFUSED = {
    "ts": {"file": "import { readFileSync } from 'node:fs'; readFileSync('/etc/hostname');"},
    "c": {
        "print": "#include <stdio.h>",
        "clock": "#include <time.h>",
        "random": "#include <stdlib.h> // rand",
        "file": "#include <fcntl.h>",
        "network": "#include <sys/socket.h>",
        "environment": "#include <stdlib.h> // getenv",
        "deadlock": "#include <pthread.h>",
    },
    "rust": {"random": "use rand::random as _;"},
}
# The author's place in the text of a fault, or in what a compiler prints.
PLACE = re.compile(r"((?:src/)?[\w-]+\.(?:go|ts|py|rs|c)):(\d+)")
FUNCTION = re.compile(r"; in ([^;]+)$")
WIDTH = 110


class NotBuilt(Exception):
    """Why a language has no cells here."""


def run(*command, folder=None, shell=False):
    done = subprocess.run(command[0] if shell else command, cwd=folder, shell=shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def one_line(text):
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def of_case(kind, detail, cell_log):
    """Kind, place and text of a cell whose case has run."""
    if kind is None:
        return ("line", "", "; ".join(cell_log)) if cell_log else ("nothing", "", "the node fits, and nothing is written")
    place = PLACE.search(detail)
    function = FUNCTION.search(detail)
    at = f"{place[1]}:{place[2]}" if place else f"in {function[1].split(' < ')[0]}" if function else "no line"
    return kind, at, detail


def refused(project, source, text, line):
    """Kind, place and text of a piece of source that does not compile."""
    path = os.path.join(project, source)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\n{line}\n")
    code, out, err = run(DEV, "module", "build", project, "--output", os.path.join(project, "refused.wasm"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    printed = out + err
    if code == 0:
        return None
    place = PLACE.search(printed)
    said = next((one for one in printed.splitlines() if re.search(r"\berror\b", one, re.IGNORECASE)), printed.strip().splitlines()[-1])
    return "not built", f"{place[1]}:{place[2]}" if place else "no line", said


def cells(language, scratch):
    """The cells of a language by row, and what is wrong with them."""
    source, set_up = LANGUAGES[language]
    project, wrong, found = os.path.join(scratch, f"cells-{language}"), [], {}
    code, _, err = run(DEV, "module", "new", "--lang", language, project)
    if code != 0:
        raise NotBuilt(err.strip())
    for file, to in ((os.path.basename(source), source), ("cases.yaml", "cases.yaml")):
        with open(os.path.join(CELLS, language, file), encoding="utf-8") as read, open(os.path.join(project, to), "w", encoding="utf-8") as write:
            write.write(read.read())
    os.remove(os.path.join(project, "policy.yaml"))
    for command in set_up:
        code, out, err = run(command, folder=project, shell=True)
        if code != 0:
            raise NotBuilt(f"{command}: {(err or out).strip().splitlines()[-1]}")
    code, _, err = run(DEV, "module", "build", project)
    if code != 0:
        raise NotBuilt((err.strip().splitlines() or ["no reason"])[-1])
    code, out, err = run(DEV, "module", "test", project, "-o", "json")
    if code not in (0, 1):
        raise NotBuilt(err.strip())
    for case in json.loads(out)["cases"]:
        fault = case.get("fault", {})
        found[case["name"]] = of_case(fault.get("kind"), fault.get("detail", ""), case["log"])
        wrong += [f"{language}, {case['name']}: expected {one['expected']}, found {one['actual']}" for one in case["differences"]]
    with open(os.path.join(project, source), encoding="utf-8") as file:
        text = file.read()
    for row, line in REFUSED.get(language, {}).items():
        found[row] = refused(project, source, text, line)
        if found[row] is None:
            wrong.append(f"{language}, {row}: {line} compiles")
    return found, wrong + [f"{language}, {row}: no cell" for row in ROWS if row not in found]


def main():
    wanted = sys.argv[1:] or list(LANGUAGES)
    if unknown := [one for one in wanted if one not in LANGUAGES]:
        sys.exit(f"error: no language {' '.join(unknown)}; there are {', '.join(LANGUAGES)}")
    if not os.access(DEV, os.X_OK):
        sys.exit(f"error: {DEV} is not built: make build")
    table, wrong, missing = {}, [], {}
    with tempfile.TemporaryDirectory() as scratch:
        for language in wanted:
            print(f"{language} ...", file=sys.stderr, flush=True)
            try:
                table[language], more = cells(language, scratch)
                wrong += more
            except NotBuilt as why:
                missing[language] = one_line(str(why))
    for row in ROWS:
        print(row)
        for language in wanted:
            kind, place, text = ("not built here", "", "") if language in missing else table[language].get(row) or ("no cell", "", "")
            print(f"  {language:7} {kind:14} {place:22} {one_line(text)}".rstrip())
    built = sum(1 for row in ROWS for language in table if table[language].get(row))
    print(f"{built} of {len(ROWS) * len(wanted)} cells")
    for language, why in missing.items():
        print(f"not built here: {language}: {why}")
    for text in wrong:
        print(f"wrong: {text}")
    sys.exit(1 if wrong or (missing and os.environ.get("CI")) else 0)


main()
