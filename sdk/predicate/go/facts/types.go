// Code generated from the contract by the test `bindings` of nodesift-module. DO NOT EDIT.

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
	// As written, in order.
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
	// Any other text.
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
	// As written, in order.
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
	// In order.
	MatchExpressions []SelectorsRequirement
}

// PodSpreadWhenUnsatisfiable: the type `when-unsatisfiable` of pod-spread.
// `whenUnsatisfiable`: what happens to a node on which the pod would exceed `max-skew`.
type PodSpreadWhenUnsatisfiable uint8

// The values of PodSpreadWhenUnsatisfiable.
const (
	PodSpreadWhenUnsatisfiableDoNotSchedule PodSpreadWhenUnsatisfiable = iota
	PodSpreadWhenUnsatisfiableScheduleAnyway
	// Any other text.
	PodSpreadWhenUnsatisfiableOther
)

// PodSpreadInclusion: the type `inclusion` of pod-spread.
// Whether nodes that the pod cannot run on are excluded from the counts (`honor`) or included (`ignore`).
type PodSpreadInclusion uint8

// The values of PodSpreadInclusion.
const (
	PodSpreadInclusionHonor PodSpreadInclusion = iota
	PodSpreadInclusionIgnore
	// Any other text.
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
	// None: honor.
	NodeAffinityPolicy *PodSpreadInclusion
	// None: ignore.
	NodeTaintsPolicy *PodSpreadInclusion
	// Label keys. The values of the pod being filtered for these keys are added to the selector.
	MatchLabelKeys []string
}

// PodAffinityTerm: the type `term` of pod-affinity.
// A PodAffinityTerm.
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
	// For example `apps/v1`.
	ApiVersion string
	// For example `ReplicaSet`.
	Kind string
	Name string
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
// A PersistentVolumeClaim.
type ClusterStorageClaim struct {
	Name string
	Uid  string
	// `spec.volumeName`; empty where the claim has no volume yet.
	VolumeName string
	// The name of the StorageClass, from the spec or the beta annotation; none where neither names one.
	ClassName *string
	// `spec.accessModes`, as written.
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
	// `status.phase`.
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
// A PersistentVolume.
type ClusterStorageVolume struct {
	Name string
	// The name of the StorageClass; empty where there is none.
	ClassName string
	// `spec.accessModes`, as written.
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
	// `status.phase`.
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
// A StorageClass.
type ClusterStorageClass struct {
	Name        string
	Provisioner string
	// None where the class does not set it.
	BindingMode *ClusterStorageBindingMode
	// `allowedTopologies`: alternative terms. Each term is a list of label key and accepted values; all must hold.
	AllowedTopologies [][]Tuple2[string, []string]
}

// ClusterStorageCapacity: the type `capacity` of cluster-storage.
// A CSIStorageCapacity.
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
	// What the claim requests; 0 where it requests nothing.
	Requested ClusterStorageExactSize
	// The capacities of the volumes that `volumes-for` lists; one entry per volume, in its order.
	Capacities []ClusterStorageExactSize
}

// RowSetsStatus: the type `status` of row-sets.
// As in `predicate`.
type RowSetsStatus uint8

// The values of RowSetsStatus.
const (
	RowSetsStatusUnschedulable RowSetsStatus = iota
	RowSetsStatusUnschedulableAndUnresolvable
	RowSetsStatusError
)

// RowSetsFailure: the type `failure` of row-sets.
// As in `predicate`.
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
	// What happens.
	LogLevelInfo
	// What somebody should look at.
	LogLevelWarn
	// What keeps the predicate from its work.
	LogLevelError
)
