// Code generated from the contract by `make contract`. DO NOT EDIT.

//go:build !wasip1

package facts

// Host holds the functions of the contract that a test gives.
type Host struct {
	// PodLabelsNamespace: `namespace` of pod-labels.
	PodLabelsNamespace func() string
	// PodLabelsLabel: `label` of pod-labels.
	PodLabelsLabel func(key string) (string, bool)
	// PodAnnotationsAnnotation: `annotation` of pod-annotations.
	PodAnnotationsAnnotation func(key string) (string, bool)
	// PodPlacementNodeName: `node-name` of pod-placement.
	PodPlacementNodeName func() (string, bool)
	// PodPlacementNodeSelector: `node-selector` of pod-placement.
	PodPlacementNodeSelector func() []Tuple2[string, string]
	// PodPlacementRequiredTerms: `required-terms` of pod-placement.
	PodPlacementRequiredTerms func() ([]PodPlacementTerm, bool)
	// PodPlacementPreferredTerms: `preferred-terms` of pod-placement.
	PodPlacementPreferredTerms func() ([]PodPlacementPreferredTerm, bool)
	// PodTolerationsTolerations: `tolerations` of pod-tolerations.
	PodTolerationsTolerations func() []PodTolerationsToleration
	// PodResourcesRequests: `requests` of pod-resources.
	PodResourcesRequests func() []PodResourcesRequest
	// PodNonZeroRequestsRequests: `requests` of pod-non-zero-requests.
	PodNonZeroRequestsRequests func() []PodResourcesRequest
	// PodImagesContainers: `containers` of pod-images.
	PodImagesContainers func() []string
	// PodImagesVolumes: `volumes` of pod-images.
	PodImagesVolumes func() []string
	// PodSpreadConstraints: `constraints` of pod-spread.
	PodSpreadConstraints func() []PodSpreadConstraint
	// PodSpreadDefaultSelector: `default-selector` of pod-spread.
	PodSpreadDefaultSelector func() (SelectorsLabelSelector, bool)
	// PodAffinityAffinity: `affinity` of pod-affinity.
	PodAffinityAffinity func() []PodAffinityTerm
	// PodAffinityAntiAffinity: `anti-affinity` of pod-affinity.
	PodAffinityAntiAffinity func() []PodAffinityTerm
	// PodAffinityInvalidPreferred: `invalid-preferred` of pod-affinity.
	PodAffinityInvalidPreferred func() Tuple2[[]PodAffinityTerm, []PodAffinityTerm]
	// PodPreferredAffinityAffinity: `affinity` of pod-preferred-affinity.
	PodPreferredAffinityAffinity func() []Tuple2[int32, PodAffinityTerm]
	// PodPreferredAffinityAntiAffinity: `anti-affinity` of pod-preferred-affinity.
	PodPreferredAffinityAntiAffinity func() []Tuple2[int32, PodAffinityTerm]
	// PodFeaturesRequired: `required` of pod-features.
	PodFeaturesRequired func() []string
	// PodVolumesVolumes: `volumes` of pod-volumes.
	PodVolumesVolumes func() []PodVolumesVolume
	// PodVolumesOwner: `owner` of pod-volumes.
	PodVolumesOwner func() Tuple3[string, string, string]
	// NamespaceLabelsLabel: `label` of namespace-labels.
	NamespaceLabelsLabel func(key string) (string, bool)
	// PodSpecPriority: `priority` of pod-spec.
	PodSpecPriority func() int32
	// PodSpecPriorityClass: `priority-class` of pod-spec.
	PodSpecPriorityClass func() (string, bool)
	// PodSpecServiceAccount: `service-account` of pod-spec.
	PodSpecServiceAccount func() (string, bool)
	// PodSpecRuntimeClass: `runtime-class` of pod-spec.
	PodSpecRuntimeClass func() (string, bool)
	// PodSpecHostNetwork: `host-network` of pod-spec.
	PodSpecHostNetwork func() bool
	// PodSpecImages: `images` of pod-spec.
	PodSpecImages func() []string
	// PodSpecSchedulerName: `scheduler-name` of pod-spec.
	PodSpecSchedulerName func() string
	// PodOwnerController: `controller` of pod-owner.
	PodOwnerController func() (PodOwnerOwner, bool)
	// PodOwnerControllerUid: `controller-uid` of pod-owner.
	PodOwnerControllerUid func() (string, bool)
	// PodClaimsClaims: `claims` of pod-claims.
	PodClaimsClaims func() Result[[]PodClaimsClaim, PodClaimsObstacle]
	// PodClaimsExtended: `extended` of pod-claims.
	PodClaimsExtended func() (PodClaimsExtendedResources, bool)
	// PodClaimsClaimName: `claim-name` of pod-claims.
	PodClaimsClaimName func(claim uint32) string
	// PodClaimsChosen: `chosen` of pod-claims.
	PodClaimsChosen func(claim uint32) []uint32
	// PodClaimsDeriving: `deriving` of pod-claims.
	PodClaimsDeriving func(claim uint32) []uint32
	// NodeIdentityNames: `names` of node-identity.
	NodeIdentityNames func() []string
	// NodeIdentityRow: `row` of node-identity.
	NodeIdentityRow func(name string) (uint32, bool)
	// NodeLabelsColumn: `column` of node-labels.
	NodeLabelsColumn func(key string) []uint32
	// NodeLabelsCode: `code` of node-labels.
	NodeLabelsCode func(key string, text string) (uint32, bool)
	// NodeLabelsDictionary: `dictionary` of node-labels.
	NodeLabelsDictionary func(key string) []string
	// NodeLabelsIntegers: `integers` of node-labels.
	NodeLabelsIntegers func(key string) []int64
	// NodeLabelsRowsIn: `rows-in` of node-labels.
	NodeLabelsRowsIn func(key string, values []string) uint32
	// NodeLabelsRowsWith: `rows-with` of node-labels.
	NodeLabelsRowsWith func(key string) uint32
	// NodeAnnotationsColumn: `column` of node-annotations.
	NodeAnnotationsColumn func(key string) []uint32
	// NodeAnnotationsCode: `code` of node-annotations.
	NodeAnnotationsCode func(key string, text string) (uint32, bool)
	// NodeAnnotationsDictionary: `dictionary` of node-annotations.
	NodeAnnotationsDictionary func(key string) []string
	// NodeAnnotationsIntegers: `integers` of node-annotations.
	NodeAnnotationsIntegers func(key string) []int64
	// NodeAnnotationsRowsIn: `rows-in` of node-annotations.
	NodeAnnotationsRowsIn func(key string, values []string) uint32
	// NodeAnnotationsRowsWith: `rows-with` of node-annotations.
	NodeAnnotationsRowsWith func(key string) uint32
	// NodeTaintsUnschedulable: `unschedulable` of node-taints.
	NodeTaintsUnschedulable func() []uint8
	// NodeTaintsSets: `sets` of node-taints.
	NodeTaintsSets func() [][]NodeTaintsTaint
	// NodeTaintsColumn: `column` of node-taints.
	NodeTaintsColumn func() []uint32
	// NodeTaintsRowsUnschedulable: `rows-unschedulable` of node-taints.
	NodeTaintsRowsUnschedulable func() uint32
	// NodeTaintsRowsUntolerated: `rows-untolerated` of node-taints.
	NodeTaintsRowsUntolerated func() uint32
	// NodeResourcesAllocatable: `allocatable` of node-resources.
	NodeResourcesAllocatable func(resource string) []int64
	// NodeResourcesRequested: `requested` of node-resources.
	NodeResourcesRequested func(resource string) []int64
	// NodeResourcesForeign: `foreign` of node-resources.
	NodeResourcesForeign func(resource string) []int64
	// NodeResourcesFree: `free` of node-resources.
	NodeResourcesFree func(resource string) []int64
	// NodeResourcesPods: `pods` of node-resources.
	NodeResourcesPods func() []int64
	// NodeResourcesForeignPods: `foreign-pods` of node-resources.
	NodeResourcesForeignPods func() []int64
	// NodeResourcesPodLimit: `pod-limit` of node-resources.
	NodeResourcesPodLimit func() []int64
	// NodeResourcesPodRoom: `pod-room` of node-resources.
	NodeResourcesPodRoom func() []int64
	// NodeResourcesDeviceClassServes: `device-class-serves` of node-resources.
	NodeResourcesDeviceClassServes func(resource string) bool
	// NodeResourcesRowsWithFree: `rows-with-free` of node-resources.
	NodeResourcesRowsWithFree func(resource string, amount int64) uint32
	// NodeSumsColumn: `column` of node-sums.
	NodeSumsColumn func(name string) []int64
	// NodeNonZeroRequestsRequested: `requested` of node-non-zero-requests.
	NodeNonZeroRequestsRequested func(resource string) []int64
	// NodePortsConflicts: `conflicts` of node-ports.
	NodePortsConflicts func() ([]uint8, bool)
	// NodeFeaturesSets: `sets` of node-features.
	NodeFeaturesSets func() [][]string
	// NodeFeaturesColumn: `column` of node-features.
	NodeFeaturesColumn func() []uint32
	// NodeConditionsColumn: `column` of node-conditions.
	NodeConditionsColumn func(kind string) []uint8
	// NodeInfoColumn: `column` of node-info.
	NodeInfoColumn func(field NodeInfoField) []uint32
	// NodeInfoCode: `code` of node-info.
	NodeInfoCode func(field NodeInfoField, text string) (uint32, bool)
	// NodeInfoDictionary: `dictionary` of node-info.
	NodeInfoDictionary func(field NodeInfoField) []string
	// NodeImagesPresent: `present` of node-images.
	NodeImagesPresent func(image string) []uint8
	// NodeAgeCreated: `created` of node-age.
	NodeAgeCreated func() []int64
	// NodeDevicesDevices: `devices` of node-devices.
	NodeDevicesDevices func(query NodeDevicesQuery) NodeDevicesDeviceColumns
	// NodePartiesUnsuitable: `unsuitable` of node-parties.
	NodePartiesUnsuitable func() []NodePartiesPartyColumn
	// ClusterPodsMatching: `matching` of cluster-pods.
	ClusterPodsMatching func(selectors []ClusterPodsPodSelector, terminating bool) []uint32
	// ClusterPodsMatchesThisPod: `matches-this-pod` of cluster-pods.
	ClusterPodsMatchesThisPod func(selectors []ClusterPodsPodSelector) bool
	// ClusterPodsRequested: `requested` of cluster-pods.
	ClusterPodsRequested func(selectors []ClusterPodsPodSelector, resource string, terminating bool) []int64
	// ClusterControllersSameController: `same-controller` of cluster-controllers.
	ClusterControllersSameController func(terminating bool) ([]uint32, bool)
	// ClusterCandidatesFeasible: `feasible` of cluster-candidates.
	ClusterCandidatesFeasible func() []uint8
	// ClusterAffinityTopologyKeys: `topology-keys` of cluster-affinity.
	ClusterAffinityTopologyKeys func() []string
	// ClusterAffinityAntiAffinityTerms: `anti-affinity-terms` of cluster-affinity.
	ClusterAffinityAntiAffinityTerms func(topologyKey string) []uint32
	// ClusterPreferencesTopologyKeys: `topology-keys` of cluster-preferences.
	ClusterPreferencesTopologyKeys func() []string
	// ClusterPreferencesPreferredTerms: `preferred-terms` of cluster-preferences.
	ClusterPreferencesPreferredTerms func(topologyKey string) []uint32
	// ClusterPreferencesWeights: `weights` of cluster-preferences.
	ClusterPreferencesWeights func(topologyKey string) []int64
	// ClusterPreferencesRequiredTerms: `required-terms` of cluster-preferences.
	ClusterPreferencesRequiredTerms func(topologyKey string) []uint32
	// ClusterVolumeUseDiskUsers: `disk-users` of cluster-volume-use.
	ClusterVolumeUseDiskUsers func(kind PodVolumesDiskKind, id string) []ClusterVolumeUseDiskUser
	// ClusterVolumeUseClaimUsers: `claim-users` of cluster-volume-use.
	ClusterVolumeUseClaimUsers func(claim string) uint32
	// ClusterAttachmentsWanted: `wanted` of cluster-attachments.
	ClusterAttachmentsWanted func(registered bool) Result[[]ClusterAttachmentsAttachment, ClusterAttachmentsObstacle]
	// ClusterAttachmentsRegistered: `registered` of cluster-attachments.
	ClusterAttachmentsRegistered func() []uint8
	// ClusterAttachmentsLimited: `limited` of cluster-attachments.
	ClusterAttachmentsLimited func() []uint8
	// ClusterAttachmentsDriverMissing: `driver-missing` of cluster-attachments.
	ClusterAttachmentsDriverMissing func(driver string) []uint8
	// ClusterAttachmentsLimit: `limit` of cluster-attachments.
	ClusterAttachmentsLimit func(driver string) []int64
	// ClusterAttachmentsUsed: `used` of cluster-attachments.
	ClusterAttachmentsUsed func(driver string) []int64
	// ClusterAttachmentsRowsWith: `rows-with` of cluster-attachments.
	ClusterAttachmentsRowsWith func(volume ClusterAttachmentsAttachment) []uint32
	// ClusterAttachmentsUncounted: `uncounted` of cluster-attachments.
	ClusterAttachmentsUncounted func() []ClusterAttachmentsUncountedPod
	// ClusterStorageClaimNamed: `claim-named` of cluster-storage.
	ClusterStorageClaimNamed func(name string) (ClusterStorageClaim, bool)
	// ClusterStorageVolumeNamed: `volume-named` of cluster-storage.
	ClusterStorageVolumeNamed func(name string) (ClusterStorageVolume, bool)
	// ClusterStorageVolumesFor: `volumes-for` of cluster-storage.
	ClusterStorageVolumesFor func(claim string) []ClusterStorageVolume
	// ClusterStorageExactSizesFor: `exact-sizes-for` of cluster-storage.
	ClusterStorageExactSizesFor func(claim string) (ClusterStorageExactSizes, bool)
	// ClusterStorageClassNamed: `class-named` of cluster-storage.
	ClusterStorageClassNamed func(name string) (ClusterStorageClass, bool)
	// ClusterStorageDefaultClass: `default-class` of cluster-storage.
	ClusterStorageDefaultClass func() (string, bool)
	// ClusterStorageDriverReportsCapacity: `driver-reports-capacity` of cluster-storage.
	ClusterStorageDriverReportsCapacity func(driver string) bool
	// ClusterStorageCapacities: `capacities` of cluster-storage.
	ClusterStorageCapacities func(className string) []ClusterStorageCapacity
	// ClusterStorageMigrated: `migrated` of cluster-storage.
	ClusterStorageMigrated func(plugin string) []uint8
	// ClusterImagesSize: `size` of cluster-images.
	ClusterImagesSize func(image string) int64
	// TimePassed: `passed` of time.
	TimePassed func(at int64) bool
	// ConfigMapsEntry: `entry` of config-maps.
	ConfigMapsEntry func(configMap string, key string) (string, bool)
	// RowSetsAll: `all` of row-sets.
	RowSetsAll func() uint32
	// RowSetsAnd: `and` of row-sets.
	RowSetsAnd func(a uint32, b uint32) uint32
	// RowSetsOr: `or` of row-sets.
	RowSetsOr func(a uint32, b uint32) uint32
	// RowSetsNot: `not` of row-sets.
	RowSetsNot func(a uint32) uint32
	// RowSetsCount: `count` of row-sets.
	RowSetsCount func(a uint32) uint32
	// RowSetsReject: `reject` of row-sets.
	RowSetsReject func(a uint32, failure RowSetsFailure)
	// LogWrite: `write` of log.
	LogWrite func(level LogLevel, text string)
}

