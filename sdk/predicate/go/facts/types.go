// Code generated from the contract by `make contract`. DO NOT EDIT.

package facts

// PodPlacementOperator: the type `operator` of pod-placement.
// The operator of a node selector requirement.
type PodPlacementOperator uint8

// The values of PodPlacementOperator.
const (
	PodPlacementOperatorIn PodPlacementOperator = iota
	PodPlacementOperatorNotIn
	PodPlacementOperatorExists
	PodPlacementOperatorDoesNotExist
	PodPlacementOperatorGt
	PodPlacementOperatorLt
	// Any other text. Kubernetes cannot parse such a requirement.
	PodPlacementOperatorUnknown
)

// PodPlacementRequirement: the type `requirement` of pod-placement.
// A NodeSelectorRequirement: `key operator values`.
type PodPlacementRequirement struct {
	// The key of a label, or the name of a field.
	Key      string
	Operator PodPlacementOperator
	// `values` of the requirement, as written and in order.
	Values []string
}

// PodPlacementTerm: the type `term` of pod-placement.
// A NodeSelectorTerm: all of its requirements must hold. A term without requirements matches no node.
type PodPlacementTerm struct {
	// `matchExpressions`: requirements on labels.
	Expressions []PodPlacementRequirement
	// `matchFields`: requirements on fields. Kubernetes supports only `metadata.name`.
	Fields []PodPlacementRequirement
}

// PodPlacementPreferredTerm: the type `preferred-term` of pod-placement.
// A PreferredSchedulingTerm: a number that a node is worth which matches the term. Since 0.2.
type PodPlacementPreferredTerm struct {
	// The weight: 0 switches the preference off.
	Weight int32
	// `preference`: a term without requirements expresses no preference.
	Preference PodPlacementTerm
}

// PodTolerationsOperator: the type `operator` of pod-tolerations.
// The operator of a toleration.
type PodTolerationsOperator uint8

// The values of PodTolerationsOperator.
const (
	// Also where the pod leaves the operator out.
	PodTolerationsOperatorEqual PodTolerationsOperator = iota
	PodTolerationsOperatorExists
	// Any other text, including `Gt` and `Lt`. Such a toleration tolerates no taint.
	PodTolerationsOperatorOther
)

// PodTolerationsEffect: the type `effect` of pod-tolerations.
// The effect of a taint.
type PodTolerationsEffect uint8

// The values of PodTolerationsEffect.
const (
	PodTolerationsEffectNoSchedule PodTolerationsEffect = iota
	PodTolerationsEffectPreferNoSchedule
	PodTolerationsEffectNoExecute
	// Any other text as the effect of a taint.
	PodTolerationsEffectOther
)

// PodTolerationsToleration: the type `toleration` of pod-tolerations.
// One entry of `spec.tolerations`.
type PodTolerationsToleration struct {
	// The key of the taint. Empty: every key.
	Key      string
	Operator PodTolerationsOperator
	// The value of the taint, compared only by `equal`.
	Value string
	// The effect of the taint. None: every effect.
	Effect *PodTolerationsEffect
}

// PodResourcesRequest: the type `request` of pod-resources.
// The requested amount of one resource.
type PodResourcesRequest struct {
	// The resource name, for example `cpu` or `example.com/gpu`.
	Resource string
	// `cpu` in millicores; `memory`, `ephemeral-storage` and `hugepages-*` in bytes; others as a count. Rounded up
	// once, after the sum over the pod.
	Amount int64
}

// SelectorsOperator: the type `operator` of selectors.
// The operator of a label selector requirement.
type SelectorsOperator uint8

// The values of SelectorsOperator.
const (
	SelectorsOperatorIn SelectorsOperator = iota
	SelectorsOperatorNotIn
	SelectorsOperatorExists
	SelectorsOperatorDoesNotExist
	// Any other text. Kubernetes cannot parse such a requirement.
	SelectorsOperatorUnknown
)

