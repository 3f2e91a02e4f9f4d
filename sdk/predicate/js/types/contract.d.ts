// Made from the contract by `make contract`; not to be edited.
/** Every type and function of the contract, as `facts(name)` gives them. */

/** The operator of a node selector requirement. */
export type PodPlacementOperator =
  | 'in'
  | 'not-in'
  | 'exists'
  | 'does-not-exist'
  | 'gt'
  | 'lt'
  | 'unknown';

/** A NodeSelectorRequirement: `key operator values`. */
export interface PodPlacementRequirement {
  /** The key of a label, or the name of a field. */
  readonly key: string;
  readonly operator: PodPlacementOperator;
  /** `values` of the requirement, as written and in order. */
  readonly values: readonly string[];
}

/** A NodeSelectorTerm: all of its requirements must hold. A term without requirements matches no node. */
export interface PodPlacementTerm {
  /** `matchExpressions`: requirements on labels. */
  readonly expressions: readonly PodPlacementRequirement[];
  /** `matchFields`: requirements on fields. Kubernetes supports only `metadata.name`. */
  readonly fields: readonly PodPlacementRequirement[];
}

/** A PreferredSchedulingTerm: a number that a node is worth which matches the term. Since 0.2. */
export interface PodPlacementPreferredTerm {
  /** The weight: 0 switches the preference off. */
  readonly weight: number;
  /** `preference`: a term without requirements expresses no preference. */
  readonly preference: PodPlacementTerm;
}

/** The operator of a toleration. */
export type PodTolerationsOperator =
  | 'equal'
  | 'exists'
  | 'other';

/** The effect of a taint. */
export type PodTolerationsEffect =
  | 'no-schedule'
  | 'prefer-no-schedule'
  | 'no-execute'
  | 'other';

/** One entry of `spec.tolerations`. */
export interface PodTolerationsToleration {
  /** The key of the taint. Empty: every key. */
  readonly key: string;
  readonly operator: PodTolerationsOperator;
  /** The value of the taint, compared only by `equal`. */
  readonly value: string;
  /** The effect of the taint. None: every effect. */
  readonly effect?: PodTolerationsEffect | null;
}

/** The requested amount of one resource. */
export interface PodResourcesRequest {
  /** The resource name, for example `cpu` or `example.com/gpu`. */
  readonly resource: string;
  /**
   * `cpu` in millicores; `memory`, `ephemeral-storage` and `hugepages-*` in bytes; others as a count. Rounded up
   * once, after the sum over the pod.
   */
  readonly amount: number;
}

/** The operator of a label selector requirement. */
export type SelectorsOperator =
  | 'in'
  | 'not-in'
  | 'exists'
  | 'does-not-exist'
  | 'unknown';

/** A LabelSelectorRequirement: `key operator values`. */
export interface SelectorsRequirement {
  /** The key of the label. */
  readonly key: string;
  readonly operator: SelectorsOperator;
  /** `values` of the requirement, as written and in order. */
  readonly values: readonly string[];
  /** The operator as written, for error texts. */
  readonly operatorText: string;
}

/**
 * A meta/v1 LabelSelector as written, unvalidated. All parts must hold. A selector without parts matches
 * everything.
 */
export interface SelectorsLabelSelector {
  /** Label key and value of each entry, sorted by key. */
  readonly matchLabels: readonly (readonly [string, string])[];
  /** `matchExpressions`: requirements on labels, in order. */
  readonly matchExpressions: readonly SelectorsRequirement[];
}

/** `whenUnsatisfiable`: what happens to a node on which the pod would exceed `max-skew`. */
export type PodSpreadWhenUnsatisfiable =
  | 'do-not-schedule'
  | 'schedule-anyway'
  | 'other';

/** Whether nodes that the pod cannot run on are excluded from the counts (`honor`) or included (`ignore`). */
export type PodSpreadInclusion =
  | 'honor'
  | 'ignore'
  | 'other';

/** One entry of `spec.topologySpreadConstraints`. */
export interface PodSpreadConstraint {
  /** A number of pods. */
  readonly maxSkew: number;
  /** The key of the node label whose values are the topology domains. */
  readonly topologyKey: string;
  readonly whenUnsatisfiable: PodSpreadWhenUnsatisfiable;
  /** `labelSelector`: the pods that are counted. None: matches no pod. */
  readonly selector?: SelectorsLabelSelector | null;
  /** A number of domains. None: 1. */
  readonly minDomains?: number | null;
  /** `nodeAffinityPolicy`, about nodes that the pod's node selector and node affinity exclude. None: honor. */
  readonly nodeAffinityPolicy?: PodSpreadInclusion | null;
  /** `nodeTaintsPolicy`, about nodes with taints that the pod does not tolerate. None: ignore. */
  readonly nodeTaintsPolicy?: PodSpreadInclusion | null;
  /** Label keys. The values of the pod being filtered for these keys are added to the selector. */
  readonly matchLabelKeys: readonly string[];
}

/** A PodAffinityTerm of the Kubernetes API, as written. */
export interface PodAffinityTerm {
  /** `labelSelector`: the other pods that the term is about. None: matches no pod. */
  readonly selector?: SelectorsLabelSelector | null;
  /**
   * Namespaces of the other pods. Where this list is empty and there is no `namespace-selector`: the namespace
   * of the pod that has the term.
   */
  readonly namespaces: readonly string[];
  /**
   * Further namespaces of the other pods, selected by the labels of the Namespace objects. None: no further
   * ones.
   */
  readonly namespaceSelector?: SelectorsLabelSelector | null;
  /** The key of the node label whose values are the topology domains. */
  readonly topologyKey: string;
  /** Label keys. The other pods must have the same values for these keys as the pod that has the term. */
  readonly matchLabelKeys: readonly string[];
  /** Label keys. The other pods must have other values for these keys than the pod that has the term. */
  readonly mismatchLabelKeys: readonly string[];
}