// PodLabelsNamespace: `namespace` of pod-labels.
// Namespace of the pod: `metadata.namespace`.
func PodLabelsNamespace() string {
	if host.PodLabelsNamespace == nil {
		panic(missing("pod-labels", "namespace"))
	}
	return host.PodLabelsNamespace()
}

// PodLabelsLabel: `label` of pod-labels.
// The value of the label `key` in `metadata.labels`; none where the pod does not have the label.
func PodLabelsLabel(key string) (string, bool) {
	if host.PodLabelsLabel == nil {
		panic(missing("pod-labels", "label"))
	}
	return host.PodLabelsLabel(key)
}

// PodAnnotationsAnnotation: `annotation` of pod-annotations.
// The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
// not list the key.
func PodAnnotationsAnnotation(key string) (string, bool) {
	if host.PodAnnotationsAnnotation == nil {
		panic(missing("pod-annotations", "annotation"))
	}
	return host.PodAnnotationsAnnotation(key)
}

// PodPlacementNodeName: `node-name` of pod-placement.
// `spec.nodeName`; none where it is absent or empty.
func PodPlacementNodeName() (string, bool) {
	if host.PodPlacementNodeName == nil {
		panic(missing("pod-placement", "node-name"))
	}
	return host.PodPlacementNodeName()
}