// SelectorsRequirement: the type `requirement` of selectors.
// A LabelSelectorRequirement: `key operator values`.
type SelectorsRequirement struct {
	// The key of the label.
	Key      string
	Operator SelectorsOperator
	// `values` of the requirement, as written and in order.
	Values []string
	// The operator as written, for error texts.
	OperatorText string
}

// SelectorsLabelSelector: the type `label-selector` of selectors.
// A meta/v1 LabelSelector as written, unvalidated. All parts must hold. A selector without parts matches
// everything.
type SelectorsLabelSelector struct {
	// Label key and value of each entry, sorted by key.
	MatchLabels []Tuple2[string, string]
	// `matchExpressions`: requirements on labels, in order.
	MatchExpressions []SelectorsRequirement
}

// PodSpreadWhenUnsatisfiable: the type `when-unsatisfiable` of pod-spread.
// `whenUnsatisfiable`: what happens to a node on which the pod would exceed `max-skew`.
type PodSpreadWhenUnsatisfiable uint8

// The values of PodSpreadWhenUnsatisfiable.
const (
	PodSpreadWhenUnsatisfiableDoNotSchedule PodSpreadWhenUnsatisfiable = iota
	PodSpreadWhenUnsatisfiableScheduleAnyway
	// Any other text as `whenUnsatisfiable`.
	PodSpreadWhenUnsatisfiableOther
)

// PodSpreadInclusion: the type `inclusion` of pod-spread.
// Whether nodes that the pod cannot run on are excluded from the counts (`honor`) or included (`ignore`).
type PodSpreadInclusion uint8

// The values of PodSpreadInclusion.
const (
	PodSpreadInclusionHonor PodSpreadInclusion = iota
	PodSpreadInclusionIgnore
	// Any other text as the policy.
	PodSpreadInclusionOther
)

// PodSpreadConstraint: the type `constraint` of pod-spread.
// One entry of `spec.topologySpreadConstraints`.
type PodSpreadConstraint struct {
	// A number of pods.
	MaxSkew int32
	// The key of the node label whose values are the topology domains.
	TopologyKey       string
	WhenUnsatisfiable PodSpreadWhenUnsatisfiable
	// `labelSelector`: the pods that are counted. None: matches no pod.
	Selector *SelectorsLabelSelector
	// A number of domains. None: 1.
	MinDomains *int32
	// `nodeAffinityPolicy`, about nodes that the pod's node selector and node affinity exclude. None: honor.
	NodeAffinityPolicy *PodSpreadInclusion
	// `nodeTaintsPolicy`, about nodes with taints that the pod does not tolerate. None: ignore.
	NodeTaintsPolicy *PodSpreadInclusion
	// Label keys. The values of the pod being filtered for these keys are added to the selector.
	MatchLabelKeys []string
}

// PodAffinityTerm: the type `term` of pod-affinity.
// A PodAffinityTerm of the Kubernetes API, as written.
type PodAffinityTerm struct {
	// `labelSelector`: the other pods that the term is about. None: matches no pod.
	Selector *SelectorsLabelSelector
	// Namespaces of the other pods. Where this list is empty and there is no `namespace-selector`: the namespace
	// of the pod that has the term.
	Namespaces []string
	// Further namespaces of the other pods, selected by the labels of the Namespace objects. None: no further
	// ones.
	NamespaceSelector *SelectorsLabelSelector
	// The key of the node label whose values are the topology domains.
	TopologyKey string
	// Label keys. The other pods must have the same values for these keys as the pod that has the term.
	MatchLabelKeys []string
	// Label keys. The other pods must have other values for these keys than the pod that has the term.
	MismatchLabelKeys []string
}

// PodVolumesDiskKind: the type `disk-kind` of pod-volumes.
// The in-tree volume types that kube-scheduler checks for conflicts.
type PodVolumesDiskKind uint8

// The values of PodVolumesDiskKind.
const (
	PodVolumesDiskKindGcePersistentDisk PodVolumesDiskKind = iota
	PodVolumesDiskKindAwsElasticBlockStore
	PodVolumesDiskKindIscsi
	PodVolumesDiskKindRbd
)