/** The in-tree volume types that kube-scheduler checks for conflicts. */
export type PodVolumesDiskKind =
  | 'gce-persistent-disk'
  | 'aws-elastic-block-store'
  | 'iscsi'
  | 'rbd';

/** A disk that the pod names directly, without a claim. */
export interface PodVolumesDisk {
  readonly kind: PodVolumesDiskKind;
  /**
   * The identity within the kind: the name of a GCE persistent disk, the ID of an EBS volume, the IQN of an
   * iSCSI target, `pool/image` of an RBD device.
   */
  readonly id: string;
  readonly readOnly: boolean;
  /**
   * The monitors of an RBD device; empty for other kinds. Two RBD devices with the same `id` are the same device
   * only where their monitors overlap.
   */
  readonly monitors: readonly string[];
}

/** A reference to a PersistentVolumeClaim. */
export interface PodVolumesClaimRef {
  /** The name of the claim in the pod's namespace; empty where the pod leaves it out. */
  readonly name: string;
  /** Whether the volume is a generic ephemeral volume, whose claim is created for this pod. */
  readonly ephemeral: boolean;
}

/** One entry of `spec.volumes`. */
export type PodVolumesVolume =
  | { readonly tag: 'disk'; readonly val: PodVolumesDisk }
  | { readonly tag: 'claim'; readonly val: PodVolumesClaimRef };

/** An object that owns pods. */
export interface PodOwnerOwner {
  /** `apiVersion` of the owner, for example `apps/v1`. */
  readonly apiVersion: string;
  /** `kind` of the owner, for example `ReplicaSet`. */
  readonly kind: string;
  readonly name: string;
}

/** An amount in billionths: `high` × 2^64 + `low`. */
export interface PodClaimsNanoUnits {
  /** The upper 64 bits, which carry the sign. */
  readonly high: number;
  readonly low: number | bigint;
}

/** A quantity of the Kubernetes API. */
export interface PodClaimsAmount {
  /** The exact amount, in billionths of a unit. */
  readonly nanoUnits: PodClaimsNanoUnits;
  /** In whole units as Go's `Quantity.Value()` rounds and overflows, which depends on how the quantity is written. */
  readonly units: number;
}

/** Why no claim of the pod can be allocated on any node. */
export interface PodClaimsObstacle {
  /** The text of kube-scheduler's reason or error. */
  readonly text: string;
  /** Whether it ends the scheduling of the pod with an error; otherwise the pod is unschedulable. */
  readonly isError: boolean;
}

/** A DeviceClass that is asked for by its name. */
export interface PodClaimsClass {
  /** The name as asked for, whether or not there is such a class. */
  readonly name: string;
  /**
   * The CEL expressions of its selectors, in order; an empty text for a selector that is not CEL. None where there is no such
   * class.
   */
  readonly selectors?: readonly string[] | null;
}

/** A toleration of a request, with the fields of the Kubernetes API as written; empty where they are absent. */
export interface PodClaimsToleration {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
}

/** The devices that a request, or one of its alternatives, asks for. */
export interface PodClaimsAsked {
  /** The name without that of the request to which an alternative belongs. */
  readonly ownName: string;
  /** Whether it is listed as an alternative, alone or with others. */
  readonly isAlternative: boolean;
  readonly class: PodClaimsClass;
  /** The CEL expressions of its own selectors, in order; none for a selector that is not CEL. */
  readonly selectors: readonly (string | null)[];
  /** `allocationMode`: `ExactCount`, `All`, or any other text. */
  readonly mode: string;
  /** A number of devices, for `ExactCount`. */
  readonly count: number;
  /** Whether use of a device by others does not matter; never for alternatives. */
  readonly adminAccess: boolean;
  /** `tolerations` of the request, in order. */
  readonly tolerations: readonly PodClaimsToleration[];
  /** `capacity.requests`: the name and amount of each, sorted by name. */
  readonly capacity: readonly (readonly [string, PodClaimsAmount])[];
}

/** A request of a claim. */
export interface PodClaimsRequest {
  /** Its name in the claim. */
  readonly base: string;
  /** At least one, in order. A request without alternatives has one entry: itself. */
  readonly alternatives: readonly PodClaimsAsked[];
}

/** The demand of a constraint on an attribute, which is given by its full name. */
export type PodClaimsConstraintKind =
  | { readonly tag: 'match'; readonly val: string }
  | { readonly tag: 'distinct'; readonly val: string }
  | { readonly tag: 'unknown' };

/** A constraint over the devices of a claim. */
export interface PodClaimsConstraint {
  /** Names of requests or of alternatives (`request/alternative`). Empty: all of the claim. */
  readonly requests: readonly string[];
  readonly kind: PodClaimsConstraintKind;
}

/** A claim that has to be allocated. */
export interface PodClaimsUnallocated {
  /** `spec.devices.requests` of the claim, in order. */
  readonly requests: readonly PodClaimsRequest[];
  /** `spec.devices.constraints` of the claim, in order. */
  readonly constraints: readonly PodClaimsConstraint[];
}

/** A claim of the pod. */
export type PodClaimsClaim =
  | { readonly tag: 'unallocated'; readonly val: PodClaimsUnallocated }
  | { readonly tag: 'allocated'; readonly val: Uint8Array };

/** An extended resource in the requests of a container. */
export interface PodClaimsContainerResource {
  /** Its number from 0 among all requests of the container, sorted by name. */
  readonly key: number;
  /** Its number in `extended-resources.resources`. */
  readonly resource: number;
  /** A count; 0 where it is not a whole number of 64 bits. */
  readonly count: number;
}

/** A container of the pod. */
export interface PodClaimsContainer {
  /** Whether it is an init container that ends, which a sidecar container does not. */
  readonly isShort: boolean;
  /** Its requests for resources of `extended-resources.resources`. */
  readonly resources: readonly PodClaimsContainerResource[];
}

/** The state of the claim for extended resources. */
export type PodClaimsExtendedClaim =
  | { readonly tag: 'has-requests' }
  | { readonly tag: 'allocated'; readonly val: Uint8Array }
  | { readonly tag: 'to-be-made'; readonly val: readonly PodClaimsContainer[] };

