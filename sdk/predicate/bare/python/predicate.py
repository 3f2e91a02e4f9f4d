"""TeamIsolation with componentize-py: a pod with the label runs only on nodes that have the same label with the same value."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import predicate
from wit_world.imports import node_labels, pod_labels

OTHER_TEAM = predicate.Failure(
    predicate.Status.UNSCHEDULABLE_AND_UNRESOLVABLE, ["node(s) didn't belong to the pod's team"]
)

key = "example.com/team"


class Predicate(exports.Predicate):
    def describe(self) -> predicate.Descriptor:
        return predicate.Descriptor("TeamIsolation", "0.1.0", "rejects nodes that belong to another team than the pod")

    # Of a result, an error is raised.
    def configure(self, args: str) -> None:
        global key
        given = json.loads(args)
        for name in given:
            if name != "label":
                raise Err(f"{name}: unknown field")
        label = given.get("label", key)
        if not isinstance(label, str) or not label:
            raise Err("label: must be a text that is not empty")
        key = label

    def filter(self, rows: int) -> predicate.Verdict:
        team = pod_labels.label(key)
        if team is None:
            return predicate.Verdict_FitsAll()
        # A column has a code per row, and equal texts have equal codes. No code: no node has it.
        wanted = node_labels.code(key, team)
        codes = [0 if code == wanted else 1 for code in node_labels.column(key)]
        return predicate.Verdict_ByRow(predicate.Outcome(codes, [OTHER_TEAM]))