// PodVolumesDisk: the type `disk` of pod-volumes.
// A disk that the pod names directly, without a claim.
type PodVolumesDisk struct {
	Kind PodVolumesDiskKind
	// The identity within the kind: the name of a GCE persistent disk, the ID of an EBS volume, the IQN of an
	// iSCSI target, `pool/image` of an RBD device.
	Id       string
	ReadOnly bool
	// The monitors of an RBD device; empty for other kinds. Two RBD devices with the same `id` are the same device
	// only where their monitors overlap.
	Monitors []string
}

// PodVolumesClaimRef: the type `claim-ref` of pod-volumes.
// A reference to a PersistentVolumeClaim.
type PodVolumesClaimRef struct {
	// The name of the claim in the pod's namespace; empty where the pod leaves it out.
	Name string
	// Whether the volume is a generic ephemeral volume, whose claim is created for this pod.
	Ephemeral bool
}

// PodVolumesVolume: the type `volume` of pod-volumes.
// One entry of `spec.volumes`.
type PodVolumesVolume struct {
	Disk  *PodVolumesDisk
	Claim *PodVolumesClaimRef
}

// PodOwnerOwner: the type `owner` of pod-owner.
// An object that owns pods.
type PodOwnerOwner struct {
	// `apiVersion` of the owner, for example `apps/v1`.
	ApiVersion string
	// `kind` of the owner, for example `ReplicaSet`.
	Kind string
	Name string
}

// PodClaimsNanoUnits: the type `nano-units` of pod-claims.
// An amount in billionths: `high` × 2^64 + `low`.
type PodClaimsNanoUnits struct {
	// The upper 64 bits, which carry the sign.
	High int64
	Low  uint64
}

// PodClaimsAmount: the type `amount` of pod-claims.
// A quantity of the Kubernetes API.
type PodClaimsAmount struct {
	// The exact amount, in billionths of a unit.
	NanoUnits PodClaimsNanoUnits
	// In whole units as Go's `Quantity.Value()` rounds and overflows, which depends on how the quantity is written.
	Units int64
}

// PodClaimsObstacle: the type `obstacle` of pod-claims.
// Why no claim of the pod can be allocated on any node.
type PodClaimsObstacle struct {
	// The text of kube-scheduler's reason or error.
	Text string
	// Whether it ends the scheduling of the pod with an error; otherwise the pod is unschedulable.
	IsError bool
}

// PodClaimsClass: the type `class` of pod-claims.
// A DeviceClass that is asked for by its name.
type PodClaimsClass struct {
	// The name as asked for, whether or not there is such a class.
	Name string
	// The CEL expressions of its selectors, in order; an empty text for a selector that is not CEL. None where there is no such
	// class.
	Selectors *[]string
}

// PodClaimsToleration: the type `toleration` of pod-claims.
// A toleration of a request, with the fields of the Kubernetes API as written; empty where they are absent.
type PodClaimsToleration struct {
	Key      string
	Operator string
	Value    string
	Effect   string
}

// PodClaimsAsked: the type `asked` of pod-claims.
// The devices that a request, or one of its alternatives, asks for.
type PodClaimsAsked struct {
	// The name without that of the request to which an alternative belongs.
	OwnName string
	// Whether it is listed as an alternative, alone or with others.
	IsAlternative bool
	Class         PodClaimsClass
	// The CEL expressions of its own selectors, in order; none for a selector that is not CEL.
	Selectors []*string
	// `allocationMode`: `ExactCount`, `All`, or any other text.
	Mode string
	// A number of devices, for `ExactCount`.
	Count int64
	// Whether use of a device by others does not matter; never for alternatives.
	AdminAccess bool
	// `tolerations` of the request, in order.
	Tolerations []PodClaimsToleration
	// `capacity.requests`: the name and amount of each, sorted by name.
	Capacity []Tuple2[string, PodClaimsAmount]
}