/** An extended resource that the pod requests. */
export interface PodClaimsExtendedResource {
  /** The DeviceClass that provides it; none where no class does. */
  readonly class?: PodClaimsClass | null;
  /**
   * Whether the node itself has the resource: 0 where it does not list the resource in `status.allocatable`, 1 where it
   * lists an amount of zero, 2 where it has some. One entry per row of the batch.
   */
  readonly own: Uint8Array;
}

/** The extended resources of the pod, at least one of which a DeviceClass provides. */
export interface PodClaimsExtendedResources {
  readonly claim: PodClaimsExtendedClaim;
  /** The resources of which the pod requests an amount other than zero, sorted by name. */
  readonly resources: readonly PodClaimsExtendedResource[];
}

/** One entry of a node's `spec.taints`. */
export interface NodeTaintsTaint {
  readonly key: string;
  readonly value: string;
  readonly effect: PodTolerationsEffect;
}

/** A field of `status.nodeInfo`, or `spec.providerID`. */
export type NodeInfoField =
  | 'kubelet-version'
  | 'kernel-version'
  | 'container-runtime-version'
  | 'os-image'
  | 'operating-system'
  | 'architecture'
  | 'provider-id';

/**
 * The facts that are asked for about devices. At most 4,096 lists with 16,384 expressions in all, and 4,096
 * attributes.
 */
export interface NodeDevicesQuery {
  /** Lists of CEL expressions, none of them empty. A device matches a list where it matches all expressions of it. */
  readonly selectorLists: readonly (readonly string[])[];
  /** Full names of attributes (`domain/name`). */
  readonly attributes: readonly string[];
  /** Whether to name pools and devices. Without names, more nodes share a situation. */
  readonly names: boolean;
}

/** The pools that a row sees, or the error that keeps it from seeing any. */
export type NodeDevicesSituation =
  | { readonly tag: 'pools'; readonly val: number }
  | { readonly tag: 'error'; readonly val: string };

/** Whether a pool can be used. */
export type NodeDevicesPoolState =
  | 'ok'
  | 'incomplete'
  | 'invalid';

/** A pool of devices. */
export interface NodeDevicesPool {
  /** The index of its driver in `device-columns.drivers`. */
  readonly driver: number;
  readonly state: NodeDevicesPoolState;
  /** The number of its devices in the columns; 0 unless it can be used. */
  readonly devices: number;
  /** The number of its counters in the columns. */
  readonly counters: number;
}

/** A counter of a pool. */
export interface NodeDevicesCounter {
  readonly total: PodClaimsNanoUnits;
  /** The sum that devices in use draw from it; more than `total` where a driver has lowered that. */
  readonly held: PodClaimsNanoUnits;
}

/** The amount of one capacity of a device that shares of it hold. */
export interface NodeDevicesHeld {
  /** The index of the device in the columns. */
  readonly device: number;
  /** The index of the capacity in the kind of the device. */
  readonly capacity: number;
  /** The sum over all shares. */
  readonly amount: PodClaimsNanoUnits;
}

/** An answer that may fail. */
export type NodeDevicesAnswer =
  | { readonly tag: 'no' }
  | { readonly tag: 'yes' }
  | { readonly tag: 'error'; readonly val: string };

/** A range of amounts. */
export interface NodeDevicesRange {
  readonly min?: PodClaimsAmount | null;
  readonly max?: PodClaimsAmount | null;
  /** The distance between amounts, from `min` on. */
  readonly step?: PodClaimsAmount | null;
}

/** A capacity of a device. */
export interface NodeDevicesCapacity {
  readonly name: string;
  readonly value: PodClaimsAmount;
  /** The amount that a share takes where a request asks for nothing; none: all of it. */
  readonly default?: PodClaimsAmount | null;
  /** The amounts that a share can take; empty: any. */
  readonly validValues: readonly PodClaimsAmount[];
  /** The range of amounts that a share can take; none: any. */
  readonly validRange?: NodeDevicesRange | null;
}

/** The properties that devices of one kind have in common: everything but name, attributes and use. */
export interface NodeDevicesKind {
  /** Whether they match; one entry per list of the query. An error begins with the number of the selector in its list. */
  readonly matches: readonly NodeDevicesAnswer[];
  /** Whether they are for the node, where their ResourceSlice leaves that to devices; otherwise yes. */
  readonly reaches: NodeDevicesAnswer;
  /** The index of their taints in `device-columns.taints`. */
  readonly taints: number;
  /** `allowMultipleAllocations`: whether several claims can have shares of one. */
  readonly multipleAllocations: boolean;
  /** The capacities of each of them, sorted by name. */
  readonly capacities: readonly NodeDevicesCapacity[];
  /**
   * The amounts that each of them draws from counters: the index of a counter in the pool, and how much. A
   * counter can appear twice. Where `DRAPartitionableDevices` is off, pools have no counters, and a device that draws
   * from some has the index 4294967295 with the amount 0: it cannot be allocated.
   */
  readonly consumes: readonly (readonly [number, PodClaimsNanoUnits])[];
}

/** A taint of a device, with the fields of the Kubernetes API as written; empty where they are absent. */
export interface NodeDevicesTaint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

/**
 * Devices as columns. First the pools of situation 0 in kube-scheduler's order, which has pools with binding conditions last;
 * then those of situation 1, and so on. Counters and devices follow each other in the order of pools.
 */
