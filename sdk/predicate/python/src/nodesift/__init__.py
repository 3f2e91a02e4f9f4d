"""Predicates for nodesift in Python: which nodes can run a pod, and why the others cannot.

Scorers: how good each node is on which the pod fits. Start at `node_predicate` or `node_scorer`, or at `predicate` or `scorer` where
speed matters. `nodesift.testing` tests them with plain pods and nodes; `python -m nodesift build` makes a component of one.
"""

from . import log
from ._host import NotListed, facts
from ._nodes import Node, Nodes, Texts
from ._pod import Owner, Pod, Taint, Toleration
from ._predicate import Predicate, by_row, node_predicate, predicate
from ._rows import RowSet
from ._scorer import NO_SCORE, SKIP, Failed, Normalization, Scorer, Skip, failed, node_scorer, scorer
from ._state import config_entry, passed
from ._verdict import ByRow, Failure, Status, error, unresolvable, unschedulable
from .args import ArgumentError

__all__ = [
    "NO_SCORE",
    "SKIP",
    "ArgumentError",
    "ByRow",
    "Failed",
    "Failure",
    "Node",
    "Nodes",
    "Normalization",
    "NotListed",
    "Owner",
    "Pod",
    "Predicate",
    "RowSet",
    "Scorer",
    "Skip",
    "Status",
    "Taint",
    "Texts",
    "Toleration",
    "by_row",
    "config_entry",
    "error",
    "facts",
    "failed",
    "log",
    "node_predicate",
    "node_scorer",
    "passed",
    "predicate",
    "scorer",
    "unresolvable",
    "unschedulable",
]