// PodClaimsRequest: the type `request` of pod-claims.
// A request of a claim.
type PodClaimsRequest struct {
	// Its name in the claim.
	Base string
	// At least one, in order. A request without alternatives has one entry: itself.
	Alternatives []PodClaimsAsked
}

// PodClaimsConstraintKind: the type `constraint-kind` of pod-claims.
// The demand of a constraint on an attribute, which is given by its full name.
type PodClaimsConstraintKind struct {
	// `matchAttribute`: the same value on all devices.
	Match *string
	// `distinctAttribute`: another value on each device.
	Distinct *string
	// A kind of constraint that this version of the contract does not know.
	Unknown bool
}

// PodClaimsConstraint: the type `constraint` of pod-claims.
// A constraint over the devices of a claim.
type PodClaimsConstraint struct {
	// Names of requests or of alternatives (`request/alternative`). Empty: all of the claim.
	Requests []string
	Kind     PodClaimsConstraintKind
}

// PodClaimsUnallocated: the type `unallocated` of pod-claims.
// A claim that has to be allocated.
type PodClaimsUnallocated struct {
	// `spec.devices.requests` of the claim, in order.
	Requests []PodClaimsRequest
	// `spec.devices.constraints` of the claim, in order.
	Constraints []PodClaimsConstraint
}

// PodClaimsClaim: the type `claim` of pod-claims.
// A claim of the pod.
type PodClaimsClaim struct {
	Unallocated *PodClaimsUnallocated
	// Allocated: a flag that is 1 where it can be used. One entry per row of the batch.
	Allocated *[]uint8
}

// PodClaimsContainerResource: the type `container-resource` of pod-claims.
// An extended resource in the requests of a container.
type PodClaimsContainerResource struct {
	// Its number from 0 among all requests of the container, sorted by name.
	Key uint32
	// Its number in `extended-resources.resources`.
	Resource uint32
	// A count; 0 where it is not a whole number of 64 bits.
	Count int64
}

// PodClaimsContainer: the type `container` of pod-claims.
// A container of the pod.
type PodClaimsContainer struct {
	// Whether it is an init container that ends, which a sidecar container does not.
	IsShort bool
	// Its requests for resources of `extended-resources.resources`.
	Resources []PodClaimsContainerResource
}

// PodClaimsExtendedClaim: the type `extended-claim` of pod-claims.
// The state of the claim for extended resources.
type PodClaimsExtendedClaim struct {
	// It exists and has requests, from an earlier attempt to schedule the pod; whether or not it is allocated.
	HasRequests bool
	// Allocated, without requests: a flag that is 1 where it can be used. One entry per row of the batch.
	Allocated *[]uint8
	// To be made for these containers: all of the pod, init containers first.
	ToBeMade *[]PodClaimsContainer
}

// PodClaimsExtendedResource: the type `extended-resource` of pod-claims.
// An extended resource that the pod requests.
type PodClaimsExtendedResource struct {
	// The DeviceClass that provides it; none where no class does.
	Class *PodClaimsClass
	// Whether the node itself has the resource: 0 where it does not list the resource in `status.allocatable`, 1 where it
	// lists an amount of zero, 2 where it has some. One entry per row of the batch.
	Own []uint8
}

// PodClaimsExtendedResources: the type `extended-resources` of pod-claims.
// The extended resources of the pod, at least one of which a DeviceClass provides.
type PodClaimsExtendedResources struct {
	Claim PodClaimsExtendedClaim
	// The resources of which the pod requests an amount other than zero, sorted by name.
	Resources []PodClaimsExtendedResource
}

// NodeTaintsTaint: the type `taint` of node-taints.
// One entry of a node's `spec.taints`.
type NodeTaintsTaint struct {
	Key    string
	Value  string
	Effect PodTolerationsEffect
}

// NodeInfoField: the type `field` of node-info.
// A field of `status.nodeInfo`, or `spec.providerID`.
type NodeInfoField uint8

