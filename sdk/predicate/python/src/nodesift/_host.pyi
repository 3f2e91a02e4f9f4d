"""What `facts(name)` returns, and what else `_host` has. Made from the contract by `make contract`; not to be edited."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

class NotListed(Exception): ...

def bind(functions: Mapping[str, Any]) -> Mapping[str, Any]: ...
def write(level: str, text: str) -> None: ...

class PodPlacementRequirement(Protocol):
    """A NodeSelectorRequirement: `key operator values`."""
    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> Any: ...
    @property
    def values(self) -> list[str]: ...

class PodPlacementTerm(Protocol):
    """A NodeSelectorTerm: all of its requirements must hold. A term without requirements matches no node."""
    @property
    def expressions(self) -> list[PodPlacementRequirement]: ...
    @property
    def fields(self) -> list[PodPlacementRequirement]: ...

class PodPlacementPreferredTerm(Protocol):
    """A PreferredSchedulingTerm: a number that a node is worth which matches the term. Since 0.2."""
    @property
    def weight(self) -> int: ...
    @property
    def preference(self) -> PodPlacementTerm: ...

class PodTolerationsToleration(Protocol):
    """One entry of `spec.tolerations`."""
    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> Any: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> Any | None: ...

class PodResourcesRequest(Protocol):
    """The requested amount of one resource."""
    @property
    def resource(self) -> str: ...
    @property
    def amount(self) -> int: ...

class SelectorsRequirement(Protocol):
    """A LabelSelectorRequirement: `key operator values`."""
    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> Any: ...
    @property
    def values(self) -> list[str]: ...
    @property
    def operator_text(self) -> str: ...

class SelectorsLabelSelector(Protocol):
    """A meta/v1 LabelSelector as written, unvalidated. All parts must hold. A selector without parts matches
    everything.
    """
    @property
    def match_labels(self) -> list[tuple[str, str]]: ...
    @property
    def match_expressions(self) -> list[SelectorsRequirement]: ...

class PodSpreadConstraint(Protocol):
    """One entry of `spec.topologySpreadConstraints`."""
    @property
    def max_skew(self) -> int: ...
    @property
    def topology_key(self) -> str: ...
    @property
    def when_unsatisfiable(self) -> Any: ...
    @property
    def selector(self) -> SelectorsLabelSelector | None: ...
    @property
    def min_domains(self) -> int | None: ...
    @property
    def node_affinity_policy(self) -> Any | None: ...
    @property
    def node_taints_policy(self) -> Any | None: ...
    @property
    def match_label_keys(self) -> list[str]: ...

class PodAffinityTerm(Protocol):
    """A PodAffinityTerm of the Kubernetes API, as written."""
    @property
    def selector(self) -> SelectorsLabelSelector | None: ...
    @property
    def namespaces(self) -> list[str]: ...
    @property
    def namespace_selector(self) -> SelectorsLabelSelector | None: ...
    @property
    def topology_key(self) -> str: ...
    @property
    def match_label_keys(self) -> list[str]: ...
    @property
    def mismatch_label_keys(self) -> list[str]: ...

class PodVolumesDisk(Protocol):
    """A disk that the pod names directly, without a claim."""
    @property
    def kind(self) -> Any: ...
    @property
    def id(self) -> str: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def monitors(self) -> list[str]: ...

class PodVolumesClaimRef(Protocol):
    """A reference to a PersistentVolumeClaim."""
    @property
    def name(self) -> str: ...
    @property
    def ephemeral(self) -> bool: ...

class PodOwnerOwner(Protocol):
    """An object that owns pods."""
    @property
    def api_version(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...

class PodClaimsNanoUnits(Protocol):
    """An amount in billionths: `high` × 2^64 + `low`."""
    @property
    def high(self) -> int: ...
    @property
    def low(self) -> int: ...

class PodClaimsAmount(Protocol):
    """A quantity of the Kubernetes API."""
    @property
    def nano_units(self) -> PodClaimsNanoUnits: ...
    @property
    def units(self) -> int: ...

class PodClaimsObstacle(Protocol):
    """Why no claim of the pod can be allocated on any node."""
    @property
    def text(self) -> str: ...
    @property
    def is_error(self) -> bool: ...

class PodClaimsClass(Protocol):
    """A DeviceClass that is asked for by its name."""
    @property
    def name(self) -> str: ...
    @property
    def selectors(self) -> list[str] | None: ...

class PodClaimsToleration(Protocol):
    """A toleration of a request, with the fields of the Kubernetes API as written; empty where they are absent."""
    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...

class PodClaimsAsked(Protocol):
    """The devices that a request, or one of its alternatives, asks for."""
    @property
    def own_name(self) -> str: ...
    @property
    def is_alternative(self) -> bool: ...
    @property
    def class_(self) -> PodClaimsClass: ...
    @property
    def selectors(self) -> list[str | None]: ...
    @property
    def mode(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def admin_access(self) -> bool: ...
    @property
    def tolerations(self) -> list[PodClaimsToleration]: ...
    @property
    def capacity(self) -> list[tuple[str, PodClaimsAmount]]: ...

class PodClaimsRequest(Protocol):
    """A request of a claim."""
    @property
    def base(self) -> str: ...
    @property
    def alternatives(self) -> list[PodClaimsAsked]: ...

class PodClaimsConstraint(Protocol):
    """A constraint over the devices of a claim."""
    @property
    def requests(self) -> list[str]: ...
    @property
    def kind(self) -> Any: ...

class PodClaimsUnallocated(Protocol):
    """A claim that has to be allocated."""
    @property
    def requests(self) -> list[PodClaimsRequest]: ...
    @property
    def constraints(self) -> list[PodClaimsConstraint]: ...

class PodClaimsContainerResource(Protocol):
    """An extended resource in the requests of a container."""
    @property
    def key(self) -> int: ...
    @property
    def resource(self) -> int: ...
    @property
    def count(self) -> int: ...

class PodClaimsContainer(Protocol):
    """A container of the pod."""
    @property
    def is_short(self) -> bool: ...
    @property
    def resources(self) -> list[PodClaimsContainerResource]: ...

class PodClaimsExtendedResource(Protocol):
    """An extended resource that the pod requests."""
    @property
    def class_(self) -> PodClaimsClass | None: ...
    @property
    def own(self) -> bytes: ...

class PodClaimsExtendedResources(Protocol):
    """The extended resources of the pod, at least one of which a DeviceClass provides."""
    @property
    def claim(self) -> Any: ...
    @property
    def resources(self) -> list[PodClaimsExtendedResource]: ...

class NodeTaintsTaint(Protocol):
    """One entry of a node's `spec.taints`."""
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> Any: ...

