"""Tests of a predicate with plain pods and nodes, without wasm and without a sidecar. Start at `Cluster`, or at `cases`."""

from .cases import Case, cases
from .cluster import Cluster, Evaluation
from .facts import Node, Pod

__all__ = ["Case", "Cluster", "Evaluation", "Node", "Pod", "cases"]
