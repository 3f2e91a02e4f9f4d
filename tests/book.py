#!/usr/bin/env python3
"""Checks the book in docs/ and the other Markdown pages: their sizes, that docs/src/SUMMARY.md names every page of the book once, and that
every link to a file of this repository, every anchor, and every name of a source file in the book, ARCHITECTURE.md and CONTRIBUTING.md leads
somewhere.

    tests/book.py            the checks alone, a part of `make style`
    tests/book.py --run      besides, the commands of README.md and of the book, beside a sidecar; a part of `make book` and `make ci`

With `--run` it starts `nodesift serve --sample` and runs what it prints to paste; every `sh` block of README.md but those behind the comment
<!-- not run: why -->; and those `sh` blocks of the book that stand behind <!-- run -->. Lines that begin with `make` are left out. A block
behind <!-- answer --> is what the command before it must print: white space aside, and `…` stands for anything.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BOOK = ROOT / "docs/src"
SUMMARY = BOOK / "SUMMARY.md"
GLOSSARY = BOOK / "glossary.md"
# The most lines of a page: what is longer is read by nobody from top to bottom.
LINES = {"README.md": 150, "ARCHITECTURE.md": 250, "CONTRIBUTING.md": 120}
PAGE_LINES = 200
# The most words with a meaning of our own.
GLOSSARY_ROWS = 30
# Folders whose pages are made, fetched, or filled in later.
SKIPPED = {".git", "target", "node_modules", "templates"}
# How links of the book name files outside of it, which is also right where the book is published.
REPOSITORY = re.compile(r"https://github\.com/nodesift/nodesift/(?:blob|tree)/main/?([^#]*)(?:#(.*))?$")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
FENCE = re.compile(r"\s*```(\w*)")
# A source file between backticks, with the end of its path at least; `{a,b}` stands for either.
SOURCE = re.compile(r"`([\w./-]*)(?:\{([\w,]+)\})?([\w./-]*\.rs)`")
MARK = re.compile(r"<!-- (run|answer|not run:.*) -->$")
# How long the sidecar may take to be ready: with an empty cache it compiles every predicate.
READY_SECONDS = 60 * int(os.environ.get("NODESIFT_TIMEOUT_FACTOR", "1"))
# How many lines `nodesift serve` prints to paste, at least.
PRINTED = 4


def pages():
    """All Markdown files of the repository."""
    for at, folders, names in os.walk(ROOT):
        folders[:] = sorted(set(folders) - SKIPPED)
        yield from (pathlib.Path(at) / name for name in sorted(names) if name.endswith(".md"))


def prose(path):
    """(number, line) of each line of a page that is in no block of code, without code between backticks."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield number, line


def without_code(line):
    return re.sub(r"`[^`]*`", "", line)