// PodPlacementNodeSelector: `node-selector` of pod-placement.
// `spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold.
func PodPlacementNodeSelector() []Tuple2[string, string] {
	if host.PodPlacementNodeSelector == nil {
		panic(missing("pod-placement", "node-selector"))
	}
	return host.PodPlacementNodeSelector()
}

// PodPlacementRequiredTerms: `required-terms` of pod-placement.
// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
// must hold. None where the pod has no required node affinity. An empty list matches no node.
func PodPlacementRequiredTerms() ([]PodPlacementTerm, bool) {
	if host.PodPlacementRequiredTerms == nil {
		panic(missing("pod-placement", "required-terms"))
	}
	return host.PodPlacementRequiredTerms()
}

// PodPlacementPreferredTerms: `preferred-terms` of pod-placement.
// `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
// list. Since 0.2.
func PodPlacementPreferredTerms() ([]PodPlacementPreferredTerm, bool) {
	if host.PodPlacementPreferredTerms == nil {
		panic(missing("pod-placement", "preferred-terms"))
	}
	return host.PodPlacementPreferredTerms()
}

// PodTolerationsTolerations: `tolerations` of pod-tolerations.
// Tolerations of the pod: `spec.tolerations`, in order.
func PodTolerationsTolerations() []PodTolerationsToleration {
	if host.PodTolerationsTolerations == nil {
		panic(missing("pod-tolerations", "tolerations"))
	}
	return host.PodTolerationsTolerations()
}

// PodResourcesRequests: `requests` of pod-resources.
// The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
// above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
func PodResourcesRequests() []PodResourcesRequest {
	if host.PodResourcesRequests == nil {
		panic(missing("pod-resources", "requests"))
	}
	return host.PodResourcesRequests()
}

// PodNonZeroRequestsRequests: `requests` of pod-non-zero-requests.
// Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
// are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
func PodNonZeroRequestsRequests() []PodResourcesRequest {
	if host.PodNonZeroRequestsRequests == nil {
		panic(missing("pod-non-zero-requests", "requests"))
	}
	return host.PodNonZeroRequestsRequests()
}

// PodImagesContainers: `containers` of pod-images.
// Images of init containers and then those of containers, in order, each as often as it is used.
func PodImagesContainers() []string {
	if host.PodImagesContainers == nil {
		panic(missing("pod-images", "containers"))
	}
	return host.PodImagesContainers()
}

// PodImagesVolumes: `volumes` of pod-images.
// Images that are mounted as volumes, in order, each as often as it is used.
func PodImagesVolumes() []string {
	if host.PodImagesVolumes == nil {
		panic(missing("pod-images", "volumes"))
	}
	return host.PodImagesVolumes()
}

// PodSpreadConstraints: `constraints` of pod-spread.
// Constraints of the pod: `spec.topologySpreadConstraints`, in order.
func PodSpreadConstraints() []PodSpreadConstraint {
	if host.PodSpreadConstraints == nil {
		panic(missing("pod-spread", "constraints"))
	}
	return host.PodSpreadConstraints()
}

// PodSpreadDefaultSelector: `default-selector` of pod-spread.
// The combined selector of the Services that select the pod and of the controller that owns it. Default
// constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
// neither.
func PodSpreadDefaultSelector() (SelectorsLabelSelector, bool) {
	if host.PodSpreadDefaultSelector == nil {
		panic(missing("pod-spread", "default-selector"))
	}
	return host.PodSpreadDefaultSelector()
}

// PodAffinityAffinity: `affinity` of pod-affinity.
// Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
func PodAffinityAffinity() []PodAffinityTerm {
	if host.PodAffinityAffinity == nil {
		panic(missing("pod-affinity", "affinity"))
	}
	return host.PodAffinityAffinity()
}

// PodAffinityAntiAffinity: `anti-affinity` of pod-affinity.
// Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
func PodAffinityAntiAffinity() []PodAffinityTerm {
	if host.PodAffinityAntiAffinity == nil {
		panic(missing("pod-affinity", "anti-affinity"))
	}
	return host.PodAffinityAntiAffinity()
}

