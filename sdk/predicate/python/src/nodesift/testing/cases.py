"""The cases of `cases.yaml` as unit tests: evaluated here, without the sandbox.

`nodesift-dev` reads the file, and compares what was found with what the case expects, so that a case means the same as in
`nodesift-dev module test`. Start at `cases`.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._pod import Owner, Taint, Toleration
from .._predicate import Predicate
from .._verdict import Status
from ..args import ArgumentError
from .cluster import Cluster
from .facts import Node, Pod
from .limit import Deadline

_CODES = {
    Status.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Status.UNSCHEDULABLE: "Unschedulable",
    Status.ERROR: "Error",
}
"""Names of the status codes, as cases have them."""


@dataclass(frozen=True)
class Case:
    """A case of a file: what the predicate is to say of a pod and of nodes."""

    file: str
    name: str
    line: int
    args: Mapping[str, Any]
    skip: str | None
    """Why no unit test can evaluate it; none where one can."""
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return self.name

    def check(self, predicate: Predicate) -> None:
        """Raises `AssertionError` where the predicate answers otherwise than the case expects, and skips a case that unit tests cannot
        evaluate.
        """
        __tracebackhide__ = True
        if self.skip is not None:
            # Only tests import it, and these run in pytest.
            import pytest

            pytest.skip(self.skip)
        found = [{"name": self.name, **self._found(predicate)}]
        failure = _asked(self.file, ["--answers", "-"], json.dumps(found))[0]["failure"]
        if failure is not None:
            raise AssertionError(failure.rstrip())

    def _found(self, predicate: Predicate) -> dict[str, Any]:
        cluster = _cluster(self.fields)
        try:
            predicate.configure(json.dumps(self.args))
        except ArgumentError as refused:
            return {"refused": str(refused)}
        try:
            done = cluster.evaluate(predicate, self.args)
        except (Exception, Deadline) as raised:
            return {"fault": f"{type(raised).__name__}: {raised}"}
        rejected = {
            node.name: {"code": _CODES[failure.status], "reasons": list(failure.reasons)}
            for node, failure in zip(cluster.nodes, done.failures, strict=True)
            if failure is not None
        }
        return {"rejected": rejected, "log": [{"level": level, "text": str(text)} for level, text in done.lines]}


def cases(file: str | os.PathLike[str] = "cases.yaml") -> list[Case]:
    """The cases of a file, in its order: `@pytest.mark.parametrize("case", cases(), ids=str)`."""
    path = os.fspath(file)
    return [
        Case(path, given["name"], given["line"], given["args"], given.get("skip"), given.get("cluster", {}))
        for given in _asked(path, [])
    ]


def _asked(file: str, given: Sequence[str], text: str | None = None) -> list[dict[str, Any]]:
    """What `nodesift-dev module cases` prints."""
    program = os.environ.get("NODESIFT_DEV", "nodesift-dev")
    try:
        done = subprocess.run(
            [program, "module", "cases", file, *given], input=text, capture_output=True, encoding="utf-8", check=False
        )
    except OSError as error:
        raise RuntimeError(f"{program} does not run, which reads {file}: {error}") from None
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    found: list[dict[str, Any]] = json.loads(done.stdout)["cases"]
    return found


def _cluster(fields: Mapping[str, Any]) -> Cluster:
    return Cluster(
        pod=_pod(fields["pod"]),
        nodes=[_node(node) for node in fields["nodes"]],
        pods=[_pod(pod) for pod in fields["pods"]],
        namespaces=fields["namespaces"],
        scheduler_names=fields["schedulerNames"],
        device_class_resources=fields["deviceClassResources"],
        now=fields["now"],
        config_maps=fields["configMaps"],
    )


def _snake(name: str) -> str:
    """The field of a dataclass that a field of a case is."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _pod(given: Mapping[str, Any]) -> Pod:
    fields = {_snake(name): value for name, value in given.items()}
    fields["tolerations"] = [
        Toleration(one["key"], one["operator"], one["value"], one.get("effect")) for one in fields["tolerations"]
    ]
    controller = fields.pop("controller", None)
    if controller is not None:
        fields["controller"] = Owner(controller["apiVersion"], controller["kind"], controller["name"])
        fields["controller_uid"] = controller.get("uid")
    return Pod(**fields)


def _node(given: Mapping[str, Any]) -> Node:
    fields = {_snake(name): value for name, value in given.items()}
    fields["taints"] = [Taint(one["key"], one["value"], one["effect"]) for one in fields["taints"]]
    return Node(**fields)
