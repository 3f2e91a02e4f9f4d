"""The component's side, with modules that stand for those of the world."""

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from nodesift import NO_SCORE, SKIP, Node, Nodes, Pod, by_row, failed, node_scorer, predicate, unresolvable

LABELS: dict[str, str] = {}
LINES: list[tuple[str, str]] = []
REJECTED: list[Any] = []


class Err(Exception):
    def __init__(self, value: str) -> None:
        super().__init__(value)
        self.value = value


class Status(Enum):
    UNSCHEDULABLE = 0
    UNSCHEDULABLE_AND_UNRESOLVABLE = 1
    ERROR = 2


def record(name: str, *fields: str) -> type:
    return dataclass(type(name, (), {"__annotations__": dict.fromkeys(fields, Any)}))


FAILURE = record("Failure", "status", "reasons")


def modules() -> dict[str, dict[str, Any]]:
    return {
        "componentize_py_types": {"Err": Err},
        "wit_world": {},
        "wit_world.exports": {},
        "wit_world.exports.predicate": {
            "Status": Status,
            "Failure": FAILURE,
            "Descriptor": record("Descriptor", "name", "version", "summary"),
            "Outcome": record("Outcome", "codes", "failures"),
            "Verdict_FitsAll": record("FitsAll"),
            "Verdict_FitsNone": record("FitsNone", "value"),
            "Verdict_ByRow": record("ByRow", "value"),
        },
        "wit_world.exports.scorer": {
            "Normalization": Enum("Normalization", ["NONE", "BY_LARGEST", "BY_LARGEST_REVERSED", "BY_RANGE", "BY_DISTANCE"]),
            "Scores_Skip": record("Skip"),
            "Scores_ByRow": record("ByRow", "value"),
            "Scores_Failed": record("Failed", "value"),
        },
        "wit_world.imports": {},
        "wit_world.imports.pod_labels": {"label": LABELS.get, "namespace": lambda: "default"},
        "wit_world.imports.row_sets": {
            "Status": Status,
            "Failure": FAILURE,
            "all": lambda: 1,
            "and_": None,
            "or_": None,
            "not_": None,
            "count": None,
            "reject": lambda rows, failure: REJECTED.append((rows, failure)),
        },
        "wit_world.imports.log": {
            "Level": Enum("Level", ["DEBUG", "INFO", "WARN", "ERROR"]),
            "write": lambda level, text: LINES.append((level.name, text)),
        },
    }


@dataclass
class Args:
    key: str = "a"

    def __post_init__(self) -> None:
        if self.key == "crash":
            raise KeyError(self.key)
        if self.key == "full":
            raise MemoryError


@predicate(name="Test", summary="tests", reads=["pod-labels"], args=Args)
def example(pod: Pod, nodes: Nodes, args: Args) -> Any:
    match pod.label(args.key):
        case "crash":
            return {}["team"]
        case "none":
            return unresolvable("none")
        case "rows":
            return by_row([0, 1], [unresolvable("odd")])
        case "sets":
            nodes.reject(nodes.all(), unresolvable("set"))


@node_scorer(name="Test", summary="tests", reads=["pod-labels"], normalization="by-largest-reversed", args=Args)
def example_of_scores(pod: Pod, node: Node, args: Args) -> Any:
    given = pod.label(args.key) or ""
    answers = {"none": NO_SCORE, "skip": SKIP, "failed": failed("odd")}
    return answers[given] if given in answers else int(given)


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, members in modules().items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
        if "." in name:
            parent, child = name.rsplit(".", 1)
            setattr(sys.modules[parent], child, module)
    for kept in (LABELS, LINES, REJECTED):
        kept.clear()
    monkeypatch.setattr("nodesift._host._bound", {})
    yield importlib.import_module("nodesift.guest")
    sys.modules.pop("nodesift.guest")


IMPORTS = ["pod-labels", "row-sets", "log"]
ROOT = __file__.rsplit("/", 1)[0]


@pytest.fixture
def component(guest: Any) -> Any:
    return guest.component(example, "1.2.3", IMPORTS, ROOT)()


def test_a_scorer_has_the_exports_of_both(guest: Any) -> None:
    both = guest.component(example_of_scores, "1", IMPORTS, ROOT)
    scores = guest.scoring(example_of_scores, both)()
    both().configure('{"key": "b"}')
    assert scores.normalize_by().name == "BY_LARGEST_REVERSED"
    assert type(both().filter(2)).__name__ == "FitsAll"
    for given, kind, fields in (
        ("7", "ByRow", {"value": [7, 7]}),
        ("none", "ByRow", {"value": [-(2**63)] * 2}),
        ("skip", "Skip", {}),
        ("failed", "Failed", {"value": "odd"}),
    ):
        LABELS["b"] = given
        found = scores.score(2)
        assert (type(found).__name__, vars(found)) == (kind, fields)
    LABELS["b"] = "x"
    with pytest.raises(ValueError):
        scores.score(2)
    assert LINES[0][1].startswith("ValueError: invalid literal for int() with base 10: 'x', at test_guest.py:")


def test_it_describes_itself_takes_arguments_and_filters(component: Any) -> None:
    assert vars(component.describe()) == {"name": "Test", "version": "1.2.3", "summary": "tests"}
    component.configure("{}")
    assert type(component.filter(2)).__name__ == "FitsAll"
    LABELS["b"] = "none"
    component.configure('{"key": "b"}')
    assert component.filter(2).value == FAILURE(Status.UNSCHEDULABLE_AND_UNRESOLVABLE, ["none"])
    LABELS["b"] = "rows"
    outcome = component.filter(2).value
    assert (outcome.codes, outcome.failures) == ([0, 1], [FAILURE(Status.UNSCHEDULABLE_AND_UNRESOLVABLE, ["odd"])])
    LABELS["b"] = "sets"
    assert type(component.filter(2)).__name__ == "FitsAll"
    assert REJECTED == [(1, FAILURE(Status.UNSCHEDULABLE_AND_UNRESOLVABLE, ["set"]))]


def test_refused_arguments_are_a_text_that_of_a_crash_as_well(component: Any) -> None:
    with pytest.raises(Err) as refused:
        component.configure('{"kye": "b"}')
    assert refused.value.value.startswith("kye: unknown field")
    with pytest.raises(Err) as refused:
        component.configure('{"key": "crash"}')
    assert refused.value.value.startswith("KeyError: 'crash', at test_guest.py:")
    with pytest.raises(Err) as refused:
        component.configure('{"key": "full"}')
    assert refused.value.value.startswith("MemoryError, at test_guest.py:")


def test_an_exception_is_written_with_its_place_and_then_raised(component: Any) -> None:
    component.configure("{}")
    LABELS["a"] = "crash"
    with pytest.raises(KeyError):
        component.filter(2)
    line = example.filter.__code__.co_firstlineno + 4
    assert LINES == [("ERROR", f"KeyError: 'team', at test_guest.py:{line} in example: return {{}}[\"team\"]")]
