"""Tests of a predicate or a scorer with plain pods and nodes, without wasm and without a sidecar. Start at `Cluster`, or at `cases`."""

from .cases import Case, cases
from .cluster import Cluster, Evaluation
from .facts import Node, Pod
from .scores import Scoring

__all__ = ["Case", "Cluster", "Evaluation", "Node", "Pod", "Scoring", "cases"]