// PodAffinityInvalidPreferred: `invalid-preferred` of pod-affinity.
// The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
// affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
// preferred terms reject no node.
func PodAffinityInvalidPreferred() Tuple2[[]PodAffinityTerm, []PodAffinityTerm] {
	if host.PodAffinityInvalidPreferred == nil {
		panic(missing("pod-affinity", "invalid-preferred"))
	}
	return host.PodAffinityInvalidPreferred()
}

// PodPreferredAffinityAffinity: `affinity` of pod-preferred-affinity.
// Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points of each matching pod.
func PodPreferredAffinityAffinity() []Tuple2[int32, PodAffinityTerm] {
	if host.PodPreferredAffinityAffinity == nil {
		panic(missing("pod-preferred-affinity", "affinity"))
	}
	return host.PodPreferredAffinityAffinity()
}

// PodPreferredAffinityAntiAffinity: `anti-affinity` of pod-preferred-affinity.
// Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points that each matching pod takes away, as a positive number.
func PodPreferredAffinityAntiAffinity() []Tuple2[int32, PodAffinityTerm] {
	if host.PodPreferredAffinityAntiAffinity == nil {
		panic(missing("pod-preferred-affinity", "anti-affinity"))
	}
	return host.PodPreferredAffinityAntiAffinity()
}

// PodFeaturesRequired: `required` of pod-features.
// The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
// the pod's spec.
func PodFeaturesRequired() []string {
	if host.PodFeaturesRequired == nil {
		panic(missing("pod-features", "required"))
	}
	return host.PodFeaturesRequired()
}

// PodVolumesVolumes: `volumes` of pod-volumes.
// The disks and claims of `spec.volumes`, in order. Other volume types are left out.
func PodVolumesVolumes() []PodVolumesVolume {
	if host.PodVolumesVolumes == nil {
		panic(missing("pod-volumes", "volumes"))
	}
	return host.PodVolumesVolumes()
}

// PodVolumesOwner: `owner` of pod-volumes.
// Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
// controller.
func PodVolumesOwner() Tuple3[string, string, string] {
	if host.PodVolumesOwner == nil {
		panic(missing("pod-volumes", "owner"))
	}
	return host.PodVolumesOwner()
}

// NamespaceLabelsLabel: `label` of namespace-labels.
// The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
// there is no such object.
func NamespaceLabelsLabel(key string) (string, bool) {
	if host.NamespaceLabelsLabel == nil {
		panic(missing("namespace-labels", "label"))
	}
	return host.NamespaceLabelsLabel(key)
}

// PodSpecPriority: `priority` of pod-spec.
// `spec.priority`; 0 where it is absent.
func PodSpecPriority() int32 {
	if host.PodSpecPriority == nil {
		panic(missing("pod-spec", "priority"))
	}
	return host.PodSpecPriority()
}

// PodSpecPriorityClass: `priority-class` of pod-spec.
// `spec.priorityClassName`; none where it is absent or empty.
func PodSpecPriorityClass() (string, bool) {
	if host.PodSpecPriorityClass == nil {
		panic(missing("pod-spec", "priority-class"))
	}
	return host.PodSpecPriorityClass()
}

// PodSpecServiceAccount: `service-account` of pod-spec.
// `spec.serviceAccountName`; none where it is absent or empty.
func PodSpecServiceAccount() (string, bool) {
	if host.PodSpecServiceAccount == nil {
		panic(missing("pod-spec", "service-account"))
	}
	return host.PodSpecServiceAccount()
}

// PodSpecRuntimeClass: `runtime-class` of pod-spec.
// `spec.runtimeClassName`; none where it is absent or empty.
func PodSpecRuntimeClass() (string, bool) {
	if host.PodSpecRuntimeClass == nil {
		panic(missing("pod-spec", "runtime-class"))
	}
	return host.PodSpecRuntimeClass()
}

// PodSpecHostNetwork: `host-network` of pod-spec.
// Whether the pod uses the node's network: `spec.hostNetwork`.
func PodSpecHostNetwork() bool {
	if host.PodSpecHostNetwork == nil {
		panic(missing("pod-spec", "host-network"))
	}
	return host.PodSpecHostNetwork()
}

// PodSpecImages: `images` of pod-spec.
// The images of containers and init containers as written: sorted, without duplicates and empty texts.
func PodSpecImages() []string {
	if host.PodSpecImages == nil {
		panic(missing("pod-spec", "images"))
	}
	return host.PodSpecImages()
}

// PodSpecSchedulerName: `scheduler-name` of pod-spec.
// Name of the scheduler that places the pod: `spec.schedulerName`.
func PodSpecSchedulerName() string {
	if host.PodSpecSchedulerName == nil {
		panic(missing("pod-spec", "scheduler-name"))
	}
	return host.PodSpecSchedulerName()
}

// PodOwnerController: `controller` of pod-owner.
// The controller; none where the pod has none.
func PodOwnerController() (PodOwnerOwner, bool) {
	if host.PodOwnerController == nil {
		panic(missing("pod-owner", "controller"))
	}
	return host.PodOwnerController()
}

// PodOwnerControllerUid: `controller-uid` of pod-owner.
// The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
// predicate that has read it.
func PodOwnerControllerUid() (string, bool) {
	if host.PodOwnerControllerUid == nil {
		panic(missing("pod-owner", "controller-uid"))
	}
	return host.PodOwnerControllerUid()
}

// PodClaimsClaims: `claims` of pod-claims.
// The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere.
func PodClaimsClaims() Result[[]PodClaimsClaim, PodClaimsObstacle] {
	if host.PodClaimsClaims == nil {
		panic(missing("pod-claims", "claims"))
	}
	return host.PodClaimsClaims()
}

// PodClaimsExtended: `extended` of pod-claims.
// The extended resources of the pod; none where no DeviceClass provides any of them.
func PodClaimsExtended() (PodClaimsExtendedResources, bool) {
	if host.PodClaimsExtended == nil {
		panic(missing("pod-claims", "extended"))
	}
	return host.PodClaimsExtended()
}

// PodClaimsClaimName: `claim-name` of pod-claims.
// `namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
// Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
func PodClaimsClaimName(claim uint32) string {
	if host.PodClaimsClaimName == nil {
		panic(missing("pod-claims", "claim-name"))
	}
	return host.PodClaimsClaimName(claim)
}

// PodClaimsChosen: `chosen` of pod-claims.
// Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
// alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
// kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
func PodClaimsChosen(claim uint32) []uint32 {
	if host.PodClaimsChosen == nil {
		panic(missing("pod-claims", "chosen"))
	}
	return host.PodClaimsChosen(claim)
}

// PodClaimsDeriving: `deriving` of pod-claims.
// Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
// alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
func PodClaimsDeriving(claim uint32) []uint32 {
	if host.PodClaimsDeriving == nil {
		panic(missing("pod-claims", "deriving"))
	}
	return host.PodClaimsDeriving(claim)
}

// NodeIdentityNames: `names` of node-identity.
// `metadata.name`; one entry per row of the batch.
func NodeIdentityNames() []string {
	if host.NodeIdentityNames == nil {
		panic(missing("node-identity", "names"))
	}
	return host.NodeIdentityNames()
}

