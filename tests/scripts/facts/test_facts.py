"""The functions of unit tests in Python answer as those in JavaScript, which `cases.mjs` has written and the host has confirmed."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from nodesift.testing.cases import _cluster, cases
from nodesift.testing.row_sets import RowSets

ANSWER = re.compile(r"([a-z-]+)\.(\w+)\((.*?)\) (.+)")
CASES = cases("cases.yaml")
with open("cases.yaml", encoding="utf-8") as file:
    REASONS = [next(iter(case["rejects"].values())) for case in json.load(file)["cases"]]


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def given(value: Any) -> Any:
    """A parameter, as Python has it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{snake(name): given(field) for name, field in value.items()})
    return [given(item) for item in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """A value, in one form for both languages: a record is its fields in Python, an enum its text in the contract."""
    if isinstance(value, SimpleNamespace):
        value = vars(value)
        if list(value) == ["name"] and value["name"].isupper():
            return value["name"].lower().replace("_", "-")
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        # The alternative of a variant is the name of a class in Python.
        names = {"val": "value"}
        return {names.get(name, snake(name)): plain(field) for name, field in value.items() if name != "tag"}
    if isinstance(value, (list, tuple, bytes)):
        return [plain(item) for item in value]
    # A number in JavaScript.
    return float(value) if type(value) is int else value


@pytest.mark.parametrize(("case", "reasons"), zip(CASES, REASONS, strict=True), ids=map(str, CASES))
def test_answers(case: Any, reasons: list[str]) -> None:
    cluster = _cluster(case.fields)
    for reason in reasons:
        found = ANSWER.fullmatch(reason)
        assert found is not None, reason
        interface, call, parameters, expected = found.groups()
        sources = cluster.functions(cluster.nodes, RowSets(len(cluster.nodes)))[interface]
        function = next(getattr(source, snake(call)) for source in sources if hasattr(source, snake(call)))
        answer = function(*given(json.loads(f"[{parameters}]")))
        assert plain(answer) == plain(json.loads(expected)), reason
