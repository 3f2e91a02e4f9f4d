"""Pods on nodes, and the functions of the contract about them.

What the short form of a node says is requested on it is that of a first pod without labels, as in `cases.yaml`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from .facts import Node, Pod
from .row_sets import RowSets

SCHEDULER_NAMES = ("default-scheduler",)
"""Schedulers whose pods are not foreign, where a test names none."""

_NO_LABELS: Mapping[str, str] = {}


def on_node(node: Node, pods: Iterable[Pod]) -> list[Pod]:
    """The pods on a node: those that its short form counts, and those that name it."""
    if node.pods == 0 and node.requested:
        raise ValueError(f"the node {node.name} has 0 pods, but pods on it have requested something")
    count = int(bool(node.requested)) if node.pods is None else node.pods
    counted = [
        Pod(name=f"on-{node.name}-{index}", node_name=node.name, requests=node.requested if index == 0 else {})
        for index in range(count)
    ]
    return counted + [pod for pod in pods if pod.node_name == node.name]


class Running:
    """The pods on the nodes of a call."""

    def __init__(
        self,
        pod: Pod,
        nodes: Sequence[Node],
        pods: Sequence[Pod],
        namespaces: Mapping[str, Mapping[str, str]],
        scheduler_names: Sequence[str],
        device_class_resources: Sequence[str],
    ) -> None:
        self._pod, self._nodes = pod, nodes
        self._rows = [on_node(node, pods) for node in nodes]
        self._namespaces = {
            **namespaces,
            **{given.namespace: given.namespace_labels for given in (*pods, pod) if given.namespace_labels is not None},
        }
        self._own, self._device_class_resources = scheduler_names, device_class_resources

    def functions(self, sets: RowSets) -> dict[str, Any]:
        """The functions about pods on nodes."""
        nodes, rows, own = self._nodes, self._rows, self._own

        def amounts(resource: str, counts: Callable[[Pod], bool]) -> list[int]:
            return [sum(pod.requests.get(resource, 0) for pod in row if counts(pod)) for row in rows]

        def number(counts: Callable[[Pod], bool]) -> list[int]:
            return [sum(map(counts, row)) for row in rows]

        def any_pod(_: Pod) -> bool:
            return True

        def is_foreign(pod: Pod) -> bool:
            return pod.scheduler_name not in own

        def allocatable(resource: str) -> list[int]:
            return [node.allocatable.get(resource, 0) for node in nodes]

        def free(resource: str) -> list[int]:
            return [all - taken for all, taken in zip(allocatable(resource), amounts(resource, any_pod), strict=True)]

        def chosen(selectors: Sequence[Any], terminating: bool) -> Callable[[Pod], bool]:
            return lambda pod: (terminating or not pod.terminating) and self._matches(pod, selectors)

        ports = set(self._pod.host_ports)
        uid = self._pod.uid_of_controller
        return {
            "namespace-labels": SimpleNamespace(label=self._namespaces.get(self._pod.namespace, _NO_LABELS).get),
            "node-resources": SimpleNamespace(
                allocatable=allocatable,
                requested=lambda resource: amounts(resource, any_pod),
                foreign=lambda resource: amounts(resource, is_foreign),
                free=free,
                pods=lambda: number(any_pod),
                foreign_pods=lambda: number(is_foreign),
                pod_limit=lambda: [node.pod_limit for node in nodes],
                pod_room=lambda: [node.pod_limit - len(row) for node, row in zip(nodes, rows, strict=True)],
                device_class_serves=lambda resource: resource in self._device_class_resources,
                rows_with_free=lambda resource, amount: sets.where([left >= amount for left in free(resource)]),
            ),
            "node-non-zero-requests": SimpleNamespace(
                requested=lambda resource: [
                    sum(pod.non_zero_request(resource) for pod in row) if resource in ("cpu", "memory") else 0 for row in rows
                ]
            ),
            "node-ports": SimpleNamespace(
                conflicts=lambda: (
                    bytes(any(ports.intersection(pod.host_ports) for pod in row) for row in rows) if ports else None
                )
            ),
            "cluster-pods": SimpleNamespace(
                matching=lambda selectors, terminating: number(chosen(selectors, terminating)),
                matches_this_pod=lambda selectors: self._matches(self._pod, selectors),
                requested=lambda selectors, resource, terminating: amounts(resource, chosen(selectors, terminating)),
            ),
            "cluster-controllers": SimpleNamespace(
                same_controller=lambda terminating: (
                    None
                    if uid is None
                    else number(
                        lambda pod: (
                            (terminating or not pod.terminating)
                            and pod.namespace == self._pod.namespace
                            and pod.uid_of_controller == uid
                        )
                    )
                )
            ),
        }

    def _matches(self, pod: Pod, selectors: Sequence[Any]) -> bool:
        """Whether a pod matches every selector."""
        return all(self._matches_one(pod, selector) for selector in selectors)

    def _matches_one(self, pod: Pod, selector: Any) -> bool:
        further, labels = selector.namespace_requirements, self._namespaces.get(pod.namespace)
        is_further = further is not None and (not further or (labels is not None and _meets(labels, further)))
        return (pod.namespace in selector.namespaces or is_further) and _meets(pod.labels, selector.requirements)


def _meets(labels: Mapping[str, str], requirements: Sequence[Any]) -> bool:
    """Whether labels meet all requirements."""
    return all(_meets_one(labels, requirement) for requirement in requirements)


def _meets_one(labels: Mapping[str, str], requirement: Any) -> bool:
    value = labels.get(requirement.key)
    # An enum of the component, or its name.
    operator = getattr(requirement.operator, "name", requirement.operator)
    match str(operator).upper().replace("-", "_"):
        case "IN":
            return value is not None and value in requirement.values
        case "NOT_IN":
            return value is None or value not in requirement.values
        case "EXISTS":
            return value is not None
        case "DOES_NOT_EXIST":
            return value is None
    raise ValueError(f"a selector has the operator {operator}: the host ends the call there")