// The values of NodeInfoField.
const (
	NodeInfoFieldKubeletVersion NodeInfoField = iota
	NodeInfoFieldKernelVersion
	NodeInfoFieldContainerRuntimeVersion
	NodeInfoFieldOsImage
	NodeInfoFieldOperatingSystem
	NodeInfoFieldArchitecture
	NodeInfoFieldProviderId
)

// NodeDevicesQuery: the type `query` of node-devices.
// The facts that are asked for about devices. At most 4,096 lists with 16,384 expressions in all, and 4,096
// attributes.
type NodeDevicesQuery struct {
	// Lists of CEL expressions, none of them empty. A device matches a list where it matches all expressions of it.
	SelectorLists [][]string
	// Full names of attributes (`domain/name`).
	Attributes []string
	// Whether to name pools and devices. Without names, more nodes share a situation.
	Names bool
}

// NodeDevicesSituation: the type `situation` of node-devices.
// The pools that a row sees, or the error that keeps it from seeing any.
type NodeDevicesSituation struct {
	// The number of its pools.
	Pools *uint32
	// The error of kube-scheduler in gathering them.
	Error *string
}

// NodeDevicesPoolState: the type `pool-state` of node-devices.
// Whether a pool can be used.
type NodeDevicesPoolState uint8

// The values of NodeDevicesPoolState.
const (
	NodeDevicesPoolStateOk NodeDevicesPoolState = iota
	// ResourceSlices of its newest generation are missing.
	NodeDevicesPoolStateIncomplete
	// Its ResourceSlices contradict each other, for example by two devices of one name.
	NodeDevicesPoolStateInvalid
)

// NodeDevicesPool: the type `pool` of node-devices.
// A pool of devices.
type NodeDevicesPool struct {
	// The index of its driver in `device-columns.drivers`.
	Driver uint32
	State  NodeDevicesPoolState
	// The number of its devices in the columns; 0 unless it can be used.
	Devices uint32
	// The number of its counters in the columns.
	Counters uint32
}

// NodeDevicesCounter: the type `counter` of node-devices.
// A counter of a pool.
type NodeDevicesCounter struct {
	Total PodClaimsNanoUnits
	// The sum that devices in use draw from it; more than `total` where a driver has lowered that.
	Held PodClaimsNanoUnits
}

// NodeDevicesHeld: the type `held` of node-devices.
// The amount of one capacity of a device that shares of it hold.
type NodeDevicesHeld struct {
	// The index of the device in the columns.
	Device uint32
	// The index of the capacity in the kind of the device.
	Capacity uint32
	// The sum over all shares.
	Amount PodClaimsNanoUnits
}

// NodeDevicesAnswer: the type `answer` of node-devices.
// An answer that may fail.
type NodeDevicesAnswer struct {
	No  bool
	Yes bool
	// An error of kube-scheduler in place of an answer.
	Error *string
}

// NodeDevicesRange: the type `range` of node-devices.
// A range of amounts.
type NodeDevicesRange struct {
	Min *PodClaimsAmount
	Max *PodClaimsAmount
	// The distance between amounts, from `min` on.
	Step *PodClaimsAmount
}

// NodeDevicesCapacity: the type `capacity` of node-devices.
// A capacity of a device.
type NodeDevicesCapacity struct {
	Name  string
	Value PodClaimsAmount
	// The amount that a share takes where a request asks for nothing; none: all of it.
	Default *PodClaimsAmount
	// The amounts that a share can take; empty: any.
	ValidValues []PodClaimsAmount
	// The range of amounts that a share can take; none: any.
	ValidRange *NodeDevicesRange
}

