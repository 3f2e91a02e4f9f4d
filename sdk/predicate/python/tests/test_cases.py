"""Tests that cases of `cases.yaml` pass and fail as they do in `nodesift-dev module test`."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from nodesift import Nodes, Pod, predicate, unresolvable
from nodesift.testing import Case, cases

FOLDER = next(folder / "cases" for folder in Path(__file__).parents if (folder / "cases" / "cases.yaml").is_file())
ALL = cases(FOLDER / "cases.yaml")
OTHERS = unresolvable("node(s) didn't belong to the pod's team")


@dataclass(frozen=True)
class Args:
    label: str


@predicate(name="Team", summary="tests", reads=["pod-labels", "node-labels"], args=Args)
def team(pod: Pod, nodes: Nodes, args: Args) -> None:
    own = pod.label(args.label)
    if own is not None:
        nodes.reject(~nodes.label_in(args.label, [own]), OTHERS)


@pytest.mark.parametrize("case", [case for case in ALL if not case.name.startswith("fails")], ids=str)
def test_cases(case: Case) -> None:
    case.check(team)


def test_a_case_that_fails_says_where_it_is_and_what_was_expected_and_found() -> None:
    fails = next(case for case in ALL if case.name.startswith("fails"))
    with pytest.raises(AssertionError) as raised:
        fails.check(team)
    assert str(raised.value).replace(fails.file, "cases.yaml") == (FOLDER / "failed.txt").read_text().rstrip()


def test_an_exception_is_what_a_case_has_found() -> None:
    @predicate(name="Raises", summary="tests", reads=[], args=Args)
    def raises(pod: Pod, nodes: Nodes, args: Args) -> None:
        [].pop()

    with pytest.raises(AssertionError, match=r"- a verdict\n  \+ the fault Trap: IndexError: pop from empty list"):
        ALL[0].check(raises)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"none\.yaml"):
        cases("none.yaml")