export interface NodeDevicesDeviceColumns {
  /** The index of the row's situation; one entry per row of the batch. */
  readonly codes: readonly number[];
  /** The distinct situations: one entry per situation, not per row. */
  readonly situations: readonly NodeDevicesSituation[];
  /** The pools of all situations, one situation after the other. */
  readonly pools: readonly NodeDevicesPool[];
  /** The counters of all pools, one pool after the other. */
  readonly counters: readonly NodeDevicesCounter[];
  /** The index of the device's kind; one entry per device, of all pools, in kube-scheduler's order. */
  readonly deviceKinds: readonly number[];
  /** Bit 0: one claim has the device for itself. Bit 1: claims have shares of it. One entry per device. */
  readonly inUse: Uint8Array;
  /** The amounts that shares hold, sorted by device and capacity, without those that are zero. */
  readonly held: readonly NodeDevicesHeld[];
  /**
   * Values of attributes: one entry per device and attribute of the query, all attributes of a device after each other. 0
   * where the device has no such attribute. Within a situation, equal numbers are equal values of one type; they are given by
   * first appearance. The maximum u32 stands for a value of an unknown type, which cannot be compared.
   */
  readonly values: readonly number[];
  /** One entry per pool; empty where the query does not ask for names. */
  readonly poolNames: readonly string[];
  /** One entry per device; empty where the query does not ask for names. */
  readonly names: readonly string[];
  /** The distinct kinds: one entry per kind, not per device. */
  readonly kinds: readonly NodeDevicesKind[];
  /** The names of the drivers that pools refer to. */
  readonly drivers: readonly string[];
  /** The distinct lists of taints. */
  readonly taints: readonly (readonly NodeDevicesTaint[])[];
}

/** The answers of one party, as a column with a dictionary of reasons. */
export interface NodePartiesPartyColumn {
  /** The name of the party in the policy. */
  readonly party: string;
  /**
   * The answer about the node: 0 nothing, or nothing any more; 1 that it suits; 2 that it does not. One entry per row of
   * the batch.
   */
  readonly states: Uint8Array;
  /** The code of the reason for which the node does not suit; 0 where `states` is not 2. One entry per row of the batch. */
  readonly reasons: readonly number[];
  /** The dictionary of reasons: one text per code, not per row. Entry 0 is the empty text. */
  readonly texts: readonly string[];
  /**
   * Whether a node fits of which the party says nothing. True where the policy says so, and for whoever is to ask the party before
   * the pod is bound; otherwise the pod waits for it.
   */
  readonly unknownFits: boolean;
}

/** Selects pods by namespace and by labels. Both parts must hold. */
export interface ClusterPodsPodSelector {
  /** Namespaces by name. They need no Namespace object. */
  readonly namespaces: readonly string[];
  /**
   * Further namespaces: those whose Namespace object has labels that meet all of these requirements. An empty
   * list is every namespace, also those without a Namespace object. None: no further ones. An unknown operator
   * traps.
   */
  readonly namespaceRequirements?: readonly SelectorsRequirement[] | null;
  /** Requirements on the labels of the pod; all must hold. An unknown operator traps. */
  readonly requirements: readonly SelectorsRequirement[];
}

/** A use of a disk by a pod on a node. */
export interface ClusterVolumeUseDiskUser {
  /** The row of the cluster that holds the node. */
  readonly row: number;
  /** Whether the pod mounts the disk read-only. */
  readonly readOnly: boolean;
  /** The monitors that the pod names for an RBD device; empty for other kinds. */
  readonly monitors: readonly string[];
}

/** A volume of a CSI driver. */
export interface ClusterAttachmentsAttachment {
  /** The name of the CSI driver. */
  readonly driver: string;
  /**
   * The volume handle, unique for the driver. For a volume that is not provisioned yet: a text that identifies
   * its claim.
   */
  readonly handle: string;
}

/** Why the volumes of a pod cannot be counted. */
export type ClusterAttachmentsObstacle =
  | { readonly tag: 'unnamed-claim' }
  | { readonly tag: 'missing-claim'; readonly val: string }
  | { readonly tag: 'foreign-claim'; readonly val: string }
  | { readonly tag: 'untranslatable'; readonly val: readonly [string, string] };

/** A pod on a node whose volumes cannot be counted. */
export interface ClusterAttachmentsUncountedPod {
  /** The row of the cluster that holds the node. */
  readonly row: number;
  /** The namespace of the pod. */
  readonly namespace: string;
  /** The name of the pod. */
  readonly pod: string;
  readonly obstacle: ClusterAttachmentsObstacle;
}

/** `volumeBindingMode` of a StorageClass. */
export type ClusterStorageBindingMode =
  | 'immediate'
  | 'wait-for-first-consumer';

/** A PersistentVolumeClaim, with the fields that kube-scheduler reads. */
export interface ClusterStorageClaim {
  readonly name: string;
  readonly uid: string;
  /** `spec.volumeName`; empty where the claim has no volume yet. */
  readonly volumeName: string;
  /** The name of the StorageClass, from the spec or the beta annotation; none where neither names one. */
  readonly className?: string | null;
  /** `spec.accessModes`: the access modes that the claim asks for, as written. */
  readonly accessModes: readonly string[];
  /** `spec.resources.requests.storage` in bytes, rounded up; none where the claim requests none. */
  readonly requested?: number | null;
  /** `spec.volumeMode`: `Filesystem` or `Block`. */
  readonly volumeMode: string;
  /** `spec.volumeAttributesClassName`; empty where there is none. */
  readonly attributesClass: string;
  /** `spec.selector`: the labels of acceptable volumes. None: every volume. */
  readonly selector?: SelectorsLabelSelector | null;
  /** Whether the annotation `pv.kubernetes.io/bind-completed` is present. */
  readonly bindCompleted: boolean;
  /** The annotation `volume.kubernetes.io/selected-node`: the name of the node that was selected for the claim. */
  readonly selectedNode?: string | null;
  /** `status.phase`, for example `Bound`; empty where it is absent. */
  readonly phase: string;
  /** Whether the claim has a deletion timestamp. */
  readonly deleting: boolean;
  /** The UID of the owner that controls the claim; none where there is none. */
  readonly controllerUid?: string | null;
  /** Whether `spec.dataSource` or `spec.dataSourceRef` is present. */
  readonly hasDataSource: boolean;
  /** Label key and value of each label, sorted by key. */
  readonly labels: readonly (readonly [string, string])[];
}

