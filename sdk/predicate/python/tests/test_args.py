from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import pytest
from nodesift import ArgumentError
from nodesift.args import parser


class Mode(Enum):
    SPREAD = "spread"
    PACK = "pack"


@dataclass
class Pool:
    name: str
    share: float = 0.5


@dataclass
class Args:
    label: str
    limit: int = 4
    mode: Mode = Mode.PACK
    level: Literal[1, "all"] = 1
    pools: list[Pool] = field(default_factory=list)
    owners: dict[str, bool] = field(default_factory=dict)
    zone: str | None = None

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit: must be at least 1, not {self.limit}")


def test_what_is_given_is_checked_and_the_rest_has_its_default() -> None:
    text = '{"label": "a", "limit": null, "mode": "spread", "level": "all", "pools": [{"name": "x"}], "owners": {"y": true}}'
    assert parser(Args)(text) == Args("a", 4, Mode.SPREAD, "all", [Pool("x")], {"y": True})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"lable": "a"}', "lable: unknown field `lable`, expected `label`, `limit`, `mode`, `level`, `pools`, `owners`, `zone`"),
        ('{"label": "a", "pools": [{"name": "x", "shear": 1}]}', "pools[0].shear: unknown field `shear`, expected `name`, `share`"),
        ('{"label": 1}', "label: expected a string, not 1"),
        ("{}", "label: missing"),
        ('{"label": "a", "limit": 1.5}', "limit: expected an integer, not 1.5"),
        ('{"label": "a", "limit": true}', "limit: expected an integer, not true"),
        ('{"label": "a", "limit": 0}', "limit: must be at least 1, not 0"),
        ('{"label": "a", "mode": "x"}', 'mode: expected one of "spread", "pack", not "x"'),
        ('{"label": "a", "level": true}', 'level: expected one of 1, "all", not true'),
        ('{"label": "a", "pools": {}}', "pools: expected a list, not {}"),
        ('{"label": "a", "owners": {"y": 1}}', "owners.y: expected true or false, not 1"),
        ('{"label": "a", "zone": 1}', "zone: expected a string, not 1"),
        ("[]", "expected an object, not []"),
    ],
)
def test_what_is_wrong_is_refused_with_its_path(text: str, reason: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        parser(Args)(text)
    assert str(refused.value) == reason


def test_a_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(ArgumentError, match="^the arguments are not JSON"):
        parser(Args)("{")


def test_a_type_that_arguments_cannot_have_is_refused_when_the_predicate_is_defined() -> None:
    @dataclass
    class Wrong:
        at: complex

    with pytest.raises(TypeError, match="an argument cannot be"):
        parser(Wrong)
    with pytest.raises(TypeError, match="must be a dataclass"):
        parser(dict)