// NodeIdentityRow: `row` of node-identity.
// The row of the node `name`; none where no node of the batch has this name.
func NodeIdentityRow(name string) (uint32, bool) {
	if host.NodeIdentityRow == nil {
		panic(missing("node-identity", "row"))
	}
	return host.NodeIdentityRow(name)
}

// NodeLabelsColumn: `column` of node-labels.
// The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
func NodeLabelsColumn(key string) []uint32 {
	if host.NodeLabelsColumn == nil {
		panic(missing("node-labels", "column"))
	}
	return host.NodeLabelsColumn(key)
}

// NodeLabelsCode: `code` of node-labels.
// The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
// equals the label of no row.
func NodeLabelsCode(key string, text string) (uint32, bool) {
	if host.NodeLabelsCode == nil {
		panic(missing("node-labels", "code"))
	}
	return host.NodeLabelsCode(key, text)
}

// NodeLabelsDictionary: `dictionary` of node-labels.
// The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
// the batch has.
func NodeLabelsDictionary(key string) []string {
	if host.NodeLabelsDictionary == nil {
		panic(missing("node-labels", "dictionary"))
	}
	return host.NodeLabelsDictionary(key)
}

// NodeLabelsIntegers: `integers` of node-labels.
// The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
func NodeLabelsIntegers(key string) []int64 {
	if host.NodeLabelsIntegers == nil {
		panic(missing("node-labels", "integers"))
	}
	return host.NodeLabelsIntegers(key)
}

// NodeLabelsRowsIn: `rows-in` of node-labels.
// The rows whose label `key` has one of these values, as a row set. Since 0.2.
func NodeLabelsRowsIn(key string, values []string) uint32 {
	if host.NodeLabelsRowsIn == nil {
		panic(missing("node-labels", "rows-in"))
	}
	return host.NodeLabelsRowsIn(key, values)
}

// NodeLabelsRowsWith: `rows-with` of node-labels.
// The rows that have the label `key`, as a row set. Since 0.2.
func NodeLabelsRowsWith(key string) uint32 {
	if host.NodeLabelsRowsWith == nil {
		panic(missing("node-labels", "rows-with"))
	}
	return host.NodeLabelsRowsWith(key)
}

// NodeAnnotationsColumn: `column` of node-annotations.
// The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
func NodeAnnotationsColumn(key string) []uint32 {
	if host.NodeAnnotationsColumn == nil {
		panic(missing("node-annotations", "column"))
	}
	return host.NodeAnnotationsColumn(key)
}

// NodeAnnotationsCode: `code` of node-annotations.
// The code of the value `text` of the annotation `key`. None where no node of the cluster has this value.
func NodeAnnotationsCode(key string, text string) (uint32, bool) {
	if host.NodeAnnotationsCode == nil {
		panic(missing("node-annotations", "code"))
	}
	return host.NodeAnnotationsCode(key, text)
}

// NodeAnnotationsDictionary: `dictionary` of node-annotations.
// The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
// of the batch has.
func NodeAnnotationsDictionary(key string) []string {
	if host.NodeAnnotationsDictionary == nil {
		panic(missing("node-annotations", "dictionary"))
	}
	return host.NodeAnnotationsDictionary(key)
}

// NodeAnnotationsIntegers: `integers` of node-annotations.
// The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
func NodeAnnotationsIntegers(key string) []int64 {
	if host.NodeAnnotationsIntegers == nil {
		panic(missing("node-annotations", "integers"))
	}
	return host.NodeAnnotationsIntegers(key)
}

// NodeAnnotationsRowsIn: `rows-in` of node-annotations.
// The rows whose annotation `key` has one of these values, as a row set. Since 0.2.
func NodeAnnotationsRowsIn(key string, values []string) uint32 {
	if host.NodeAnnotationsRowsIn == nil {
		panic(missing("node-annotations", "rows-in"))
	}
	return host.NodeAnnotationsRowsIn(key, values)
}

// NodeAnnotationsRowsWith: `rows-with` of node-annotations.
// The rows that have the annotation `key`, as a row set. Since 0.2.
func NodeAnnotationsRowsWith(key string) uint32 {
	if host.NodeAnnotationsRowsWith == nil {
		panic(missing("node-annotations", "rows-with"))
	}
	return host.NodeAnnotationsRowsWith(key)
}

// NodeTaintsUnschedulable: `unschedulable` of node-taints.
// `spec.unschedulable` as a flag; one entry per row of the batch.
func NodeTaintsUnschedulable() []uint8 {
	if host.NodeTaintsUnschedulable == nil {
		panic(missing("node-taints", "unschedulable"))
	}
	return host.NodeTaintsUnschedulable()
}

// NodeTaintsSets: `sets` of node-taints.
// The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
// that no row of the batch has: a verdict must depend only on those of the batch's rows.
func NodeTaintsSets() [][]NodeTaintsTaint {
	if host.NodeTaintsSets == nil {
		panic(missing("node-taints", "sets"))
	}
	return host.NodeTaintsSets()
}

// NodeTaintsColumn: `column` of node-taints.
// The index of the node's set in `sets`; one entry per row of the batch.
func NodeTaintsColumn() []uint32 {
	if host.NodeTaintsColumn == nil {
		panic(missing("node-taints", "column"))
	}
	return host.NodeTaintsColumn()
}

// NodeTaintsRowsUnschedulable: `rows-unschedulable` of node-taints.
// The rows with `spec.unschedulable`, as a row set. Since 0.2.
func NodeTaintsRowsUnschedulable() uint32 {
	if host.NodeTaintsRowsUnschedulable == nil {
		panic(missing("node-taints", "rows-unschedulable"))
	}
	return host.NodeTaintsRowsUnschedulable()
}

// NodeTaintsRowsUntolerated: `rows-untolerated` of node-taints.
// The rows with a taint of the effect NoSchedule or NoExecute that the pod being filtered does not tolerate, as a row set.
// Since 0.2.
func NodeTaintsRowsUntolerated() uint32 {
	if host.NodeTaintsRowsUntolerated == nil {
		panic(missing("node-taints", "rows-untolerated"))
	}
	return host.NodeTaintsRowsUntolerated()
}

// NodeResourcesAllocatable: `allocatable` of node-resources.
// `status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch.
func NodeResourcesAllocatable(resource string) []int64 {
	if host.NodeResourcesAllocatable == nil {
		panic(missing("node-resources", "allocatable"))
	}
	return host.NodeResourcesAllocatable(resource)
}

// NodeResourcesRequested: `requested` of node-resources.
// The sum of the requests of all pods on the node; one entry per row of the batch.
func NodeResourcesRequested(resource string) []int64 {
	if host.NodeResourcesRequested == nil {
		panic(missing("node-resources", "requested"))
	}
	return host.NodeResourcesRequested(resource)
}

// NodeResourcesForeign: `foreign` of node-resources.
// The part of `requested` that foreign pods request; one entry per row of the batch.
func NodeResourcesForeign(resource string) []int64 {
	if host.NodeResourcesForeign == nil {
		panic(missing("node-resources", "foreign"))
	}
	return host.NodeResourcesForeign(resource)
}