/** A PersistentVolume, with the fields that kube-scheduler reads. */
export interface ClusterStorageVolume {
  readonly name: string;
  /** The name of the StorageClass; empty where there is none. */
  readonly className: string;
  /** `spec.accessModes`: the access modes that the volume offers, as written. */
  readonly accessModes: readonly string[];
  /** `spec.capacity.storage` in bytes, rounded up. */
  readonly capacity: number;
  /** `spec.volumeMode`: `Filesystem` or `Block`. */
  readonly volumeMode: string;
  /** `spec.volumeAttributesClassName`; empty where there is none. */
  readonly attributesClass: string;
  /** Label key and value of each label, sorted by key. */
  readonly labels: readonly (readonly [string, string])[];
  /** The terms of `spec.nodeAffinity.required`. None: every node can use the volume. */
  readonly nodeTerms?: readonly PodPlacementTerm[] | null;
  /**
   * `spec.claimRef`: namespace, name and UID of the claim that the volume is reserved for or bound to. The UID
   * can be empty.
   */
  readonly claimRef?: readonly [string, string, string] | null;
  /** `status.phase`, for example `Available`; empty where it is absent. */
  readonly phase: string;
  /** Whether the volume has a deletion timestamp. */
  readonly deleting: boolean;
  /**
   * The name of the in-tree plugin where a CSI driver replaces it, for example `kubernetes.io/aws-ebs`; empty
   * for other volumes.
   */
  readonly inTreePlugin: string;
  /** The CSI driver of the volume, or the one that replaces its in-tree plugin; empty for other volumes. */
  readonly driver: string;
  /**
   * The volume handle, unique for the driver. An error says why an in-tree volume cannot be translated to its
   * driver.
   */
  readonly handle: string;
}

/** A StorageClass, with the fields that kube-scheduler reads. */
export interface ClusterStorageClass {
  readonly name: string;
  readonly provisioner: string;
  /** None where the class does not set it. */
  readonly bindingMode?: ClusterStorageBindingMode | null;
  /** `allowedTopologies`: alternative terms. Each term is a list of label key and accepted values; all must hold. */
  readonly allowedTopologies: readonly (readonly (readonly [string, readonly string[]])[])[];
}

/** A CSIStorageCapacity, with the fields that kube-scheduler reads. */
export interface ClusterStorageCapacity {
  /** `capacity` in bytes; none where unknown. */
  readonly bytes?: number | null;
  /** `maximumVolumeSize` in bytes; none where unknown. */
  readonly maximumVolumeBytes?: number | null;
  /** `nodeTopology`: the nodes that can access the storage. None: no node. */
  readonly nodeSelector?: SelectorsLabelSelector | null;
}

/**
 * An exact size in billionths of a byte: `high` × 2^64 + `low`. Larger sizes than fit are given as the largest. Sizes are
 * ordered as the pairs of `high` and `low` are.
 */
export interface ClusterStorageExactSize {
  readonly high: number;
  readonly low: number | bigint;
}

/**
 * The sizes by which volumes are chosen for a claim. `claim` and `volume` have them rounded up to bytes and cut to 64
 * bits, which is not how kube-scheduler compares them.
 */
export interface ClusterStorageExactSizes {
  /** `spec.resources.requests.storage` of the claim; 0 where it requests nothing. */
  readonly requested: ClusterStorageExactSize;
  /** The capacities of the volumes that `volumes-for` lists; one entry per volume, in its order. */
  readonly capacities: readonly ClusterStorageExactSize[];
}

/** The status code of a rejection, equal to `status` of `predicate`. */
export type RowSetsStatus =
  | 'unschedulable'
  | 'unschedulable-and-unresolvable'
  | 'error';

/** A status and its reasons, equal to `failure` of `predicate`. */
export interface RowSetsFailure {
  readonly status: RowSetsStatus;
  readonly reasons: readonly string[];
}

/** How much a line matters. */
export type LogLevel =
  | 'debug'
  | 'info'
  | 'warn'
  | 'error';

