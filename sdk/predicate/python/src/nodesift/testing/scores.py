"""Scores from 0 to 100 of raw scores, as the host makes them over the nodes on which the pod fits. Start at `normalized`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .._scorer import NO_SCORE, Failed, Normalization, Scores, Skip

_MAX_SCORE = 100


@dataclass
class Scoring:
    """What a scorer has done."""

    outcome: Literal["Scored", "Skipped", "Failed"]
    """`Skipped`: it has nothing to say about the pod. `Failed`: it cannot score the pod."""
    error: str | None = None
    """Why it cannot score the pod."""
    raw: dict[str, int] = field(default_factory=dict)
    """What it has returned, by node; nothing of a node without a score."""
    normalized: dict[str, int] = field(default_factory=dict)
    """The scores from 0 to 100 that the host makes of it, of the nodes on which the pod fits."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Level and text of what was written with `log`."""
    read: list[str] = field(default_factory=list)
    """The interfaces that were read."""


def _s64(value: int) -> int:
    """An s64 as sums and products wrap in the host."""
    return (value + 2**63) % 2**64 - 2**63


def _cut(value: int, divisor: int) -> int:
    """A quotient, cut toward zero."""
    return value // divisor if value >= 0 else -(-value // divisor)


def _formula(normalization: Normalization, lowest: int, highest: int) -> Callable[[int], int]:
    """What a normalization makes of a raw score, where these are the smallest and the largest one."""
    match normalization:
        case "none":
            return lambda raw: raw
        case "by-largest" if highest <= 0:
            return lambda raw: raw
        case "by-largest":
            return lambda raw: _cut(_s64(_MAX_SCORE * raw), highest)
        case "by-largest-reversed" if highest <= 0:
            return lambda raw: _MAX_SCORE
        case "by-largest-reversed":
            return lambda raw: _s64(_MAX_SCORE - _cut(_s64(_MAX_SCORE * raw), highest))
        case "by-range":
            distance = _s64(highest - lowest)
            # In this order: 29 of 100 is 28, which exact arithmetic would make 29.
            return lambda raw: int(100.0 * (float(_s64(raw - lowest)) / float(distance))) if distance > 0 else 0
        case "by-distance" if highest <= 0:
            return lambda raw: _MAX_SCORE
        case "by-distance":
            return lambda raw: _cut(_s64(_MAX_SCORE * _s64(_s64(highest + lowest) - raw)), highest)


def normalized(normalization: Normalization, raw: Sequence[int]) -> list[int]:
    """The score of each raw score: 0 where it is none."""
    known = [score for score in raw if score != NO_SCORE]
    if not known:
        return [0] * len(raw)
    score = _formula(normalization, min(known), max(known))
    return [0 if one == NO_SCORE else score(one) for one in raw]


def scoring(normalization: Normalization, scores: Scores, names: Sequence[str], feasible: Sequence[bool]) -> Scoring:
    """What a call has said, by node: `names` are those of its rows, `feasible` whether the pod fits each."""
    if isinstance(scores, Skip):
        return Scoring("Skipped")
    if isinstance(scores, Failed):
        return Scoring("Failed", scores.reason)
    fitting = [(name, score) for name, score, fits in zip(names, scores, feasible, strict=True) if fits]
    made = normalized(normalization, [score for _, score in fitting])
    by_node = dict(zip((name for name, _ in fitting), made, strict=True))
    for name, score in by_node.items():
        if not 0 <= score <= _MAX_SCORE:
            raise ValueError(
                f"the node {name} has the score {score} by the normalization {normalization}: the host takes 0 to 100"
            )
    raw = {name: score for name, score in zip(names, scores, strict=True) if score != NO_SCORE}
    return Scoring("Scored", None, raw, by_node)
