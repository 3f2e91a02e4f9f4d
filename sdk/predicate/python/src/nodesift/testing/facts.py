"""Plain pods and nodes, and the functions of the contract over them.

Amounts are in the contract's units: `cpu` in thousandths of a core, `memory` in bytes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .._pod import Owner, Taint, Toleration
from .moments import MOMENTS, Moments
from .row_sets import RowSets

_NO_INTEGER = -(2**63)
_INTEGER = re.compile(r"[+-]?\d+")
_CONDITIONS = {"": 0, "True": 1, "False": 2}
_UNNAMED = {"cpu": 100, "memory": 200 * 2**20}
"""Millicores and bytes of a container that names none, where pods are scored."""
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


def _effect(text: str) -> Any:
    return SimpleNamespace(name=_EFFECTS.get(text, "OTHER"))


def _tagged(image: str) -> str:
    """The name of an image with a tag."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


@dataclass
class Pod:
    """The pod that is filtered, or one on a node. What is left out is empty."""

    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_name: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Toleration] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] | None = None
    """The labels of its Namespace; without them there is no such object, unless the cluster has it."""
    priority: int = 0
    priority_class: str | None = None
    service_account: str | None = None
    runtime_class: str | None = None
    host_network: bool = False
    images: Sequence[str] = ()
    """Images of its containers, one each. Without any it has one container, whose image is `image`."""
    scheduler_name: str = "default-scheduler"
    controller: Owner | None = None
    controller_uid: str | None = None
    """The UID of the controller; by default one for each namespace, kind and name."""
    host_ports: Sequence[int] = ()
    name: str = "pod"
    terminating: bool = False
    """Whether it has a deletion timestamp."""
    non_zero_requests: Mapping[str, int] | None = None
    """What counts of it where pods are scored.

    By default that of a pod whose first container has the requests, one for each image.
    """
    container_images: Sequence[str] | None = None
    """The images of its containers as scores compare them: with a tag. By default `images`."""

    def __post_init__(self) -> None:
        # Every pod has a container. Its image has this name where `cases.yaml` gives it none.
        self.images = self.images or ("image",)

    def non_zero_request(self, resource: str) -> int:
        """The amount of a resource that counts where pods are scored: the first container has the requests, as in `cases.yaml`."""
        if self.non_zero_requests is not None:
            return self.non_zero_requests.get(resource, 0)
        unnamed = _UNNAMED.get(resource, 0)
        return self.requests.get(resource, unnamed) + (len(self.images) - 1) * unnamed

    @property
    def uid_of_controller(self) -> str | None:
        """The UID of the controller; none where the pod has none."""
        if self.controller is None:
            return None
        return self.controller_uid or "/".join((self.namespace, self.controller.kind, self.controller.name))

    def tolerates(self, taint: Taint) -> bool:
        """Whether the pod tolerates the taint."""
        return any(
            (given.key == taint.key if given.key else given.operator == "Exists")
            and given.effect in (None, taint.effect)
            and (given.operator == "Exists" or (given.operator == "Equal" and given.value == taint.value))
            for given in self.tolerations
        )

    def functions(self) -> dict[str, Any]:
        """The functions about this pod."""
        tolerations = [
            SimpleNamespace(
                key=given.key,
                operator=SimpleNamespace(name=given.operator.upper()),
                value=given.value,
                effect=None if given.effect is None else _effect(given.effect),
            )
            for given in self.tolerations
        ]
        requests = [SimpleNamespace(resource=name, amount=amount) for name, amount in self.requests.items()]
        given = self.requests if self.non_zero_requests is None else self.non_zero_requests
        non_zero = [
            SimpleNamespace(resource=name, amount=self.non_zero_request(name)) for name in sorted({*_UNNAMED, *given})
        ]
        images = list(map(_tagged, self.images) if self.container_images is None else self.container_images)
        return {
            "pod-labels": SimpleNamespace(namespace=lambda: self.namespace, label=self.labels.get),
            "pod-annotations": SimpleNamespace(annotation=self.annotations.get),
            "pod-placement": SimpleNamespace(
                node_name=lambda: self.node_name,
                node_selector=lambda: sorted(self.node_selector.items()),
                required_terms=lambda: None,
            ),
            "pod-tolerations": SimpleNamespace(tolerations=lambda: tolerations),
            "pod-resources": SimpleNamespace(requests=lambda: requests),
            "pod-non-zero-requests": SimpleNamespace(requests=lambda: non_zero),
            "pod-images": SimpleNamespace(containers=lambda: images),
            "pod-spec": SimpleNamespace(
                priority=lambda: self.priority,
                priority_class=lambda: self.priority_class,
                service_account=lambda: self.service_account,
                runtime_class=lambda: self.runtime_class,
                host_network=lambda: self.host_network,
                images=lambda: sorted({image for image in self.images if image}),
                scheduler_name=lambda: self.scheduler_name,
            ),
            "pod-owner": SimpleNamespace(
                controller=lambda: self.controller, controller_uid=lambda: self.uid_of_controller
            ),
            "pod-volumes": SimpleNamespace(owner=lambda: (self.namespace, self.name, "")),
        }