// NodeResourcesFree: `free` of node-resources.
// `allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch.
func NodeResourcesFree(resource string) []int64 {
	if host.NodeResourcesFree == nil {
		panic(missing("node-resources", "free"))
	}
	return host.NodeResourcesFree(resource)
}

// NodeResourcesPods: `pods` of node-resources.
// The number of pods on the node; one entry per row of the batch.
func NodeResourcesPods() []int64 {
	if host.NodeResourcesPods == nil {
		panic(missing("node-resources", "pods"))
	}
	return host.NodeResourcesPods()
}

// NodeResourcesForeignPods: `foreign-pods` of node-resources.
// The number of foreign pods on the node; one entry per row of the batch.
func NodeResourcesForeignPods() []int64 {
	if host.NodeResourcesForeignPods == nil {
		panic(missing("node-resources", "foreign-pods"))
	}
	return host.NodeResourcesForeignPods()
}

// NodeResourcesPodLimit: `pod-limit` of node-resources.
// `status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch.
func NodeResourcesPodLimit() []int64 {
	if host.NodeResourcesPodLimit == nil {
		panic(missing("node-resources", "pod-limit"))
	}
	return host.NodeResourcesPodLimit()
}

// NodeResourcesPodRoom: `pod-room` of node-resources.
// `pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch.
func NodeResourcesPodRoom() []int64 {
	if host.NodeResourcesPodRoom == nil {
		panic(missing("node-resources", "pod-room"))
	}
	return host.NodeResourcesPodRoom()
}

// NodeResourcesDeviceClassServes: `device-class-serves` of node-resources.
// Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
// About the cluster, not about a row.
func NodeResourcesDeviceClassServes(resource string) bool {
	if host.NodeResourcesDeviceClassServes == nil {
		panic(missing("node-resources", "device-class-serves"))
	}
	return host.NodeResourcesDeviceClassServes(resource)
}

// NodeResourcesRowsWithFree: `rows-with-free` of node-resources.
// The rows on which at least `amount` of the resource is free, as a row set. Since 0.2.
func NodeResourcesRowsWithFree(resource string, amount int64) uint32 {
	if host.NodeResourcesRowsWithFree == nil {
		panic(missing("node-resources", "rows-with-free"))
	}
	return host.NodeResourcesRowsWithFree(resource, amount)
}

// NodeSumsColumn: `column` of node-sums.
// Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
// accounting component of the policy declares, as for a resource that nobody uses.
func NodeSumsColumn(name string) []int64 {
	if host.NodeSumsColumn == nil {
		panic(missing("node-sums", "column"))
	}
	return host.NodeSumsColumn(name)
}

// NodeNonZeroRequestsRequested: `requested` of node-non-zero-requests.
// Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
// 0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
// overflow, as in Go.
func NodeNonZeroRequestsRequested(resource string) []int64 {
	if host.NodeNonZeroRequestsRequested == nil {
		panic(missing("node-non-zero-requests", "requested"))
	}
	return host.NodeNonZeroRequestsRequested(resource)
}

// NodePortsConflicts: `conflicts` of node-ports.
// A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
// None where the pod requests no host port.
func NodePortsConflicts() ([]uint8, bool) {
	if host.NodePortsConflicts == nil {
		panic(missing("node-ports", "conflicts"))
	}
	return host.NodePortsConflicts()
}

// NodeFeaturesSets: `sets` of node-features.
// The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
// 0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
func NodeFeaturesSets() [][]string {
	if host.NodeFeaturesSets == nil {
		panic(missing("node-features", "sets"))
	}
	return host.NodeFeaturesSets()
}

// NodeFeaturesColumn: `column` of node-features.
// The index of the node's set in `sets`; one entry per row of the batch.
func NodeFeaturesColumn() []uint32 {
	if host.NodeFeaturesColumn == nil {
		panic(missing("node-features", "column"))
	}
	return host.NodeFeaturesColumn()
}

// NodeConditionsColumn: `column` of node-conditions.
// The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
// or any other text. One entry per row of the batch.
func NodeConditionsColumn(kind string) []uint8 {
	if host.NodeConditionsColumn == nil {
		panic(missing("node-conditions", "column"))
	}
	return host.NodeConditionsColumn(kind)
}

// NodeInfoColumn: `column` of node-info.
// The code of the field; one entry per row of the batch.
func NodeInfoColumn(field NodeInfoField) []uint32 {
	if host.NodeInfoColumn == nil {
		panic(missing("node-info", "column"))
	}
	return host.NodeInfoColumn(field)
}

// NodeInfoCode: `code` of node-info.
// The code of the value `text` of the field. None where no node of the cluster has this value.
func NodeInfoCode(field NodeInfoField, text string) (uint32, bool) {
	if host.NodeInfoCode == nil {
		panic(missing("node-info", "code"))
	}
	return host.NodeInfoCode(field, text)
}

// NodeInfoDictionary: `dictionary` of node-info.
// The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
// entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
func NodeInfoDictionary(field NodeInfoField) []string {
	if host.NodeInfoDictionary == nil {
		panic(missing("node-info", "dictionary"))
	}
	return host.NodeInfoDictionary(field)
}

// NodeImagesPresent: `present` of node-images.
// A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch.
func NodeImagesPresent(image string) []uint8 {
	if host.NodeImagesPresent == nil {
		panic(missing("node-images", "present"))
	}
	return host.NodeImagesPresent(image)
}

// NodeAgeCreated: `created` of node-age.
// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
// of the batch.
func NodeAgeCreated() []int64 {
	if host.NodeAgeCreated == nil {
		panic(missing("node-age", "created"))
	}
	return host.NodeAgeCreated()
}

// NodeDevicesDevices: `devices` of node-devices.
// The devices that rows of the batch see. A query beyond its limits traps.
func NodeDevicesDevices(query NodeDevicesQuery) NodeDevicesDeviceColumns {
	if host.NodeDevicesDevices == nil {
		panic(missing("node-devices", "devices"))
	}
	return host.NodeDevicesDevices(query)
}

// NodePartiesUnsuitable: `unsuitable` of node-parties.
// One entry per party, in the order of the policy; none where no party decides about the pod.
func NodePartiesUnsuitable() []NodePartiesPartyColumn {
	if host.NodePartiesUnsuitable == nil {
		panic(missing("node-parties", "unsuitable"))
	}
	return host.NodePartiesUnsuitable()
}

// ClusterPodsMatching: `matching` of cluster-pods.
// The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
// timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
// repeated call is cheap.
func ClusterPodsMatching(selectors []ClusterPodsPodSelector, terminating bool) []uint32 {
	if host.ClusterPodsMatching == nil {
		panic(missing("cluster-pods", "matching"))
	}
	return host.ClusterPodsMatching(selectors, terminating)
}

// ClusterPodsMatchesThisPod: `matches-this-pod` of cluster-pods.
// Whether the pod being filtered matches every selector.
func ClusterPodsMatchesThisPod(selectors []ClusterPodsPodSelector) bool {
	if host.ClusterPodsMatchesThisPod == nil {
		panic(missing("cluster-pods", "matches-this-pod"))
	}
	return host.ClusterPodsMatchesThisPod(selectors)
}