// NodeDevicesKind: the type `kind` of node-devices.
// The properties that devices of one kind have in common: everything but name, attributes and use.
type NodeDevicesKind struct {
	// Whether they match; one entry per list of the query. An error begins with the number of the selector in its list.
	Matches []NodeDevicesAnswer
	// Whether they are for the node, where their ResourceSlice leaves that to devices; otherwise yes.
	Reaches NodeDevicesAnswer
	// The index of their taints in `device-columns.taints`.
	Taints uint32
	// `allowMultipleAllocations`: whether several claims can have shares of one.
	MultipleAllocations bool
	// The capacities of each of them, sorted by name.
	Capacities []NodeDevicesCapacity
	// The amounts that each of them draws from counters: the index of a counter in the pool, and how much. A
	// counter can appear twice. Where `DRAPartitionableDevices` is off, pools have no counters, and a device that draws
	// from some has the index 4294967295 with the amount 0: it cannot be allocated.
	Consumes []Tuple2[uint32, PodClaimsNanoUnits]
}

// NodeDevicesTaint: the type `taint` of node-devices.
// A taint of a device, with the fields of the Kubernetes API as written; empty where they are absent.
type NodeDevicesTaint struct {
	Key    string
	Value  string
	Effect string
}

// NodeDevicesDeviceColumns: the type `device-columns` of node-devices.
// Devices as columns. First the pools of situation 0 in kube-scheduler's order, which has pools with binding conditions last;
// then those of situation 1, and so on. Counters and devices follow each other in the order of pools.
type NodeDevicesDeviceColumns struct {
	// The index of the row's situation; one entry per row of the batch.
	Codes []uint32
	// The distinct situations: one entry per situation, not per row.
	Situations []NodeDevicesSituation
	// The pools of all situations, one situation after the other.
	Pools []NodeDevicesPool
	// The counters of all pools, one pool after the other.
	Counters []NodeDevicesCounter
	// The index of the device's kind; one entry per device, of all pools, in kube-scheduler's order.
	DeviceKinds []uint32
	// Bit 0: one claim has the device for itself. Bit 1: claims have shares of it. One entry per device.
	InUse []uint8
	// The amounts that shares hold, sorted by device and capacity, without those that are zero.
	Held []NodeDevicesHeld
	// Values of attributes: one entry per device and attribute of the query, all attributes of a device after each other. 0
	// where the device has no such attribute. Within a situation, equal numbers are equal values of one type; they are given by
	// first appearance. The maximum u32 stands for a value of an unknown type, which cannot be compared.
	Values []uint32
	// One entry per pool; empty where the query does not ask for names.
	PoolNames []string
	// One entry per device; empty where the query does not ask for names.
	Names []string
	// The distinct kinds: one entry per kind, not per device.
	Kinds []NodeDevicesKind
	// The names of the drivers that pools refer to.
	Drivers []string
	// The distinct lists of taints.
	Taints [][]NodeDevicesTaint
}

// NodePartiesPartyColumn: the type `party-column` of node-parties.
// The answers of one party, as a column with a dictionary of reasons.
type NodePartiesPartyColumn struct {
	// The name of the party in the policy.
	Party string
	// The answer about the node: 0 nothing, or nothing any more; 1 that it suits; 2 that it does not. One entry per row of
	// the batch.
	States []uint8
	// The code of the reason for which the node does not suit; 0 where `states` is not 2. One entry per row of the batch.
	Reasons []uint32
	// The dictionary of reasons: one text per code, not per row. Entry 0 is the empty text.
	Texts []string
	// Whether a node fits of which the party says nothing. True where the policy says so, and for whoever is to ask the party before
	// the pod is bound; otherwise the pod waits for it.
	UnknownFits bool
}

// ClusterPodsPodSelector: the type `pod-selector` of cluster-pods.
// Selects pods by namespace and by labels. Both parts must hold.
type ClusterPodsPodSelector struct {
	// Namespaces by name. They need no Namespace object.
	Namespaces []string
	// Further namespaces: those whose Namespace object has labels that meet all of these requirements. An empty
	// list is every namespace, also those without a Namespace object. None: no further ones. An unknown operator
	// traps.
	NamespaceRequirements *[]SelectorsRequirement
	// Requirements on the labels of the pod; all must hold. An unknown operator traps.
	Requirements []SelectorsRequirement
}