/** The functions of each interface. */
export interface Contract {
  /** The pod's namespace and labels. */
  'pod-labels': {
    /** Namespace of the pod: `metadata.namespace`. */
    namespace(): string;
    /** The value of the label `key` in `metadata.labels`; none where the pod does not have the label. */
    label(key: string): string | null;
  };
  /**
   * Annotations of the pod. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
   * reads as absent.
   */
  'pod-annotations': {
    /**
     * The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
     * not list the key.
     */
    annotation(key: string): string | null;
  };
  /**
   * `spec.nodeName`, `spec.nodeSelector` and node affinity of the pod, as written and unvalidated. The
   * predicate itself compares them with label columns.
   */
  'pod-placement': {
    /** `spec.nodeName`; none where it is absent or empty. */
    nodeName(): string | null;
    /** `spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold. */
    nodeSelector(): readonly (readonly [string, string])[];
    /**
     * `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
     * must hold. None where the pod has no required node affinity. An empty list matches no node.
     */
    requiredTerms(): readonly PodPlacementTerm[] | null;
    /**
     * `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
     * list. Since 0.2.
     */
    preferredTerms(): readonly PodPlacementPreferredTerm[] | null;
  };
  /** Tolerations of the pod for taints of nodes. */
  'pod-tolerations': {
    /** Tolerations of the pod: `spec.tolerations`, in order. */
    tolerations(): readonly PodTolerationsToleration[];
  };
  /**
   * The pod's resource requests. Containers, init and sidecar containers, overhead and pod-level resources are combined
   * as in kube-scheduler.
   */
  'pod-resources': {
    /**
     * The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
     * above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
     */
    requests(): readonly PodResourcesRequest[];
  };
  /**
   * The pod's requests as the score of kube-scheduler's NodeResourcesFit counts them. Every container that names no `cpu` counts with
   * 100 millicores, and every one that names no `memory` with 200 MiB, so that pods without requests count as well. Since 0.2.
   */
  'pod-non-zero-requests': {
    /**
     * Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
     * are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
     */
    requests(): readonly PodResourcesRequest[];
  };
  /**
   * Images that the pod uses, as kube-scheduler's ImageLocality compares them: a name without a tag and without a digest has the tag
   * `latest`. Since 0.2.
   */
  'pod-images': {
    /** Images of init containers and then those of containers, in order, each as often as it is used. */
    containers(): readonly string[];
    /** Images that are mounted as volumes, in order, each as often as it is used. */
    volumes(): readonly string[];
  };
  /** Topology spread constraints of the pod, as written and unvalidated. */
  'pod-spread': {
    /** Constraints of the pod: `spec.topologySpreadConstraints`, in order. */
    constraints(): readonly PodSpreadConstraint[];
    /**
     * The combined selector of the Services that select the pod and of the controller that owns it. Default
     * constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
     * neither.
     */
    defaultSelector(): SelectorsLabelSelector | null;
  };
  /** Required pod affinity and anti-affinity of the pod, as written and unvalidated; of preferred terms only invalid ones. */
  'pod-affinity': {
    /** Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order. */
    affinity(): readonly PodAffinityTerm[];
    /** Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order. */
    antiAffinity(): readonly PodAffinityTerm[];
    /**
     * The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
     * affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
     * preferred terms reject no node.
     */
    invalidPreferred(): readonly [readonly PodAffinityTerm[], readonly PodAffinityTerm[]];
  };
  /**
   * Preferred pod affinity and anti-affinity of the pod, as written and unvalidated, each term with its weight. An interface of its own,
   * because the host keeps these terms only where a component imports it. Since 0.2.
   */
  'pod-preferred-affinity': {
    /**
     * Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
     * points of each matching pod.
     */
    affinity(): readonly (readonly [number, PodAffinityTerm])[];
    /**
     * Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
     * points that each matching pod takes away, as a positive number.
     */
    antiAffinity(): readonly (readonly [number, PodAffinityTerm])[];
  };
  /** Node features that the pod requires. */
  'pod-features': {
    /**
     * The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
     * the pod's spec.
     */
    required(): readonly string[];
  };
  /** The volumes of the pod that can make a node unsuitable: disks and PersistentVolumeClaims. */
  'pod-volumes': {
    /** The disks and claims of `spec.volumes`, in order. Other volume types are left out. */
    volumes(): readonly PodVolumesVolume[];
    /**
     * Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
     * controller.
     */
    owner(): readonly [string, string, string];
  };
  /** Labels of the pod's Namespace. Since 0.2. */
  'namespace-labels': {
    /**
     * The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
     * there is no such object.
     */
    label(key: string): string | null;
  };
  /** Fields of the pod's spec. A cached verdict depends only on the fields that were read. Since 0.2. */
  'pod-spec': {
    /** `spec.priority`; 0 where it is absent. */
    priority(): number;
    /** `spec.priorityClassName`; none where it is absent or empty. */
    priorityClass(): string | null;
    /** `spec.serviceAccountName`; none where it is absent or empty. */
    serviceAccount(): string | null;
    /** `spec.runtimeClassName`; none where it is absent or empty. */
    runtimeClass(): string | null;
    /** Whether the pod uses the node's network: `spec.hostNetwork`. */
    hostNetwork(): boolean;
    /** The images of containers and init containers as written: sorted, without duplicates and empty texts. */
    images(): readonly string[];
    /** Name of the scheduler that places the pod: `spec.schedulerName`. */
    schedulerName(): string;
  };
  /** The controller of the pod: the entry of `metadata.ownerReferences` whose `controller` is true. Since 0.2. */
  'pod-owner': {
    /** The controller; none where the pod has none. */
    controller(): PodOwnerOwner | null;
    /**
     * The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
     * predicate that has read it.
     */
    controllerUid(): string | null;
  };
  /**
   * The pod's claims of devices: ResourceClaims as DynamicResources of kube-scheduler resolves them. Amounts here are exact, and not
   * in the units of resources. Since 0.2.
   */
  'pod-claims': {
    /** The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere. */
    claims(): readonly PodClaimsClaim[];
    /** The extended resources of the pod; none where no DeviceClass provides any of them. */
    extended(): PodClaimsExtendedResources | null;
    /**
     * `namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
     * Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
     */
    claimName(claim: number): string;
    /**
     * Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
     * alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
     * kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
     */
    chosen(claim: number): readonly number[];
    /**
     * Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
     * alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
     */
    deriving(claim: number): readonly number[];
  };
  /** Names of the nodes of the batch. */
  'node-identity': {
    /** `metadata.name`; one entry per row of the batch. */
    names(): readonly string[];
    /** The row of the node `name`; none where no node of the batch has this name. */
    row(name: string): number | null;
  };
  /**
   * Labels of the nodes of the batch. Each label key has a column of codes and a dictionary: code i stands for entry i
   * of the dictionary. Code 0 means that the node does not have the label. Codes are valid during the running `filter`
   * call only. A verdict must depend only on the entries of a dictionary that rows of the batch have; whether any node of the
   * cluster has a value is what `code` says.
   */
  'node-labels': {
    /** The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has. */
    column(key: string): readonly number[];
    /**
     * The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
     * equals the label of no row.
     */
    code(key: string, text: string): number | null;
    /**
     * The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
     * absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
     * the batch has.
     */
    dictionary(key: string): readonly string[];
    /**
     * The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
     * the value is not a decimal integer that fits s64, and for code 0.
     */
    integers(key: string): readonly number[];
    /** The rows whose label `key` has one of these values, as a row set. Since 0.2. */
    rowsIn(key: string, values: readonly string[]): number;
    /** The rows that have the label `key`, as a row set. Since 0.2. */
    rowsWith(key: string): number;
  };
  /**
   * Annotations of the nodes of the batch. They have the form of `node-labels`: per key a column of codes and a dictionary, code 0
   * for an absent annotation. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
   * reads as absent on every node.
   */
  'node-annotations': {
    /** The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has. */
    column(key: string): readonly number[];
    /** The code of the value `text` of the annotation `key`. None where no node of the cluster has this value. */
    code(key: string, text: string): number | null;
    /**
     * The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
     * absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
     * of the batch has.
     */
    dictionary(key: string): readonly string[];
    /**
     * The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
     * the value is not a decimal integer that fits s64, and for code 0.
     */
    integers(key: string): readonly number[];
    /** The rows whose annotation `key` has one of these values, as a row set. Since 0.2. */
    rowsIn(key: string, values: readonly string[]): number;
    /** The rows that have the annotation `key`, as a row set. Since 0.2. */
    rowsWith(key: string): number;
  };
  /** Taints and the unschedulable flag of the nodes of the batch. */
  'node-taints': {
    /** `spec.unschedulable` as a flag; one entry per row of the batch. */
    unschedulable(): Uint8Array;
    /**
     * The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
     * that no row of the batch has: a verdict must depend only on those of the batch's rows.
     */
    sets(): readonly (readonly NodeTaintsTaint[])[];
    /** The index of the node's set in `sets`; one entry per row of the batch. */
    column(): readonly number[];
    /** The rows with `spec.unschedulable`, as a row set. Since 0.2. */
    rowsUnschedulable(): number;
    /**
     * The rows with a taint of the effect NoSchedule or NoExecute that the pod being filtered does not tolerate, as a row set.
     * Since 0.2.
     */
    rowsUntolerated(): number;
  };
  /**
   * Resources of the nodes of the batch, one column per resource name. Amounts are in the units of `pod-resources`:
   * `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, others as a count. Sums and
   * differences wrap on overflow, as in Go. All entries are 0 for a name that no node and no pod on a node uses.
   *
   * Pods on a node are the pods bound to it, plus the pods that a scheduler has assumed there. A pod is foreign where
   * its `spec.schedulerName` is none of the policy's `schedulerNames`, or where the kubelet created it (a static pod).
   */
  'node-resources': {
    /** `status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch. */
    allocatable(resource: string): readonly number[];
    /** The sum of the requests of all pods on the node; one entry per row of the batch. */
    requested(resource: string): readonly number[];
    /** The part of `requested` that foreign pods request; one entry per row of the batch. */
    foreign(resource: string): readonly number[];
    /** `allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch. */
    free(resource: string): readonly number[];
    /** The number of pods on the node; one entry per row of the batch. */
    pods(): readonly number[];
    /** The number of foreign pods on the node; one entry per row of the batch. */
    foreignPods(): readonly number[];
    /** `status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch. */
    podLimit(): readonly number[];
    /** `pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch. */
    podRoom(): readonly number[];
    /**
     * Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
     * About the cluster, not about a row.
     */
    deviceClassServes(resource: string): boolean;
    /** The rows on which at least `amount` of the resource is free, as a row set. Since 0.2. */
    rowsWithFree(resource: string, amount: number): number;
  };
  /**
   * Sums by name, which the policy's accounting component makes of nodes and of the pods on them. Since 0.2.
   *
   * A pod adds on the node that it is on, bound or assumed, and to no other. Sums are no resources: `node-resources` does not show
   * them. Additions wrap on overflow.
   */
  'node-sums': {
    /**
     * Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
     * accounting component of the policy declares, as for a resource that nobody uses.
     */
    column(name: string): readonly number[];
  };
  /**
   * Sums of requests in which every container counts that names no `cpu` or no `memory`, as in `pod-non-zero-requests`. An interface of
   * its own, because the host keeps these sums only where a component imports it. Since 0.2.
   */
  'node-non-zero-requests': {
    /**
     * Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
     * 0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
     * overflow, as in Go.
     */
    requested(resource: string): readonly number[];
  };
  /** Host port conflicts between the pod being filtered and the pods on the nodes of the batch. */
  'node-ports': {
    /**
     * A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
     * None where the pod requests no host port.
     */
    conflicts(): Uint8Array | null;
  };
  /** Features that the nodes of the batch declare. */
  'node-features': {
    /**
     * The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
     * 0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
     */
    sets(): readonly (readonly string[])[];
    /** The index of the node's set in `sets`; one entry per row of the batch. */
    column(): readonly number[];
  };
  /** Conditions of the nodes of the batch: their status alone, not the times of heartbeats. Since 0.2. */
  'node-conditions': {
    /**
     * The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
     * or any other text. One entry per row of the batch.
     */
    column(type: string): Uint8Array;
  };
  /**
   * System information of the nodes of the batch: `status.nodeInfo` and the provider. It has the form of `node-labels`: per field
   * a column of codes and a dictionary, code 0 for an absent or empty field. Since 0.2.
   */
  'node-info': {
    /** The code of the field; one entry per row of the batch. */
    column(field: NodeInfoField): readonly number[];
    /** The code of the value `text` of the field. None where no node of the cluster has this value. */
    code(field: NodeInfoField, text: string): number | null;
    /**
     * The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
     * entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
     */
    dictionary(field: NodeInfoField): readonly string[];
  };
  /** Images that are present on the nodes of the batch. A kubelet reports only the largest images, 50 by default. Since 0.2. */
  'node-images': {
    /** A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch. */
    present(image: string): Uint8Array;
  };
  /** Ages of the nodes of the batch. Since 0.2. */
  'node-age': {
    /**
     * `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
     * of the batch.
     */
    created(): readonly number[];
  };
  /**
   * Devices that the nodes of the batch can reach, from ResourceSlices, and their use. Nodes that see the same share a situation.
   * Since 0.2.
   */
  'node-devices': {
    /** The devices that rows of the batch see. A query beyond its limits traps. */
    devices(query: NodeDevicesQuery): NodeDevicesDeviceColumns;
  };
  /**
   * Answers of external parties about the nodes of the batch, for the pod. Parties are those of the policy that decide about the pod being
   * filtered, or about a claim of it that is to be allocated. Since 0.2.
   */
  'node-parties': {
    /** One entry per party, in the order of the policy; none where no party decides about the pod. */
    unsuitable(): readonly NodePartiesPartyColumn[];
  };
  /** Counts of the pods on all nodes of the cluster, by selector. Assumed pods are included. */
  'cluster-pods': {
    /**
     * The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
     * timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
     * repeated call is cheap.
     */
    matching(selectors: readonly ClusterPodsPodSelector[], terminating: boolean): readonly number[];
    /** Whether the pod being filtered matches every selector. */
    matchesThisPod(selectors: readonly ClusterPodsPodSelector[]): boolean;
    /**
     * The sum of the requests for one resource of the pods on the node that match every selector, in the units of
     * `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
     * is true. Since 0.2.
     */
    requested(selectors: readonly ClusterPodsPodSelector[], resource: string, terminating: boolean): readonly number[];
  };
  /**
   * The pods that have the same controller as the pod being filtered, on all nodes of the cluster. Assumed pods are included. An
   * interface of its own, because the host keeps the controller of every pod only where a predicate imports it. Since 0.2.
   */
  'cluster-controllers': {
    /**
     * The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
     * None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
     * of different controllers share no cached verdict of a predicate that has read it.
     */
    sameController(terminating: boolean): readonly number[] | null;
  };
  /**
   * The nodes of which a `score` call chooses. A scorer that imports it depends on every predicate of the policy; one that does not has
   * scores that the host may keep. Since 0.2.
   */
  'cluster-candidates': {
    /**
     * A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
     * cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
     */
    feasible(): Uint8Array;
  };
  /** Required anti-affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered. */
  'cluster-affinity': {
    /** The topology keys of the matching terms, sorted, without duplicates. */
    topologyKeys(): readonly string[];
    /**
     * The number of matching terms with this topology key that the pods on the node have; one entry per row of the
     * cluster.
     */
    antiAffinityTerms(topologyKey: string): readonly number[];
  };
  /**
   * Preferred terms and required affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
   * An interface of its own, because the host keeps these terms only where a component imports it. Since 0.2.
   */
  'cluster-preferences': {
    /** The topology keys of the matching terms, sorted, without duplicates. */
    topologyKeys(): readonly string[];
    /**
     * The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
     * have; one entry per row of the cluster.
     */
    preferredTerms(topologyKey: string): readonly number[];
    /** The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster. */
    weights(topologyKey: string): readonly number[];
    /**
     * The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
     * of the cluster.
     */
    requiredTerms(topologyKey: string): readonly number[];
  };
  /** Disks and claims that the pods on all nodes of the cluster use. */
  'cluster-volume-use': {
    /** The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row. */
    diskUsers(kind: PodVolumesDiskKind, id: string): readonly ClusterVolumeUseDiskUser[];
    /**
     * The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
     * cluster. Claims of generic ephemeral volumes are not counted.
     */
    claimUsers(claim: string): number;
  };
  /**
   * Attached volumes and attach limits of CSI drivers, over all rows of the cluster. A volume of an in-tree type counts
   * as a volume of the CSI driver that replaces the type.
   */
  'cluster-attachments': {
    /**
     * The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
     * the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
     * PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
     */
    wanted(registered: boolean): readonly ClusterAttachmentsAttachment[];
    /** A flag: the node has a CSINode. One entry per row of the cluster. */
    registered(): Uint8Array;
    /** A flag: the CSINode limits at least one driver. One entry per row of the cluster. */
    limited(): Uint8Array;
    /**
     * A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
     * not list the driver. One entry per row of the cluster. Since 0.2.
     */
    driverMissing(driver: string): Uint8Array;
    /**
     * How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
     * of the cluster.
     */
    limit(driver: string): readonly number[];
    /**
     * The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
     * row of the cluster.
     */
    used(driver: string): readonly number[];
    /**
     * The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
     * volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
     */
    rowsWith(volume: ClusterAttachmentsAttachment): readonly number[];
    /**
     * Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
     * first pod by namespace and name.
     */
    uncounted(): readonly ClusterAttachmentsUncountedPod[];
  };
  /** Storage objects: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSIDrivers and CSIStorageCapacities. */
  'cluster-storage': {
    /** The claim of this name in the pod's namespace; none where it does not exist. */
    claimNamed(name: string): ClusterStorageClaim | null;
    /** The volume of this name; none where it does not exist. */
    volumeNamed(name: string): ClusterStorageVolume | null;
    /**
     * Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
     * neither bound to nor reserved for another claim, sorted by name.
     */
    volumesFor(claim: string): readonly ClusterStorageVolume[];
    /**
     * The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
     * does not exist.
     */
    exactSizesFor(claim: string): ClusterStorageExactSizes | null;
    /** The StorageClass of this name; none where it does not exist. */
    classNamed(name: string): ClusterStorageClass | null;
    /** The name of the default StorageClass; none where there is no default. */
    defaultClass(): string | null;
    /** Whether the CSIDriver of this name sets `spec.storageCapacity`. */
    driverReportsCapacity(driver: string): boolean;
    /** The CSIStorageCapacities of the StorageClass `class-name`. */
    capacities(className: string): readonly ClusterStorageCapacity[];
    /**
     * A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
     * cluster.
     */
    migrated(plugin: string): Uint8Array;
  };
  /** Images that are present on nodes, over all rows of the cluster. Since 0.2. */
  'cluster-images': {
    /**
     * The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
     * per name. 0 where no node holds it.
     */
    size(image: string): number;
  };
  /**
   * Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
   * Since 0.2.
   */
  'time': {
    /**
     * Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
     * evaluation of the pod began.
     */
    passed(at: number): boolean;
  };
  /**
   * Entries of the cluster's ConfigMaps. The host keeps only the ConfigMaps that the policy lists in `spec.facts.configMaps`; an
   * entry of any other reads as absent. The same for every node. Since 0.2.
   */
  'config-maps': {
    /**
     * The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
     * than 65,536 bytes.
     */
    entry(configMap: string, key: string): string | null;
  };
}