def anchors(path):
    """The anchors of a page's headings, as GitHub and mdBook make them."""
    found = []
    for _, line in prose(path):
        if heading := re.match(r"#+ (.*)", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
            found.append(f"{name}-{found.count(name)}" if name in found else name)
    return found


def named(page, link):
    """The file and the anchor that a link of a page names, or nothing for other sites."""
    if inside := REPOSITORY.match(link):
        return ROOT / inside[1], inside[2]
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    return (page.parent / path if path else page), anchor


def problems_of_links(page):
    for number, line in prose(page):
        for link in LINK.findall(without_code(line)):
            target = named(page, link)
            place = f"{page.relative_to(ROOT)}:{number}"
            if not target:
                continue
            path, anchor = target[0].resolve(), target[1]
            if not path.exists():
                yield f"{place}: {link} leads nowhere"
            elif anchor and (path.suffix != ".md" or anchor not in anchors(path)):
                yield f"{place}: {link} names no heading"
            elif BOOK in page.parents and BOOK not in path.parents and not link.startswith("https:"):
                yield f"{place}: {link} leaves the book: give it as https://github.com/nodesift/nodesift/blob/main/…"


def sources():
    """All source files of the repository, as `/folder/file.rs`."""
    for at, folders, names in os.walk(ROOT):
        folders[:] = set(folders) - SKIPPED
        yield from (f"/{os.path.relpath(os.path.join(at, name), ROOT)}" for name in names if name.endswith(".rs"))


def problems_of_sources(page, known):
    if page.name not in LINES and BOOK not in page.parents:
        return
    for number, line in prose(page):
        for before, choices, after in SOURCE.findall(line):
            for choice in choices.split(","):
                if not any(path.endswith(f"/{before}{choice}{after}") for path in known):
                    yield f"{page.relative_to(ROOT)}:{number}: there is no {before}{choice}{after}"


def problems_of_sizes(page):
    name = str(page.relative_to(ROOT))
    most = LINES.get(name, PAGE_LINES if BOOK in page.parents else None)
    lines = len(page.read_text(encoding="utf-8").splitlines())
    if most and lines > most:
        yield f"{name}: {lines} lines, and {most} are the most"
    rows = sum(line.startswith("| ") for _, line in prose(page)) - 1
    if page == GLOSSARY and rows > GLOSSARY_ROWS:
        yield f"{name}: {rows} rows, and {GLOSSARY_ROWS} are the most"


def problems_of_summary():
    listed = [str((BOOK / link).resolve()) for _, line in prose(SUMMARY) for link in LINK.findall(line)]
    for page in sorted(BOOK.rglob("*.md")):
        if page != SUMMARY and listed.count(str(page)) != 1:
            yield f"{page.relative_to(ROOT)}: is {listed.count(str(page))} times in SUMMARY.md"


def check():
    """Prints what is wrong with the pages, and gives how much that is."""
    found, known = list(problems_of_summary()), list(sources())
    number = 0
    for page in pages():
        number += 1
        found += [*problems_of_sizes(page), *problems_of_links(page), *problems_of_sources(page, known)]
    print("".join(f"{problem}\n" for problem in found), end="")
    print(f"{number} pages, {len(list(BOOK.rglob('*.md')))} of them in the book: {len(found)} problems")
    return len(found)


def commands(page, runs_all):
    """(line, command, answer) of each block of a page that is to be run; the answer is nothing where the page does not show it."""
    found, mark, kind, block, is_run = [], None, None, [], False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if kind is None and (fence := FENCE.match(line)):
            kind, block = fence[1] or "text", []
        elif kind is not None and line.strip() == "```":
            text = "".join(f"{part}\n" for part in block if not (kind == "sh" and part.startswith("make ")))
            if mark != "answer":
                is_run = kind == "sh" and bool(text.strip()) and (mark == "run" or (runs_all and mark is None))
                if is_run:
                    found.append([f"{page.relative_to(ROOT)}:{number}", text, None])
            else:
                if not is_run or found[-1][2] is not None:
                    sys.exit(f"error: {page.relative_to(ROOT)}:{number}: no command before this answer is run")
                found[-1][2] = text
            kind = mark = None
        elif kind is not None:
            block.append(line)
        elif marked := MARK.match(line):
            mark = marked[1]
        elif line.strip():
            mark = None
    return found


def differs(answer, output):
    """The first part of an answer that is not in an output, in its order; nothing where all is there."""
    squeezed = "".join(output.split())
    parts = ["".join(part.split()) for part in answer.split("…")]
    at = 0
    for index, part in enumerate(parts):
        found = squeezed.find(part, at)
        if found < 0 or (index == 0 and found > 0):
            return part
        at = found + len(part)
    return None if parts[-1] == "" or squeezed.endswith(parts[-1]) else parts[-1]


def run_all():
    """Runs the commands beside a sidecar, and gives how many failed."""
    products = (ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug").resolve()
    if not (products / "nodesift").exists():
        sys.exit(f"error: {products}/nodesift is not built: run make book")
    if not shutil.which("curl"):
        sys.exit("error: curl is not here: apt-get install curl")
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        # The sidecar's socket goes there, so that one that runs on this machine is left alone.
        environment = dict(os.environ, XDG_RUNTIME_DIR=scratch, PATH=f"{products}:{os.environ['PATH']}")
        printed = pathlib.Path(scratch, "out")
        with open(printed, "w") as out, open(pathlib.Path(scratch, "err"), "w") as err:
            sidecar = subprocess.Popen(["nodesift", "serve", "--sample"], cwd=ROOT, env=environment, stdout=out, stderr=err)
        try:
            listed = [["nodesift serve", line, None] for line in printed_by(sidecar, printed)]
            for page in [ROOT / "README.md", *sorted(BOOK.rglob("*.md"))]:
                listed += commands(page, runs_all=page.name == "README.md" and page.parent == ROOT)
            failed = sum(not run(*each, environment) for each in listed)
        finally:
            sidecar.terminate()
            sidecar.wait()
    answers = sum(answer is not None for _, _, answer in listed)
    print(f"{len(listed)} blocks of commands were run, {answers} with their answers: {failed} failed")
    return failed


def printed_by(sidecar, printed):
    """The commands that the sidecar prints, once it listens: its last line names the examples."""
    deadline = time.monotonic() + READY_SECONDS
    while "predicates/examples" not in printed.read_text():
        if sidecar.poll() is not None:
            sys.exit(f"error: the sidecar does not start: {(printed.parent / 'err').read_text()}")
        if time.monotonic() > deadline:
            sys.exit("error: the sidecar is not ready in time")
        time.sleep(0.1)
    lines = re.findall(r"^ +(curl .*|nodesift explain --server .*)$", printed.read_text(), re.MULTILINE)
    if len(lines) < PRINTED:
        sys.exit(f"error: the sidecar prints {len(lines)} lines to paste, not {PRINTED}")
    return lines


def run(place, command, answer, environment):
    """Runs a block in a shell of its own, and tells whether it does what the page says."""
    child = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    problem = None
    if child.returncode != 0:
        problem = f"ends with exit code {child.returncode}"
    # An answer that names an error is one, whatever the exit code of curl, unless the page shows it.
    elif answer is None and "curl" in command and re.search(r'"error":\{|"Error":"[^"]', child.stdout):
        problem = "is refused"
    elif answer is not None and (missing := differs(answer, child.stdout)) is not None:
        problem = f"does not print what the page shows; first of all not {missing[:200]!r}"
    if problem:
        print(f"{place}: this block {problem}\n{command}\n{child.stdout[-4000:]}{child.stderr[-4000:]}")
    return problem is None


if __name__ == "__main__":
    found = check()
    if sys.argv[1:] == ["--run"]:
        found += run_all()
    sys.exit(found > 0)