// ClusterVolumeUseDiskUser: the type `disk-user` of cluster-volume-use.
// A use of a disk by a pod on a node.
type ClusterVolumeUseDiskUser struct {
	// The row of the cluster that holds the node.
	Row uint32
	// Whether the pod mounts the disk read-only.
	ReadOnly bool
	// The monitors that the pod names for an RBD device; empty for other kinds.
	Monitors []string
}

// ClusterAttachmentsAttachment: the type `attachment` of cluster-attachments.
// A volume of a CSI driver.
type ClusterAttachmentsAttachment struct {
	// The name of the CSI driver.
	Driver string
	// The volume handle, unique for the driver. For a volume that is not provisioned yet: a text that identifies
	// its claim.
	Handle string
}

// ClusterAttachmentsObstacle: the type `obstacle` of cluster-attachments.
// Why the volumes of a pod cannot be counted.
type ClusterAttachmentsObstacle struct {
	// A claim volume has no claim name.
	UnnamedClaim bool
	// The claim of this name does not exist. Reported for the pod being filtered only; for pods on nodes the
	// volume is left out.
	MissingClaim *string
	// The claim of this name exists for a generic ephemeral volume, but the pod is not its controller.
	ForeignClaim *string
	// An in-tree volume in the pod's spec cannot be translated to its CSI driver: the name of the volume, and the
	// reason.
	Untranslatable *Tuple2[string, string]
}

// ClusterAttachmentsUncountedPod: the type `uncounted-pod` of cluster-attachments.
// A pod on a node whose volumes cannot be counted.
type ClusterAttachmentsUncountedPod struct {
	// The row of the cluster that holds the node.
	Row uint32
	// The namespace of the pod.
	Namespace string
	// The name of the pod.
	Pod      string
	Obstacle ClusterAttachmentsObstacle
}

// ClusterStorageBindingMode: the type `binding-mode` of cluster-storage.
// `volumeBindingMode` of a StorageClass.
type ClusterStorageBindingMode uint8

// The values of ClusterStorageBindingMode.
const (
	ClusterStorageBindingModeImmediate ClusterStorageBindingMode = iota
	ClusterStorageBindingModeWaitForFirstConsumer
)

// ClusterStorageClaim: the type `claim` of cluster-storage.
// A PersistentVolumeClaim, with the fields that kube-scheduler reads.
type ClusterStorageClaim struct {
	Name string
	Uid  string
	// `spec.volumeName`; empty where the claim has no volume yet.
	VolumeName string
	// The name of the StorageClass, from the spec or the beta annotation; none where neither names one.
	ClassName *string
	// `spec.accessModes`: the access modes that the claim asks for, as written.
	AccessModes []string
	// `spec.resources.requests.storage` in bytes, rounded up; none where the claim requests none.
	Requested *int64
	// `spec.volumeMode`: `Filesystem` or `Block`.
	VolumeMode string
	// `spec.volumeAttributesClassName`; empty where there is none.
	AttributesClass string
	// `spec.selector`: the labels of acceptable volumes. None: every volume.
	Selector *SelectorsLabelSelector
	// Whether the annotation `pv.kubernetes.io/bind-completed` is present.
	BindCompleted bool
	// The annotation `volume.kubernetes.io/selected-node`: the name of the node that was selected for the claim.
	SelectedNode *string
	// `status.phase`, for example `Bound`; empty where it is absent.
	Phase string
	// Whether the claim has a deletion timestamp.
	Deleting bool
	// The UID of the owner that controls the claim; none where there is none.
	ControllerUid *string
	// Whether `spec.dataSource` or `spec.dataSourceRef` is present.
	HasDataSource bool
	// Label key and value of each label, sorted by key.
	Labels []Tuple2[string, string]
}