@dataclass
class Node(Moments):
    """A node. What is left out is empty."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    taints: Sequence[Taint] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    requested: Mapping[str, int] = field(default_factory=dict)
    pods: int | None = None
    """The pods on it, besides those of the cluster that name it; by default one where something is requested."""
    pod_limit: int = 110
    conditions: Mapping[str, str] = field(default_factory=dict)
    info: Mapping[str, str] = field(default_factory=dict)
    images: Sequence[str] = ()
    image_sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes of some of these images in bytes; 0 by default."""
    infeasible: bool = False
    """Whether a predicate of the policy rejects the pod on it, where nodes are scored."""
    sums: Mapping[str, int] = field(default_factory=dict)
    """What accounting components say of it and of the pods on it, by the name of the sum."""


def node_functions(nodes: Sequence[Node], pod: Pod, sets: RowSets) -> dict[str, Any]:
    """The functions about these nodes."""
    names = [node.name for node in nodes]
    taints = [
        [SimpleNamespace(key=taint.key, value=taint.value, effect=_effect(taint.effect)) for taint in node.taints]
        for node in nodes
    ]

    def blocks(taint: Taint) -> bool:
        return taint.effect in ("NoSchedule", "NoExecute") and not pod.tolerates(taint)

    functions = {
        "node-identity": SimpleNamespace(
            names=lambda: names, row=lambda name: names.index(name) if name in names else None
        ),
        "node-labels": _texts([node.labels for node in nodes], sets),
        "node-annotations": _texts([node.annotations for node in nodes], sets),
        "node-taints": SimpleNamespace(
            unschedulable=lambda: bytes(node.unschedulable for node in nodes),
            sets=lambda: [[], *taints],
            column=lambda: [row + 1 for row in range(len(nodes))],
            rows_unschedulable=lambda: sets.of(lambda row: nodes[row].unschedulable),
            rows_untolerated=lambda: sets.of(lambda row: any(map(blocks, nodes[row].taints))),
        ),
        "node-sums": SimpleNamespace(column=lambda name: [node.sums.get(name, 0) for node in nodes]),
        "node-conditions": SimpleNamespace(
            column=lambda type: bytes(_CONDITIONS.get(node.conditions.get(type, ""), 3) for node in nodes)
        ),
        "node-info": _texts([node.info for node in nodes], sets),
        "cluster-candidates": SimpleNamespace(feasible=lambda: b"\x01" * len(nodes)),
        "cluster-images": SimpleNamespace(
            size=lambda image: next((node.image_sizes.get(image, 0) for node in nodes if image in node.images), 0)
        ),
        "node-images": SimpleNamespace(present=lambda image: bytes(image in node.images for node in nodes)),
    }
    for interface, moment in MOMENTS:
        functions.setdefault(interface, SimpleNamespace())
        setattr(functions[interface], moment, lambda moment=moment: [getattr(node, moment) for node in nodes])
    return functions


def state_functions(now: int, config_maps: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The functions that are about neither the pod nor a node: at this moment, with these ConfigMaps."""
    return {
        "time": SimpleNamespace(passed=lambda at: now >= at),
        "config-maps": SimpleNamespace(entry=lambda config_map, key: config_maps.get(config_map, {}).get(key)),
    }


def _texts(rows: Sequence[Mapping[str, str]], sets: RowSets) -> Any:
    """Labels or annotations by key: codes, and the texts behind them."""

    def dictionary(key: str) -> list[str]:
        return ["", *sorted({row[key] for row in rows if key in row})]

    def code(key: str, text: str) -> int | None:
        texts = dictionary(key)[1:]
        return texts.index(text) + 1 if text in texts else None

    def integer(text: str) -> int:
        return int(text) if _INTEGER.fullmatch(text) else _NO_INTEGER

    return SimpleNamespace(
        column=lambda key: [(code(key, row[key]) or 0) if key in row else 0 for row in rows],
        dictionary=dictionary,
        code=code,
        integers=lambda key: [integer(text) for text in dictionary(key)],
        rows_in=lambda key, values: sets.of(lambda row: key in rows[row] and rows[row][key] in values),
        rows_with=lambda key: sets.of(lambda row: key in rows[row]),
    )