// ClusterPodsRequested: `requested` of cluster-pods.
// The sum of the requests for one resource of the pods on the node that match every selector, in the units of
// `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
// is true. Since 0.2.
func ClusterPodsRequested(selectors []ClusterPodsPodSelector, resource string, terminating bool) []int64 {
	if host.ClusterPodsRequested == nil {
		panic(missing("cluster-pods", "requested"))
	}
	return host.ClusterPodsRequested(selectors, resource, terminating)
}

// ClusterControllersSameController: `same-controller` of cluster-controllers.
// The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
// None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
// of different controllers share no cached verdict of a predicate that has read it.
func ClusterControllersSameController(terminating bool) ([]uint32, bool) {
	if host.ClusterControllersSameController == nil {
		panic(missing("cluster-controllers", "same-controller"))
	}
	return host.ClusterControllersSameController(terminating)
}

// ClusterCandidatesFeasible: `feasible` of cluster-candidates.
// A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
// cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
func ClusterCandidatesFeasible() []uint8 {
	if host.ClusterCandidatesFeasible == nil {
		panic(missing("cluster-candidates", "feasible"))
	}
	return host.ClusterCandidatesFeasible()
}

// ClusterAffinityTopologyKeys: `topology-keys` of cluster-affinity.
// The topology keys of the matching terms, sorted, without duplicates.
func ClusterAffinityTopologyKeys() []string {
	if host.ClusterAffinityTopologyKeys == nil {
		panic(missing("cluster-affinity", "topology-keys"))
	}
	return host.ClusterAffinityTopologyKeys()
}

// ClusterAffinityAntiAffinityTerms: `anti-affinity-terms` of cluster-affinity.
// The number of matching terms with this topology key that the pods on the node have; one entry per row of the
// cluster.
func ClusterAffinityAntiAffinityTerms(topologyKey string) []uint32 {
	if host.ClusterAffinityAntiAffinityTerms == nil {
		panic(missing("cluster-affinity", "anti-affinity-terms"))
	}
	return host.ClusterAffinityAntiAffinityTerms(topologyKey)
}

// ClusterPreferencesTopologyKeys: `topology-keys` of cluster-preferences.
// The topology keys of the matching terms, sorted, without duplicates.
func ClusterPreferencesTopologyKeys() []string {
	if host.ClusterPreferencesTopologyKeys == nil {
		panic(missing("cluster-preferences", "topology-keys"))
	}
	return host.ClusterPreferencesTopologyKeys()
}

// ClusterPreferencesPreferredTerms: `preferred-terms` of cluster-preferences.
// The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
// have; one entry per row of the cluster.
func ClusterPreferencesPreferredTerms(topologyKey string) []uint32 {
	if host.ClusterPreferencesPreferredTerms == nil {
		panic(missing("cluster-preferences", "preferred-terms"))
	}
	return host.ClusterPreferencesPreferredTerms(topologyKey)
}

// ClusterPreferencesWeights: `weights` of cluster-preferences.
// The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster.
func ClusterPreferencesWeights(topologyKey string) []int64 {
	if host.ClusterPreferencesWeights == nil {
		panic(missing("cluster-preferences", "weights"))
	}
	return host.ClusterPreferencesWeights(topologyKey)
}

// ClusterPreferencesRequiredTerms: `required-terms` of cluster-preferences.
// The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
// of the cluster.
func ClusterPreferencesRequiredTerms(topologyKey string) []uint32 {
	if host.ClusterPreferencesRequiredTerms == nil {
		panic(missing("cluster-preferences", "required-terms"))
	}
	return host.ClusterPreferencesRequiredTerms(topologyKey)
}

// ClusterVolumeUseDiskUsers: `disk-users` of cluster-volume-use.
// The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row.
func ClusterVolumeUseDiskUsers(kind PodVolumesDiskKind, id string) []ClusterVolumeUseDiskUser {
	if host.ClusterVolumeUseDiskUsers == nil {
		panic(missing("cluster-volume-use", "disk-users"))
	}
	return host.ClusterVolumeUseDiskUsers(kind, id)
}

// ClusterVolumeUseClaimUsers: `claim-users` of cluster-volume-use.
// The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
// cluster. Claims of generic ephemeral volumes are not counted.
func ClusterVolumeUseClaimUsers(claim string) uint32 {
	if host.ClusterVolumeUseClaimUsers == nil {
		panic(missing("cluster-volume-use", "claim-users"))
	}
	return host.ClusterVolumeUseClaimUsers(claim)
}

// ClusterAttachmentsWanted: `wanted` of cluster-attachments.
// The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
// the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
// PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
func ClusterAttachmentsWanted(registered bool) Result[[]ClusterAttachmentsAttachment, ClusterAttachmentsObstacle] {
	if host.ClusterAttachmentsWanted == nil {
		panic(missing("cluster-attachments", "wanted"))
	}
	return host.ClusterAttachmentsWanted(registered)
}

// ClusterAttachmentsRegistered: `registered` of cluster-attachments.
// A flag: the node has a CSINode. One entry per row of the cluster.
func ClusterAttachmentsRegistered() []uint8 {
	if host.ClusterAttachmentsRegistered == nil {
		panic(missing("cluster-attachments", "registered"))
	}
	return host.ClusterAttachmentsRegistered()
}

// ClusterAttachmentsLimited: `limited` of cluster-attachments.
// A flag: the CSINode limits at least one driver. One entry per row of the cluster.
func ClusterAttachmentsLimited() []uint8 {
	if host.ClusterAttachmentsLimited == nil {
		panic(missing("cluster-attachments", "limited"))
	}
	return host.ClusterAttachmentsLimited()
}

// ClusterAttachmentsDriverMissing: `driver-missing` of cluster-attachments.
// A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
// not list the driver. One entry per row of the cluster. Since 0.2.
func ClusterAttachmentsDriverMissing(driver string) []uint8 {
	if host.ClusterAttachmentsDriverMissing == nil {
		panic(missing("cluster-attachments", "driver-missing"))
	}
	return host.ClusterAttachmentsDriverMissing(driver)
}

// ClusterAttachmentsLimit: `limit` of cluster-attachments.
// How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
// of the cluster.
func ClusterAttachmentsLimit(driver string) []int64 {
	if host.ClusterAttachmentsLimit == nil {
		panic(missing("cluster-attachments", "limit"))
	}
	return host.ClusterAttachmentsLimit(driver)
}

// ClusterAttachmentsUsed: `used` of cluster-attachments.
// The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
// row of the cluster.
func ClusterAttachmentsUsed(driver string) []int64 {
	if host.ClusterAttachmentsUsed == nil {
		panic(missing("cluster-attachments", "used"))
	}
	return host.ClusterAttachmentsUsed(driver)
}

// ClusterAttachmentsRowsWith: `rows-with` of cluster-attachments.
// The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
// volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
func ClusterAttachmentsRowsWith(volume ClusterAttachmentsAttachment) []uint32 {
	if host.ClusterAttachmentsRowsWith == nil {
		panic(missing("cluster-attachments", "rows-with"))
	}
	return host.ClusterAttachmentsRowsWith(volume)
}