// ClusterStorageVolume: the type `volume` of cluster-storage.
// A PersistentVolume, with the fields that kube-scheduler reads.
type ClusterStorageVolume struct {
	Name string
	// The name of the StorageClass; empty where there is none.
	ClassName string
	// `spec.accessModes`: the access modes that the volume offers, as written.
	AccessModes []string
	// `spec.capacity.storage` in bytes, rounded up.
	Capacity int64
	// `spec.volumeMode`: `Filesystem` or `Block`.
	VolumeMode string
	// `spec.volumeAttributesClassName`; empty where there is none.
	AttributesClass string
	// Label key and value of each label, sorted by key.
	Labels []Tuple2[string, string]
	// The terms of `spec.nodeAffinity.required`. None: every node can use the volume.
	NodeTerms *[]PodPlacementTerm
	// `spec.claimRef`: namespace, name and UID of the claim that the volume is reserved for or bound to. The UID
	// can be empty.
	ClaimRef *Tuple3[string, string, string]
	// `status.phase`, for example `Available`; empty where it is absent.
	Phase string
	// Whether the volume has a deletion timestamp.
	Deleting bool
	// The name of the in-tree plugin where a CSI driver replaces it, for example `kubernetes.io/aws-ebs`; empty
	// for other volumes.
	InTreePlugin string
	// The CSI driver of the volume, or the one that replaces its in-tree plugin; empty for other volumes.
	Driver string
	// The volume handle, unique for the driver. An error says why an in-tree volume cannot be translated to its
	// driver.
	Handle Result[string, string]
}

// ClusterStorageClass: the type `class` of cluster-storage.
// A StorageClass, with the fields that kube-scheduler reads.
type ClusterStorageClass struct {
	Name        string
	Provisioner string
	// None where the class does not set it.
	BindingMode *ClusterStorageBindingMode
	// `allowedTopologies`: alternative terms. Each term is a list of label key and accepted values; all must hold.
	AllowedTopologies [][]Tuple2[string, []string]
}

// ClusterStorageCapacity: the type `capacity` of cluster-storage.
// A CSIStorageCapacity, with the fields that kube-scheduler reads.
type ClusterStorageCapacity struct {
	// `capacity` in bytes; none where unknown.
	Bytes *int64
	// `maximumVolumeSize` in bytes; none where unknown.
	MaximumVolumeBytes *int64
	// `nodeTopology`: the nodes that can access the storage. None: no node.
	NodeSelector *SelectorsLabelSelector
}

// ClusterStorageExactSize: the type `exact-size` of cluster-storage.
// An exact size in billionths of a byte: `high` × 2^64 + `low`. Larger sizes than fit are given as the largest. Sizes are
// ordered as the pairs of `high` and `low` are.
type ClusterStorageExactSize struct {
	High int64
	Low  uint64
}

// ClusterStorageExactSizes: the type `exact-sizes` of cluster-storage.
// The sizes by which volumes are chosen for a claim. `claim` and `volume` have them rounded up to bytes and cut to 64
// bits, which is not how kube-scheduler compares them.
type ClusterStorageExactSizes struct {
	// `spec.resources.requests.storage` of the claim; 0 where it requests nothing.
	Requested ClusterStorageExactSize
	// The capacities of the volumes that `volumes-for` lists; one entry per volume, in its order.
	Capacities []ClusterStorageExactSize
}

// RowSetsStatus: the type `status` of row-sets.
// The status code of a rejection, equal to `status` of `predicate`.
type RowSetsStatus uint8

// The values of RowSetsStatus.
const (
	RowSetsStatusUnschedulable RowSetsStatus = iota
	RowSetsStatusUnschedulableAndUnresolvable
	RowSetsStatusError
)

// RowSetsFailure: the type `failure` of row-sets.
// A status and its reasons, equal to `failure` of `predicate`.
type RowSetsFailure struct {
	Status  RowSetsStatus
	Reasons []string
}

// LogLevel: the type `level` of log.
// How much a line matters.
type LogLevel uint8

// The values of LogLevel.
const (
	// For the author of the predicate; not shown by default.
	LogLevelDebug LogLevel = iota
	// An event of normal operation.
	LogLevelInfo
	// A state that somebody should look at.
	LogLevelWarn
	// A failure that keeps the predicate from its work.
	LogLevelError
)