class NodeDevicesQuery(Protocol):
    """The facts that are asked for about devices. At most 4,096 lists with 16,384 expressions in all, and 4,096
    attributes.
    """
    @property
    def selector_lists(self) -> list[list[str]]: ...
    @property
    def attributes(self) -> list[str]: ...
    @property
    def names(self) -> bool: ...

class NodeDevicesPool(Protocol):
    """A pool of devices."""
    @property
    def driver(self) -> int: ...
    @property
    def state(self) -> Any: ...
    @property
    def devices(self) -> int: ...
    @property
    def counters(self) -> int: ...

class NodeDevicesCounter(Protocol):
    """A counter of a pool."""
    @property
    def total(self) -> PodClaimsNanoUnits: ...
    @property
    def held(self) -> PodClaimsNanoUnits: ...

class NodeDevicesHeld(Protocol):
    """The amount of one capacity of a device that shares of it hold."""
    @property
    def device(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def amount(self) -> PodClaimsNanoUnits: ...

class NodeDevicesRange(Protocol):
    """A range of amounts."""
    @property
    def min(self) -> PodClaimsAmount | None: ...
    @property
    def max(self) -> PodClaimsAmount | None: ...
    @property
    def step(self) -> PodClaimsAmount | None: ...

class NodeDevicesCapacity(Protocol):
    """A capacity of a device."""
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> PodClaimsAmount: ...
    @property
    def default(self) -> PodClaimsAmount | None: ...
    @property
    def valid_values(self) -> list[PodClaimsAmount]: ...
    @property
    def valid_range(self) -> NodeDevicesRange | None: ...

class NodeDevicesKind(Protocol):
    """The properties that devices of one kind have in common: everything but name, attributes and use."""
    @property
    def matches(self) -> list[Any]: ...
    @property
    def reaches(self) -> Any: ...
    @property
    def taints(self) -> int: ...
    @property
    def multiple_allocations(self) -> bool: ...
    @property
    def capacities(self) -> list[NodeDevicesCapacity]: ...
    @property
    def consumes(self) -> list[tuple[int, PodClaimsNanoUnits]]: ...

class NodeDevicesTaint(Protocol):
    """A taint of a device, with the fields of the Kubernetes API as written; empty where they are absent."""
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...

class NodeDevicesDeviceColumns(Protocol):
    """Devices as columns. First the pools of situation 0 in kube-scheduler's order, which has pools with binding conditions last;
    then those of situation 1, and so on. Counters and devices follow each other in the order of pools.
    """
    @property
    def codes(self) -> list[int]: ...
    @property
    def situations(self) -> list[Any]: ...
    @property
    def pools(self) -> list[NodeDevicesPool]: ...
    @property
    def counters(self) -> list[NodeDevicesCounter]: ...
    @property
    def device_kinds(self) -> list[int]: ...
    @property
    def in_use(self) -> bytes: ...
    @property
    def held(self) -> list[NodeDevicesHeld]: ...
    @property
    def values(self) -> list[int]: ...
    @property
    def pool_names(self) -> list[str]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def kinds(self) -> list[NodeDevicesKind]: ...
    @property
    def drivers(self) -> list[str]: ...
    @property
    def taints(self) -> list[list[NodeDevicesTaint]]: ...

class NodePartiesPartyColumn(Protocol):
    """The answers of one party, as a column with a dictionary of reasons."""
    @property
    def party(self) -> str: ...
    @property
    def states(self) -> bytes: ...
    @property
    def reasons(self) -> list[int]: ...
    @property
    def texts(self) -> list[str]: ...
    @property
    def unknown_fits(self) -> bool: ...

class ClusterPodsPodSelector(Protocol):
    """Selects pods by namespace and by labels. Both parts must hold."""
    @property
    def namespaces(self) -> list[str]: ...
    @property
    def namespace_requirements(self) -> list[SelectorsRequirement] | None: ...
    @property
    def requirements(self) -> list[SelectorsRequirement]: ...

class ClusterVolumeUseDiskUser(Protocol):
    """A use of a disk by a pod on a node."""
    @property
    def row(self) -> int: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def monitors(self) -> list[str]: ...

class ClusterAttachmentsAttachment(Protocol):
    """A volume of a CSI driver."""
    @property
    def driver(self) -> str: ...
    @property
    def handle(self) -> str: ...

class ClusterAttachmentsUncountedPod(Protocol):
    """A pod on a node whose volumes cannot be counted."""
    @property
    def row(self) -> int: ...
    @property
    def namespace(self) -> str: ...
    @property
    def pod(self) -> str: ...
    @property
    def obstacle(self) -> Any: ...

class ClusterStorageClaim(Protocol):
    """A PersistentVolumeClaim, with the fields that kube-scheduler reads."""
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def volume_name(self) -> str: ...
    @property
    def class_name(self) -> str | None: ...
    @property
    def access_modes(self) -> list[str]: ...
    @property
    def requested(self) -> int | None: ...
    @property
    def volume_mode(self) -> str: ...
    @property
    def attributes_class(self) -> str: ...
    @property
    def selector(self) -> SelectorsLabelSelector | None: ...
    @property
    def bind_completed(self) -> bool: ...
    @property
    def selected_node(self) -> str | None: ...
    @property
    def phase(self) -> str: ...
    @property
    def deleting(self) -> bool: ...
    @property
    def controller_uid(self) -> str | None: ...
    @property
    def has_data_source(self) -> bool: ...
    @property
    def labels(self) -> list[tuple[str, str]]: ...

class ClusterStorageVolume(Protocol):
    """A PersistentVolume, with the fields that kube-scheduler reads."""
    @property
    def name(self) -> str: ...
    @property
    def class_name(self) -> str: ...
    @property
    def access_modes(self) -> list[str]: ...
    @property
    def capacity(self) -> int: ...
    @property
    def volume_mode(self) -> str: ...
    @property
    def attributes_class(self) -> str: ...
    @property
    def labels(self) -> list[tuple[str, str]]: ...
    @property
    def node_terms(self) -> list[PodPlacementTerm] | None: ...
    @property
    def claim_ref(self) -> tuple[str, str, str] | None: ...
    @property
    def phase(self) -> str: ...
    @property
    def deleting(self) -> bool: ...
    @property
    def in_tree_plugin(self) -> str: ...
    @property
    def driver(self) -> str: ...
    @property
    def handle(self) -> str: ...

class ClusterStorageClass(Protocol):
    """A StorageClass, with the fields that kube-scheduler reads."""
    @property
    def name(self) -> str: ...
    @property
    def provisioner(self) -> str: ...
    @property
    def binding_mode(self) -> Any | None: ...
    @property
    def allowed_topologies(self) -> list[list[tuple[str, list[str]]]]: ...

class ClusterStorageCapacity(Protocol):
    """A CSIStorageCapacity, with the fields that kube-scheduler reads."""
    @property
    def bytes(self) -> int | None: ...
    @property
    def maximum_volume_bytes(self) -> int | None: ...
    @property
    def node_selector(self) -> SelectorsLabelSelector | None: ...

class ClusterStorageExactSize(Protocol):
    """An exact size in billionths of a byte: `high` × 2^64 + `low`. Larger sizes than fit are given as the largest. Sizes are
    ordered as the pairs of `high` and `low` are.
    """
    @property
    def high(self) -> int: ...
    @property
    def low(self) -> int: ...

class ClusterStorageExactSizes(Protocol):
    """The sizes by which volumes are chosen for a claim. `claim` and `volume` have them rounded up to bytes and cut to 64
    bits, which is not how kube-scheduler compares them.
    """
    @property
    def requested(self) -> ClusterStorageExactSize: ...
    @property
    def capacities(self) -> list[ClusterStorageExactSize]: ...

class RowSetsFailure(Protocol):
    """A status and its reasons, equal to `failure` of `predicate`."""
    @property
    def status(self) -> Any: ...
    @property
    def reasons(self) -> list[str]: ...

class PodLabels(Protocol):
    """The pod's namespace and labels."""
    def namespace(self) -> str:
        """Namespace of the pod: `metadata.namespace`."""
        ...
    def label(self, key: str, /) -> str | None:
        """The value of the label `key` in `metadata.labels`; none where the pod does not have the label."""
        ...

class PodAnnotations(Protocol):
    """Annotations of the pod. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
    reads as absent.
    """
    def annotation(self, key: str, /) -> str | None:
        """The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
        not list the key.
        """
        ...

class PodPlacement(Protocol):
    """`spec.nodeName`, `spec.nodeSelector` and node affinity of the pod, as written and unvalidated. The
    predicate itself compares them with label columns.
    """
    def node_name(self) -> str | None:
        """`spec.nodeName`; none where it is absent or empty."""
        ...
    def node_selector(self) -> list[tuple[str, str]]:
        """`spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold."""
        ...
    def required_terms(self) -> list[PodPlacementTerm] | None:
        """`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
        must hold. None where the pod has no required node affinity. An empty list matches no node.
        """
        ...
    def preferred_terms(self) -> list[PodPlacementPreferredTerm] | None:
        """`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
        list. Since 0.2.
        """
        ...

class PodTolerations(Protocol):
    """Tolerations of the pod for taints of nodes."""
    def tolerations(self) -> list[PodTolerationsToleration]:
        """Tolerations of the pod: `spec.tolerations`, in order."""
        ...

class PodResources(Protocol):
    """The pod's resource requests. Containers, init and sidecar containers, overhead and pod-level resources are combined
    as in kube-scheduler.
    """
    def requests(self) -> list[PodResourcesRequest]:
        """The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
        above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
        """
        ...

class PodNonZeroRequests(Protocol):
    """The pod's requests as the score of kube-scheduler's NodeResourcesFit counts them. Every container that names no `cpu` counts with
    100 millicores, and every one that names no `memory` with 200 MiB, so that pods without requests count as well. Since 0.2.
    """
    def requests(self) -> list[PodResourcesRequest]:
        """Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
        are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
        """
        ...

class PodImages(Protocol):
    """Images that the pod uses, as kube-scheduler's ImageLocality compares them: a name without a tag and without a digest has the tag
    `latest`. Since 0.2.
    """
    def containers(self) -> list[str]:
        """Images of init containers and then those of containers, in order, each as often as it is used."""
        ...
    def volumes(self) -> list[str]:
        """Images that are mounted as volumes, in order, each as often as it is used."""
        ...

class PodSpread(Protocol):
    """Topology spread constraints of the pod, as written and unvalidated."""
    def constraints(self) -> list[PodSpreadConstraint]:
        """Constraints of the pod: `spec.topologySpreadConstraints`, in order."""
        ...
    def default_selector(self) -> SelectorsLabelSelector | None:
        """The combined selector of the Services that select the pod and of the controller that owns it. Default
        constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
        neither.
        """
        ...

class PodAffinity(Protocol):
    """Required pod affinity and anti-affinity of the pod, as written and unvalidated; of preferred terms only invalid ones."""
    def affinity(self) -> list[PodAffinityTerm]:
        """Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order."""
        ...
    def anti_affinity(self) -> list[PodAffinityTerm]:
        """Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order."""
        ...
    def invalid_preferred(self) -> tuple[list[PodAffinityTerm], list[PodAffinityTerm]]:
        """The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
        affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
        preferred terms reject no node.
        """
        ...

class PodPreferredAffinity(Protocol):
    """Preferred pod affinity and anti-affinity of the pod, as written and unvalidated, each term with its weight. An interface of its own,
    because the host keeps these terms only where a component imports it. Since 0.2.
    """
    def affinity(self) -> list[tuple[int, PodAffinityTerm]]:
        """Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
        points of each matching pod.
        """
        ...
    def anti_affinity(self) -> list[tuple[int, PodAffinityTerm]]:
        """Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
        points that each matching pod takes away, as a positive number.
        """
        ...

class PodFeatures(Protocol):
    """Node features that the pod requires."""
    def required(self) -> list[str]:
        """The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
        the pod's spec.
        """
        ...

class PodVolumes(Protocol):
    """The volumes of the pod that can make a node unsuitable: disks and PersistentVolumeClaims."""
    def volumes(self) -> list[Any]:
        """The disks and claims of `spec.volumes`, in order. Other volume types are left out."""
        ...
    def owner(self) -> tuple[str, str, str]:
        """Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
        controller.
        """
        ...

class NamespaceLabels(Protocol):
    """Labels of the pod's Namespace. Since 0.2."""
    def label(self, key: str, /) -> str | None:
        """The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
        there is no such object.
        """
        ...

class PodSpec(Protocol):
    """Fields of the pod's spec. A cached verdict depends only on the fields that were read. Since 0.2."""
    def priority(self) -> int:
        """`spec.priority`; 0 where it is absent."""
        ...
    def priority_class(self) -> str | None:
        """`spec.priorityClassName`; none where it is absent or empty."""
        ...
    def service_account(self) -> str | None:
        """`spec.serviceAccountName`; none where it is absent or empty."""
        ...
    def runtime_class(self) -> str | None:
        """`spec.runtimeClassName`; none where it is absent or empty."""
        ...
    def host_network(self) -> bool:
        """Whether the pod uses the node's network: `spec.hostNetwork`."""
        ...
    def images(self) -> list[str]:
        """The images of containers and init containers as written: sorted, without duplicates and empty texts."""
        ...
    def scheduler_name(self) -> str:
        """Name of the scheduler that places the pod: `spec.schedulerName`."""
        ...

class PodOwner(Protocol):
    """The controller of the pod: the entry of `metadata.ownerReferences` whose `controller` is true. Since 0.2."""
    def controller(self) -> PodOwnerOwner | None:
        """The controller; none where the pod has none."""
        ...
    def controller_uid(self) -> str | None:
        """The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
        predicate that has read it.
        """
        ...

class PodClaims(Protocol):
    """The pod's claims of devices: ResourceClaims as DynamicResources of kube-scheduler resolves them. Amounts here are exact, and not
    in the units of resources. Since 0.2.
    """
    def claims(self) -> list[Any]:
        """The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere."""
        ...
    def extended(self) -> PodClaimsExtendedResources | None:
        """The extended resources of the pod; none where no DeviceClass provides any of them."""
        ...
    def claim_name(self, claim: int, /) -> str:
        """`namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
        Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
        """
        ...
    def chosen(self, claim: int, /) -> list[int]:
        """Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
        alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
        kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
        """
        ...
    def deriving(self, claim: int, /) -> list[int]:
        """Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
        alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
        """
        ...

class NodeIdentity(Protocol):
    """Names of the nodes of the batch."""
    def names(self) -> list[str]:
        """`metadata.name`; one entry per row of the batch."""
        ...
    def row(self, name: str, /) -> int | None:
        """The row of the node `name`; none where no node of the batch has this name."""
        ...

class NodeLabels(Protocol):
    """Labels of the nodes of the batch. Each label key has a column of codes and a dictionary: code i stands for entry i
    of the dictionary. Code 0 means that the node does not have the label. Codes are valid during the running `filter`
    call only. A verdict must depend only on the entries of a dictionary that rows of the batch have; whether any node of the
    cluster has a value is what `code` says.
    """
    def column(self, key: str, /) -> list[int]:
        """The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has."""
        ...
    def code(self, key: str, text: str, /) -> int | None:
        """The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
        equals the label of no row.
        """
        ...
    def dictionary(self, key: str, /) -> list[str]:
        """The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
        absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
        the batch has.
        """
        ...
    def integers(self, key: str, /) -> list[int]:
        """The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
        the value is not a decimal integer that fits s64, and for code 0.
        """
        ...
    def rows_in(self, key: str, values: Sequence[str], /) -> int:
        """The rows whose label `key` has one of these values, as a row set. Since 0.2."""
        ...
    def rows_with(self, key: str, /) -> int:
        """The rows that have the label `key`, as a row set. Since 0.2."""
        ...

class NodeAnnotations(Protocol):
    """Annotations of the nodes of the batch. They have the form of `node-labels`: per key a column of codes and a dictionary, code 0
    for an absent annotation. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
    reads as absent on every node.
    """
    def column(self, key: str, /) -> list[int]:
        """The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has."""
        ...
    def code(self, key: str, text: str, /) -> int | None:
        """The code of the value `text` of the annotation `key`. None where no node of the cluster has this value."""
        ...
    def dictionary(self, key: str, /) -> list[str]:
        """The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
        absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
        of the batch has.
        """
        ...
    def integers(self, key: str, /) -> list[int]:
        """The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
        the value is not a decimal integer that fits s64, and for code 0.
        """
        ...
    def rows_in(self, key: str, values: Sequence[str], /) -> int:
        """The rows whose annotation `key` has one of these values, as a row set. Since 0.2."""
        ...
    def rows_with(self, key: str, /) -> int:
        """The rows that have the annotation `key`, as a row set. Since 0.2."""
        ...

class NodeTaints(Protocol):
    """Taints and the unschedulable flag of the nodes of the batch."""
    def unschedulable(self) -> bytes:
        """`spec.unschedulable` as a flag; one entry per row of the batch."""
        ...
    def sets(self) -> list[list[NodeTaintsTaint]]:
        """The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
        that no row of the batch has: a verdict must depend only on those of the batch's rows.
        """
        ...
    def column(self) -> list[int]:
        """The index of the node's set in `sets`; one entry per row of the batch."""
        ...
    def rows_unschedulable(self) -> int:
        """The rows with `spec.unschedulable`, as a row set. Since 0.2."""
        ...
    def rows_untolerated(self) -> int:
        """The rows with a taint of the effect NoSchedule or NoExecute that the pod being filtered does not tolerate, as a row set.
        Since 0.2.
        """
        ...

class NodeResources(Protocol):
    """Resources of the nodes of the batch, one column per resource name. Amounts are in the units of `pod-resources`:
    `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, others as a count. Sums and
    differences wrap on overflow, as in Go. All entries are 0 for a name that no node and no pod on a node uses.

    Pods on a node are the pods bound to it, plus the pods that a scheduler has assumed there. A pod is foreign where
    its `spec.schedulerName` is none of the policy's `schedulerNames`, or where the kubelet created it (a static pod).
    """
    def allocatable(self, resource: str, /) -> list[int]:
        """`status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch."""
        ...
    def requested(self, resource: str, /) -> list[int]:
        """The sum of the requests of all pods on the node; one entry per row of the batch."""
        ...
    def foreign(self, resource: str, /) -> list[int]:
        """The part of `requested` that foreign pods request; one entry per row of the batch."""
        ...
    def free(self, resource: str, /) -> list[int]:
        """`allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch."""
        ...
    def pods(self) -> list[int]:
        """The number of pods on the node; one entry per row of the batch."""
        ...
    def foreign_pods(self) -> list[int]:
        """The number of foreign pods on the node; one entry per row of the batch."""
        ...
    def pod_limit(self) -> list[int]:
        """`status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch."""
        ...
    def pod_room(self) -> list[int]:
        """`pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch."""
        ...
    def device_class_serves(self, resource: str, /) -> bool:
        """Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
        About the cluster, not about a row.
        """
        ...
    def rows_with_free(self, resource: str, amount: int, /) -> int:
        """The rows on which at least `amount` of the resource is free, as a row set. Since 0.2."""
        ...

class NodeSums(Protocol):
    """Sums by name, which the policy's accounting component makes of nodes and of the pods on them. Since 0.2.

    A pod adds on the node that it is on, bound or assumed, and to no other. Sums are no resources: `node-resources` does not show
    them. Additions wrap on overflow.
    """
    def column(self, name: str, /) -> list[int]:
        """Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
        accounting component of the policy declares, as for a resource that nobody uses.
        """
        ...

class NodeNonZeroRequests(Protocol):
    """Sums of requests in which every container counts that names no `cpu` or no `memory`, as in `pod-non-zero-requests`. An interface of
    its own, because the host keeps these sums only where a component imports it. Since 0.2.
    """
    def requested(self, resource: str, /) -> list[int]:
        """Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
        0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
        overflow, as in Go.
        """
        ...

class NodePorts(Protocol):
    """Host port conflicts between the pod being filtered and the pods on the nodes of the batch."""
    def conflicts(self) -> bytes | None:
        """A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
        None where the pod requests no host port.
        """
        ...

class NodeFeatures(Protocol):
    """Features that the nodes of the batch declare."""
    def sets(self) -> list[list[str]]:
        """The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
        0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
        """
        ...
    def column(self) -> list[int]:
        """The index of the node's set in `sets`; one entry per row of the batch."""
        ...

class NodeConditions(Protocol):
    """Conditions of the nodes of the batch: their status alone, not the times of heartbeats. Since 0.2."""
    def column(self, type: str, /) -> bytes:
        """The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
        or any other text. One entry per row of the batch.
        """
        ...

class NodeInfo(Protocol):
    """System information of the nodes of the batch: `status.nodeInfo` and the provider. It has the form of `node-labels`: per field
    a column of codes and a dictionary, code 0 for an absent or empty field. Since 0.2.
    """
    def column(self, field: Any, /) -> list[int]:
        """The code of the field; one entry per row of the batch."""
        ...
    def code(self, field: Any, text: str, /) -> int | None:
        """The code of the value `text` of the field. None where no node of the cluster has this value."""
        ...
    def dictionary(self, field: Any, /) -> list[str]:
        """The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
        entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
        """
        ...

class NodeImages(Protocol):
    """Images that are present on the nodes of the batch. A kubelet reports only the largest images, 50 by default. Since 0.2."""
    def present(self, image: str, /) -> bytes:
        """A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch."""
        ...

class NodeAge(Protocol):
    """Ages of the nodes of the batch. Since 0.2."""
    def created(self) -> list[int]:
        """`metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
        of the batch.
        """
        ...

class NodeDevices(Protocol):
    """Devices that the nodes of the batch can reach, from ResourceSlices, and their use. Nodes that see the same share a situation.
    Since 0.2.
    """
    def devices(self, query: NodeDevicesQuery, /) -> NodeDevicesDeviceColumns:
        """The devices that rows of the batch see. A query beyond its limits traps."""
        ...

class NodeParties(Protocol):
    """Answers of external parties about the nodes of the batch, for the pod. Parties are those of the policy that decide about the pod being
    filtered, or about a claim of it that is to be allocated. Since 0.2.
    """
    def unsuitable(self) -> list[NodePartiesPartyColumn]:
        """One entry per party, in the order of the policy; none where no party decides about the pod."""
        ...

class ClusterPods(Protocol):
    """Counts of the pods on all nodes of the cluster, by selector. Assumed pods are included."""
    def matching(self, selectors: Sequence[ClusterPodsPodSelector], terminating: bool, /) -> list[int]:
        """The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
        timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
        repeated call is cheap.
        """
        ...
    def matches_this_pod(self, selectors: Sequence[ClusterPodsPodSelector], /) -> bool:
        """Whether the pod being filtered matches every selector."""
        ...
    def requested(self, selectors: Sequence[ClusterPodsPodSelector], resource: str, terminating: bool, /) -> list[int]:
        """The sum of the requests for one resource of the pods on the node that match every selector, in the units of
        `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
        is true. Since 0.2.
        """
        ...

class ClusterControllers(Protocol):
    """The pods that have the same controller as the pod being filtered, on all nodes of the cluster. Assumed pods are included. An
    interface of its own, because the host keeps the controller of every pod only where a predicate imports it. Since 0.2.
    """
    def same_controller(self, terminating: bool, /) -> list[int] | None:
        """The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
        None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
        of different controllers share no cached verdict of a predicate that has read it.
        """
        ...

class ClusterCandidates(Protocol):
    """The nodes of which a `score` call chooses. A scorer that imports it depends on every predicate of the policy; one that does not has
    scores that the host may keep. Since 0.2.
    """
    def feasible(self) -> bytes:
        """A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
        cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
        """
        ...

class ClusterAffinity(Protocol):
    """Required anti-affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered."""
    def topology_keys(self) -> list[str]:
        """The topology keys of the matching terms, sorted, without duplicates."""
        ...
    def anti_affinity_terms(self, topology_key: str, /) -> list[int]:
        """The number of matching terms with this topology key that the pods on the node have; one entry per row of the
        cluster.
        """
        ...

class ClusterPreferences(Protocol):
    """Preferred terms and required affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
    An interface of its own, because the host keeps these terms only where a component imports it. Since 0.2.
    """
    def topology_keys(self) -> list[str]:
        """The topology keys of the matching terms, sorted, without duplicates."""
        ...
    def preferred_terms(self, topology_key: str, /) -> list[int]:
        """The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
        have; one entry per row of the cluster.
        """
        ...
    def weights(self, topology_key: str, /) -> list[int]:
        """The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster."""
        ...
    def required_terms(self, topology_key: str, /) -> list[int]:
        """The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
        of the cluster.
        """
        ...

class ClusterVolumeUse(Protocol):
    """Disks and claims that the pods on all nodes of the cluster use."""
    def disk_users(self, kind: Any, id: str, /) -> list[ClusterVolumeUseDiskUser]:
        """The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row."""
        ...
    def claim_users(self, claim: str, /) -> int:
        """The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
        cluster. Claims of generic ephemeral volumes are not counted.
        """
        ...

class ClusterAttachments(Protocol):
    """Attached volumes and attach limits of CSI drivers, over all rows of the cluster. A volume of an in-tree type counts
    as a volume of the CSI driver that replaces the type.
    """
    def wanted(self, registered: bool, /) -> list[ClusterAttachmentsAttachment]:
        """The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
        the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
        PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
        """
        ...
    def registered(self) -> bytes:
        """A flag: the node has a CSINode. One entry per row of the cluster."""
        ...
    def limited(self) -> bytes:
        """A flag: the CSINode limits at least one driver. One entry per row of the cluster."""
        ...
    def driver_missing(self, driver: str, /) -> bytes:
        """A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
        not list the driver. One entry per row of the cluster. Since 0.2.
        """
        ...
    def limit(self, driver: str, /) -> list[int]:
        """How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
        of the cluster.
        """
        ...
    def used(self, driver: str, /) -> list[int]:
        """The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
        row of the cluster.
        """
        ...
    def rows_with(self, volume: ClusterAttachmentsAttachment, /) -> list[int]:
        """The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
        volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
        """
        ...
    def uncounted(self) -> list[ClusterAttachmentsUncountedPod]:
        """Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
        first pod by namespace and name.
        """
        ...

class ClusterStorage(Protocol):
    """Storage objects: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSIDrivers and CSIStorageCapacities."""
    def claim_named(self, name: str, /) -> ClusterStorageClaim | None:
        """The claim of this name in the pod's namespace; none where it does not exist."""
        ...
    def volume_named(self, name: str, /) -> ClusterStorageVolume | None:
        """The volume of this name; none where it does not exist."""
        ...
    def volumes_for(self, claim: str, /) -> list[ClusterStorageVolume]:
        """Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
        neither bound to nor reserved for another claim, sorted by name.
        """
        ...
    def exact_sizes_for(self, claim: str, /) -> ClusterStorageExactSizes | None:
        """The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
        does not exist.
        """
        ...
    def class_named(self, name: str, /) -> ClusterStorageClass | None:
        """The StorageClass of this name; none where it does not exist."""
        ...
    def default_class(self) -> str | None:
        """The name of the default StorageClass; none where there is no default."""
        ...
    def driver_reports_capacity(self, driver: str, /) -> bool:
        """Whether the CSIDriver of this name sets `spec.storageCapacity`."""
        ...
    def capacities(self, class_name: str, /) -> list[ClusterStorageCapacity]:
        """The CSIStorageCapacities of the StorageClass `class-name`."""
        ...
    def migrated(self, plugin: str, /) -> bytes:
        """A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
        cluster.
        """
        ...

class ClusterImages(Protocol):
    """Images that are present on nodes, over all rows of the cluster. Since 0.2."""
    def size(self, image: str, /) -> int:
        """The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
        per name. 0 where no node holds it.
        """
        ...

class Time(Protocol):
    """Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
    Since 0.2.
    """
    def passed(self, at: int, /) -> bool:
        """Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
        evaluation of the pod began.
        """
        ...

class ConfigMaps(Protocol):
    """Entries of the cluster's ConfigMaps. The host keeps only the ConfigMaps that the policy lists in `spec.facts.configMaps`; an
    entry of any other reads as absent. The same for every node. Since 0.2.
    """
    def entry(self, config_map: str, key: str, /) -> str | None:
        """The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
        than 65,536 bytes.
        """
        ...

@overload
def facts(name: Literal["pod-labels"], what: str | None = None) -> PodLabels: ...
@overload
def facts(name: Literal["pod-annotations"], what: str | None = None) -> PodAnnotations: ...
@overload
def facts(name: Literal["pod-placement"], what: str | None = None) -> PodPlacement: ...
@overload
def facts(name: Literal["pod-tolerations"], what: str | None = None) -> PodTolerations: ...
@overload
def facts(name: Literal["pod-resources"], what: str | None = None) -> PodResources: ...
@overload
def facts(name: Literal["pod-non-zero-requests"], what: str | None = None) -> PodNonZeroRequests: ...
@overload
def facts(name: Literal["pod-images"], what: str | None = None) -> PodImages: ...
@overload
def facts(name: Literal["pod-spread"], what: str | None = None) -> PodSpread: ...
@overload
def facts(name: Literal["pod-affinity"], what: str | None = None) -> PodAffinity: ...
@overload
def facts(name: Literal["pod-preferred-affinity"], what: str | None = None) -> PodPreferredAffinity: ...
@overload
def facts(name: Literal["pod-features"], what: str | None = None) -> PodFeatures: ...
@overload
def facts(name: Literal["pod-volumes"], what: str | None = None) -> PodVolumes: ...
@overload
def facts(name: Literal["namespace-labels"], what: str | None = None) -> NamespaceLabels: ...
@overload
def facts(name: Literal["pod-spec"], what: str | None = None) -> PodSpec: ...
@overload
def facts(name: Literal["pod-owner"], what: str | None = None) -> PodOwner: ...
@overload
def facts(name: Literal["pod-claims"], what: str | None = None) -> PodClaims: ...
@overload
def facts(name: Literal["node-identity"], what: str | None = None) -> NodeIdentity: ...
@overload
def facts(name: Literal["node-labels"], what: str | None = None) -> NodeLabels: ...
@overload
def facts(name: Literal["node-annotations"], what: str | None = None) -> NodeAnnotations: ...
@overload
def facts(name: Literal["node-taints"], what: str | None = None) -> NodeTaints: ...
@overload
def facts(name: Literal["node-resources"], what: str | None = None) -> NodeResources: ...
@overload
def facts(name: Literal["node-sums"], what: str | None = None) -> NodeSums: ...
@overload
def facts(name: Literal["node-non-zero-requests"], what: str | None = None) -> NodeNonZeroRequests: ...
@overload
def facts(name: Literal["node-ports"], what: str | None = None) -> NodePorts: ...
@overload
def facts(name: Literal["node-features"], what: str | None = None) -> NodeFeatures: ...
@overload
def facts(name: Literal["node-conditions"], what: str | None = None) -> NodeConditions: ...
@overload
def facts(name: Literal["node-info"], what: str | None = None) -> NodeInfo: ...
@overload
def facts(name: Literal["node-images"], what: str | None = None) -> NodeImages: ...
@overload
def facts(name: Literal["node-age"], what: str | None = None) -> NodeAge: ...
@overload
def facts(name: Literal["node-devices"], what: str | None = None) -> NodeDevices: ...
@overload
def facts(name: Literal["node-parties"], what: str | None = None) -> NodeParties: ...
@overload
def facts(name: Literal["cluster-pods"], what: str | None = None) -> ClusterPods: ...
@overload
def facts(name: Literal["cluster-controllers"], what: str | None = None) -> ClusterControllers: ...
@overload
def facts(name: Literal["cluster-candidates"], what: str | None = None) -> ClusterCandidates: ...
@overload
def facts(name: Literal["cluster-affinity"], what: str | None = None) -> ClusterAffinity: ...
@overload
def facts(name: Literal["cluster-preferences"], what: str | None = None) -> ClusterPreferences: ...
@overload
def facts(name: Literal["cluster-volume-use"], what: str | None = None) -> ClusterVolumeUse: ...
@overload
def facts(name: Literal["cluster-attachments"], what: str | None = None) -> ClusterAttachments: ...
@overload
def facts(name: Literal["cluster-storage"], what: str | None = None) -> ClusterStorage: ...
@overload
def facts(name: Literal["cluster-images"], what: str | None = None) -> ClusterImages: ...
@overload
def facts(name: Literal["time"], what: str | None = None) -> Time: ...
@overload
def facts(name: Literal["config-maps"], what: str | None = None) -> ConfigMaps: ...
@overload
def facts(name: str, what: str | None = None) -> Any: ...
