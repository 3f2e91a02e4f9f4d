"""Predicates for nodesift in Python: which nodes can run a pod, and why the others cannot.

Start at `node_predicate`, or at `predicate` where speed matters. `nodesift.testing` tests a predicate with plain pods and
nodes; `python -m nodesift build` makes a component of it.
"""

from . import log
from ._host import NotListed, facts
from ._nodes import Node, Nodes, Texts
from ._pod import Owner, Pod, Taint, Toleration
from ._predicate import Predicate, by_row, node_predicate, predicate
from ._rows import RowSet
from ._state import config_entry, passed
from ._verdict import ByRow, Failure, Status, error, unresolvable, unschedulable
from .args import ArgumentError

__all__ = [
    "ArgumentError",
    "ByRow",
    "Failure",
    "Node",
    "Nodes",
    "NotListed",
    "Owner",
    "Pod",
    "Predicate",
    "RowSet",
    "Status",
    "Taint",
    "Texts",
    "Toleration",
    "by_row",
    "config_entry",
    "error",
    "facts",
    "log",
    "node_predicate",
    "passed",
    "predicate",
    "unresolvable",
    "unschedulable",
]
