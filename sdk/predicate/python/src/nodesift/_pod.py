"""The pod that is being filtered. Each fact is read from the host once a call."""

from typing import Any, NamedTuple

from ._host import facts

_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_OPERATORS = {"EQUAL": "Equal", "EXISTS": "Exists"}


class Taint(NamedTuple):
    """One entry of `spec.taints`."""

    key: str
    value: str
    effect: str
    """`NoSchedule`, `PreferNoSchedule`, `NoExecute` or `Other`."""


class Toleration(NamedTuple):
    """One entry of `spec.tolerations`. An empty key is every key."""

    key: str
    operator: str
    """`Equal`, `Exists` or `Other`."""
    value: str
    effect: str | None
    """As that of a taint; none for every effect."""


class Owner(NamedTuple):
    """The controller of a pod, for example a ReplicaSet of `apps/v1`."""

    api_version: str
    kind: str
    name: str


def effect_text(effect: Any) -> str:
    """The effect of a taint as Kubernetes writes it."""
    return _EFFECTS.get(effect.name, "Other")


class Pod:
    """The pod that is being filtered."""

    __slots__ = ("_annotations", "_labels", "_once")

    def __init__(self) -> None:
        self._labels: dict[str, str | None] = {}
        self._annotations: dict[str, str | None] = {}
        self._once: dict[Any, Any] = {}

    @property
    def namespace(self) -> str:
        """`metadata.namespace`. Reads `pod-labels`."""
        if "namespace" not in self._once:
            self._once["namespace"] = facts("pod-labels", "pod.namespace").namespace()
        return self._once["namespace"]

    def label(self, key: str) -> str | None:
        """The value of a label; none where the pod does not have it. Reads `pod-labels`."""
        try:
            return self._labels[key]
        except KeyError:
            value = self._labels[key] = facts("pod-labels", "pod.label").label(key)
            return value

    def annotation(self, key: str) -> str | None:
        """The value of an annotation that the policy lists. Reads `pod-annotations`."""
        try:
            return self._annotations[key]
        except KeyError:
            value = self._annotations[key] = facts("pod-annotations", "pod.annotation").annotation(key)
            return value

    @property
    def node_name(self) -> str | None:
        """`spec.nodeName`. Reads `pod-placement`."""
        if "node_name" not in self._once:
            self._once["node_name"] = facts("pod-placement", "pod.node_name").node_name()
        return self._once["node_name"]

    @property
    def node_selector(self) -> dict[str, str]:
        """`spec.nodeSelector`. Reads `pod-placement`."""
        if "node_selector" not in self._once:
            self._once["node_selector"] = dict(facts("pod-placement", "pod.node_selector").node_selector())
        return self._once["node_selector"]

    @property
    def tolerations(self) -> list[Toleration]:
        """`spec.tolerations`. Reads `pod-tolerations`."""
        if "tolerations" not in self._once:
            self._once["tolerations"] = [
                Toleration(
                    given.key,
                    _OPERATORS.get(given.operator.name, "Other"),
                    given.value,
                    None if given.effect is None else effect_text(given.effect),
                )
                for given in facts("pod-tolerations", "pod.tolerations").tolerations()
            ]
        return self._once["tolerations"]

    @property
    def requests(self) -> dict[str, int]:
        """The requested amounts: `cpu` in thousandths of a core, `memory` in bytes. Reads `pod-resources`."""
        if "requests" not in self._once:
            requests = facts("pod-resources", "pod.requests").requests()
            self._once["requests"] = {request.resource: request.amount for request in requests}
        return self._once["requests"]

    def request(self, resource: str) -> int:
        """The requested amount of a resource; 0 where the pod requests none. Reads `pod-resources`."""
        return self.requests.get(resource, 0)

    def namespace_label(self, key: str) -> str | None:
        """The value of a label of the pod's Namespace. Reads `namespace-labels`."""
        at = ("namespace", key)
        if at not in self._once:
            self._once[at] = facts("namespace-labels", "pod.namespace_label").label(key)
        return self._once[at]

    def _spec(self, field: str) -> Any:
        if field not in self._once:
            self._once[field] = getattr(facts("pod-spec", f"pod.{field}"), field)()
        return self._once[field]

    @property
    def priority(self) -> int:
        """`spec.priority`; 0 where the pod has none. Reads `pod-spec`, as do the following."""
        return self._spec("priority")

    @property
    def priority_class(self) -> str | None:
        """`spec.priorityClassName`."""
        return self._spec("priority_class")

    @property
    def service_account(self) -> str | None:
        """`spec.serviceAccountName`."""
        return self._spec("service_account")

    @property
    def runtime_class(self) -> str | None:
        """`spec.runtimeClassName`."""
        return self._spec("runtime_class")

    @property
    def host_network(self) -> bool:
        """`spec.hostNetwork`."""
        return self._spec("host_network")

    @property
    def images(self) -> list[str]:
        """The distinct images of its containers, sorted."""
        return self._spec("images")

    @property
    def scheduler_name(self) -> str:
        """`spec.schedulerName`."""
        return self._spec("scheduler_name")

    @property
    def controller(self) -> Owner | None:
        """The object that manages the pod. Reads `pod-owner`."""
        if "controller" not in self._once:
            owner = facts("pod-owner", "pod.controller").controller()
            self._once["controller"] = None if owner is None else Owner(owner.api_version, owner.kind, owner.name)
        return self._once["controller"]
