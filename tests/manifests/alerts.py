#!/usr/bin/env python3
"""Checks the alerts of deploy/ with Prometheus' own promtool: `promtool check rules`, and the unit tests of alerts.yaml beside this.

The argument is promtool, by default the one in PATH, else the one that `make alerts` has built into target/tools. Every alert needs a test in which
it fires and one in which it is silent. It needs python3-yaml. Start at main().
"""

import copy
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    sys.exit("error: this reads YAML with python3-yaml, which is not here: apt-get install python3-yaml")

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parents[1] / "deploy" / "kustomize" / "monitoring" / "rules.yaml"
TESTS = HERE / "alerts.yaml"
# An expression without a result, whatever is scraped.
NEVER = "vector(0) > 1"


def promtool(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, (done.stdout + done.stderr).strip()


def without_runbooks(groups):
    """Rules whose annotations are summaries alone: promtool compares all of them, letter by letter."""
    groups = copy.deepcopy(groups)
    for rule in (rule for group in groups for rule in group["rules"]):
        rule["annotations"].pop("runbook", None)
    return groups


def tested(program, folder, groups):
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    shutil.copy(TESTS, folder)
    return promtool(program, "test", "rules", str(folder / TESTS.name))


def expectations():
    """The names of alerts that some test has fire, and of those that some test has silent."""
    fires, silent = set(), set()
    for test in yaml.safe_load(TESTS.read_text())["tests"]:
        for case in test["alert_rule_test"]:
            (fires if case.get("exp_alerts") else silent).add(case["alertname"])
    return fires, silent


def silenced(groups):
    groups = copy.deepcopy(groups)
    for rule in (rule for group in groups for rule in group["rules"]):
        rule["expr"] = NEVER
    return groups


def problems_of(program, folder):
    groups = yaml.safe_load(RULES.read_text())["spec"]["groups"]
    names = [rule["alert"] for group in groups for rule in group["rules"]]
    whole = folder / "whole.yaml"
    whole.write_text(yaml.safe_dump({"groups": groups}))
    code, text = promtool(program, "check", "rules", str(whole))
    if code != 0:
        yield f"promtool check rules: {text}"
    fires, silent = expectations()
    for name in names:
        if name not in fires:
            yield f"{TESTS.name} has no test in which {name} fires"
        if name not in silent:
            yield f"{TESTS.name} has no test in which {name} is silent"
    for name in sorted((fires | silent) - set(names)):
        yield f"{TESTS.name} tests {name}, which is no alert"
    groups = without_runbooks(groups)
    code, text = tested(program, folder, groups)
    if code != 0:
        yield f"promtool test rules: {text}"
        return
    if tested(program, folder, silenced(groups))[0] == 0:
        yield "the tests pass where no alert ever fires"


def main():
    tools = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")) / "tools"
    program = sys.argv[1] if len(sys.argv) > 1 else shutil.which("promtool") or shutil.which("promtool", path=tools)
    if not program:
        print("not run: the alerts are tested with promtool, which is not here; make alerts builds it")
        return
    with tempfile.TemporaryDirectory() as folder:
        problems = list(problems_of(program, pathlib.Path(folder)))
    for text in problems:
        print(f"error: {text}")
    fires, _ = expectations()
    print(f"{len(fires)} alerts tested with promtool, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