// ClusterAttachmentsUncounted: `uncounted` of cluster-attachments.
// Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
// first pod by namespace and name.
func ClusterAttachmentsUncounted() []ClusterAttachmentsUncountedPod {
	if host.ClusterAttachmentsUncounted == nil {
		panic(missing("cluster-attachments", "uncounted"))
	}
	return host.ClusterAttachmentsUncounted()
}

// ClusterStorageClaimNamed: `claim-named` of cluster-storage.
// The claim of this name in the pod's namespace; none where it does not exist.
func ClusterStorageClaimNamed(name string) (ClusterStorageClaim, bool) {
	if host.ClusterStorageClaimNamed == nil {
		panic(missing("cluster-storage", "claim-named"))
	}
	return host.ClusterStorageClaimNamed(name)
}

// ClusterStorageVolumeNamed: `volume-named` of cluster-storage.
// The volume of this name; none where it does not exist.
func ClusterStorageVolumeNamed(name string) (ClusterStorageVolume, bool) {
	if host.ClusterStorageVolumeNamed == nil {
		panic(missing("cluster-storage", "volume-named"))
	}
	return host.ClusterStorageVolumeNamed(name)
}

// ClusterStorageVolumesFor: `volumes-for` of cluster-storage.
// Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
// neither bound to nor reserved for another claim, sorted by name.
func ClusterStorageVolumesFor(claim string) []ClusterStorageVolume {
	if host.ClusterStorageVolumesFor == nil {
		panic(missing("cluster-storage", "volumes-for"))
	}
	return host.ClusterStorageVolumesFor(claim)
}

// ClusterStorageExactSizesFor: `exact-sizes-for` of cluster-storage.
// The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
// does not exist.
func ClusterStorageExactSizesFor(claim string) (ClusterStorageExactSizes, bool) {
	if host.ClusterStorageExactSizesFor == nil {
		panic(missing("cluster-storage", "exact-sizes-for"))
	}
	return host.ClusterStorageExactSizesFor(claim)
}

// ClusterStorageClassNamed: `class-named` of cluster-storage.
// The StorageClass of this name; none where it does not exist.
func ClusterStorageClassNamed(name string) (ClusterStorageClass, bool) {
	if host.ClusterStorageClassNamed == nil {
		panic(missing("cluster-storage", "class-named"))
	}
	return host.ClusterStorageClassNamed(name)
}

// ClusterStorageDefaultClass: `default-class` of cluster-storage.
// The name of the default StorageClass; none where there is no default.
func ClusterStorageDefaultClass() (string, bool) {
	if host.ClusterStorageDefaultClass == nil {
		panic(missing("cluster-storage", "default-class"))
	}
	return host.ClusterStorageDefaultClass()
}

// ClusterStorageDriverReportsCapacity: `driver-reports-capacity` of cluster-storage.
// Whether the CSIDriver of this name sets `spec.storageCapacity`.
func ClusterStorageDriverReportsCapacity(driver string) bool {
	if host.ClusterStorageDriverReportsCapacity == nil {
		panic(missing("cluster-storage", "driver-reports-capacity"))
	}
	return host.ClusterStorageDriverReportsCapacity(driver)
}

// ClusterStorageCapacities: `capacities` of cluster-storage.
// The CSIStorageCapacities of the StorageClass `class-name`.
func ClusterStorageCapacities(className string) []ClusterStorageCapacity {
	if host.ClusterStorageCapacities == nil {
		panic(missing("cluster-storage", "capacities"))
	}
	return host.ClusterStorageCapacities(className)
}

// ClusterStorageMigrated: `migrated` of cluster-storage.
// A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
// cluster.
func ClusterStorageMigrated(plugin string) []uint8 {
	if host.ClusterStorageMigrated == nil {
		panic(missing("cluster-storage", "migrated"))
	}
	return host.ClusterStorageMigrated(plugin)
}

// ClusterImagesSize: `size` of cluster-images.
// The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
// per name. 0 where no node holds it.
func ClusterImagesSize(image string) int64 {
	if host.ClusterImagesSize == nil {
		panic(missing("cluster-images", "size"))
	}
	return host.ClusterImagesSize(image)
}

// TimePassed: `passed` of time.
// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
// evaluation of the pod began.
func TimePassed(at int64) bool {
	if host.TimePassed == nil {
		panic(missing("time", "passed"))
	}
	return host.TimePassed(at)
}

// ConfigMapsEntry: `entry` of config-maps.
// The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
// than 65,536 bytes.
func ConfigMapsEntry(configMap string, key string) (string, bool) {
	if host.ConfigMapsEntry == nil {
		panic(missing("config-maps", "entry"))
	}
	return host.ConfigMapsEntry(configMap, key)
}

// RowSetsAll: `all` of row-sets.
// Every row of the batch.
func RowSetsAll() uint32 {
	if host.RowSetsAll == nil {
		panic(missing("row-sets", "all"))
	}
	return host.RowSetsAll()
}

// RowSetsAnd: `and` of row-sets.
// The rows that are in both sets.
func RowSetsAnd(a uint32, b uint32) uint32 {
	if host.RowSetsAnd == nil {
		panic(missing("row-sets", "and"))
	}
	return host.RowSetsAnd(a, b)
}

// RowSetsOr: `or` of row-sets.
// The rows that are in at least one of the sets.
func RowSetsOr(a uint32, b uint32) uint32 {
	if host.RowSetsOr == nil {
		panic(missing("row-sets", "or"))
	}
	return host.RowSetsOr(a, b)
}

// RowSetsNot: `not` of row-sets.
// The rows of the batch that are not in the set.
func RowSetsNot(a uint32) uint32 {
	if host.RowSetsNot == nil {
		panic(missing("row-sets", "not"))
	}
	return host.RowSetsNot(a)
}

// RowSetsCount: `count` of row-sets.
// The number of rows of the batch that are in the set. A pointwise predicate must not decide about a row by it.
func RowSetsCount(a uint32) uint32 {
	if host.RowSetsCount == nil {
		panic(missing("row-sets", "count"))
	}
	return host.RowSetsCount(a)
}

// RowSetsReject: `reject` of row-sets.
// Rejects the rows of the set. A row that was rejected before in the same call keeps its failure. A rejection here comes
// before what `filter` returns for the row: where that is `fits-all`, the rejected rows are the whole verdict.
func RowSetsReject(a uint32, failure RowSetsFailure) {
	if host.RowSetsReject == nil {
		panic(missing("row-sets", "reject"))
	}
	host.RowSetsReject(a, failure)
}

// LogWrite: `write` of log.
// Writes a line, which begins with the names of the predicate and the pod. Control characters are escaped. What
// exceeds 1,024 bytes is cut; lines beyond 10 in a second are dropped and counted. Of `configure`, only lines of
// the instances that are made for `filter` calls are written. A verdict that the host has cached writes no line
// again.
func LogWrite(level LogLevel, text string) {
	if host.LogWrite == nil {
		panic(missing("log", "write"))
	}
	host.LogWrite(level, text)
}
