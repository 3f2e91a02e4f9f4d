// Code generated from the contract by `make contract`. DO NOT EDIT.

//go:build wasip1

package facts

import (
	"runtime"
	"unsafe"
)

//go:wasmimport nodesift:predicate/pod-labels@0.2.0 namespace
func importPodLabelsNamespace(result unsafe.Pointer)

// PodLabelsNamespace: `namespace` of pod-labels.
// Namespace of the pod: `metadata.namespace`.
func PodLabelsNamespace() string {
	importPodLabelsNamespace(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadString(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-labels@0.2.0 label
func importPodLabelsLabel(a0 string, result unsafe.Pointer)

// PodLabelsLabel: `label` of pod-labels.
// The value of the label `key` in `metadata.labels`; none where the pod does not have the label.
func PodLabelsLabel(key string) (string, bool) {
	importPodLabelsLabel(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	runtime.KeepAlive(key)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-annotations@0.2.0 annotation
func importPodAnnotationsAnnotation(a0 string, result unsafe.Pointer)

// PodAnnotationsAnnotation: `annotation` of pod-annotations.
// The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
// not list the key.
func PodAnnotationsAnnotation(key string) (string, bool) {
	importPodAnnotationsAnnotation(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	runtime.KeepAlive(key)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-placement@0.2.0 node-name
func importPodPlacementNodeName(result unsafe.Pointer)

// PodPlacementNodeName: `node-name` of pod-placement.
// `spec.nodeName`; none where it is absent or empty.
func PodPlacementNodeName() (string, bool) {
	importPodPlacementNodeName(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-placement@0.2.0 node-selector
func importPodPlacementNodeSelector(result unsafe.Pointer)

// PodPlacementNodeSelector: `node-selector` of pod-placement.
// `spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold.
func PodPlacementNodeSelector() []Tuple2[string, string] {
	importPodPlacementNodeSelector(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 16, loadTuple2OfStringString)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-placement@0.2.0 required-terms
func importPodPlacementRequiredTerms(result unsafe.Pointer)

// PodPlacementRequiredTerms: `required-terms` of pod-placement.
// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
// must hold. None where the pod has no required node affinity. An empty list matches no node.
func PodPlacementRequiredTerms() ([]PodPlacementTerm, bool) {
	importPodPlacementRequiredTerms(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result []PodPlacementTerm
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadList(p, 4, 16, loadPodPlacementTerm)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-placement@0.2.0 preferred-terms
func importPodPlacementPreferredTerms(result unsafe.Pointer)

// PodPlacementPreferredTerms: `preferred-terms` of pod-placement.
// `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
// list. Since 0.2.
func PodPlacementPreferredTerms() ([]PodPlacementPreferredTerm, bool) {
	importPodPlacementPreferredTerms(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result []PodPlacementPreferredTerm
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadList(p, 4, 20, loadPodPlacementPreferredTerm)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-tolerations@0.2.0 tolerations
func importPodTolerationsTolerations(result unsafe.Pointer)

// PodTolerationsTolerations: `tolerations` of pod-tolerations.
// Tolerations of the pod: `spec.tolerations`, in order.
func PodTolerationsTolerations() []PodTolerationsToleration {
	importPodTolerationsTolerations(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 24, loadPodTolerationsToleration)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-resources@0.2.0 requests
func importPodResourcesRequests(result unsafe.Pointer)

// PodResourcesRequests: `requests` of pod-resources.
// The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
// above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
func PodResourcesRequests() []PodResourcesRequest {
	importPodResourcesRequests(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 16, loadPodResourcesRequest)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-non-zero-requests@0.2.0 requests
func importPodNonZeroRequestsRequests(result unsafe.Pointer)

// PodNonZeroRequestsRequests: `requests` of pod-non-zero-requests.
// Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
// are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
func PodNonZeroRequestsRequests() []PodResourcesRequest {
	importPodNonZeroRequestsRequests(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 16, loadPodResourcesRequest)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-images@0.2.0 containers
func importPodImagesContainers(result unsafe.Pointer)

// PodImagesContainers: `containers` of pod-images.
// Images of init containers and then those of containers, in order, each as often as it is used.
func PodImagesContainers() []string {
	importPodImagesContainers(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-images@0.2.0 volumes
func importPodImagesVolumes(result unsafe.Pointer)

// PodImagesVolumes: `volumes` of pod-images.
// Images that are mounted as volumes, in order, each as often as it is used.
func PodImagesVolumes() []string {
	importPodImagesVolumes(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-spread@0.2.0 constraints
func importPodSpreadConstraints(result unsafe.Pointer)

// PodSpreadConstraints: `constraints` of pod-spread.
// Constraints of the pod: `spec.topologySpreadConstraints`, in order.
func PodSpreadConstraints() []PodSpreadConstraint {
	importPodSpreadConstraints(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 56, loadPodSpreadConstraint)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-spread@0.2.0 default-selector
func importPodSpreadDefaultSelector(result unsafe.Pointer)

// PodSpreadDefaultSelector: `default-selector` of pod-spread.
// The combined selector of the Services that select the pod and of the controller that owns it. Default
// constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
// neither.
func PodSpreadDefaultSelector() (SelectorsLabelSelector, bool) {
	importPodSpreadDefaultSelector(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result SelectorsLabelSelector
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadSelectorsLabelSelector(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-affinity@0.2.0 affinity
func importPodAffinityAffinity(result unsafe.Pointer)

// PodAffinityAffinity: `affinity` of pod-affinity.
// Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
func PodAffinityAffinity() []PodAffinityTerm {
	importPodAffinityAffinity(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 72, loadPodAffinityTerm)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-affinity@0.2.0 anti-affinity
func importPodAffinityAntiAffinity(result unsafe.Pointer)

// PodAffinityAntiAffinity: `anti-affinity` of pod-affinity.
// Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
func PodAffinityAntiAffinity() []PodAffinityTerm {
	importPodAffinityAntiAffinity(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 72, loadPodAffinityTerm)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-affinity@0.2.0 invalid-preferred
func importPodAffinityInvalidPreferred(result unsafe.Pointer)

// PodAffinityInvalidPreferred: `invalid-preferred` of pod-affinity.
// The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
// affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
// preferred terms reject no node.
func PodAffinityInvalidPreferred() Tuple2[[]PodAffinityTerm, []PodAffinityTerm] {
	importPodAffinityInvalidPreferred(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := Tuple2[[]PodAffinityTerm, []PodAffinityTerm]{loadList(p, 0, 72, loadPodAffinityTerm), loadList(p, 8, 72, loadPodAffinityTerm)}
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-preferred-affinity@0.2.0 affinity
func importPodPreferredAffinityAffinity(result unsafe.Pointer)

// PodPreferredAffinityAffinity: `affinity` of pod-preferred-affinity.
// Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points of each matching pod.
func PodPreferredAffinityAffinity() []Tuple2[int32, PodAffinityTerm] {
	importPodPreferredAffinityAffinity(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 76, loadTuple2OfInt32PodAffinityTerm)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-preferred-affinity@0.2.0 anti-affinity
func importPodPreferredAffinityAntiAffinity(result unsafe.Pointer)

// PodPreferredAffinityAntiAffinity: `anti-affinity` of pod-preferred-affinity.
// Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points that each matching pod takes away, as a positive number.
func PodPreferredAffinityAntiAffinity() []Tuple2[int32, PodAffinityTerm] {
	importPodPreferredAffinityAntiAffinity(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 76, loadTuple2OfInt32PodAffinityTerm)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-features@0.2.0 required
func importPodFeaturesRequired(result unsafe.Pointer)

// PodFeaturesRequired: `required` of pod-features.
// The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
// the pod's spec.
func PodFeaturesRequired() []string {
	importPodFeaturesRequired(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-volumes@0.2.0 volumes
func importPodVolumesVolumes(result unsafe.Pointer)

// PodVolumesVolumes: `volumes` of pod-volumes.
// The disks and claims of `spec.volumes`, in order. Other volume types are left out.
func PodVolumesVolumes() []PodVolumesVolume {
	importPodVolumesVolumes(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 28, loadPodVolumesVolume)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-volumes@0.2.0 owner
func importPodVolumesOwner(result unsafe.Pointer)

// PodVolumesOwner: `owner` of pod-volumes.
// Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
// controller.
func PodVolumesOwner() Tuple3[string, string, string] {
	importPodVolumesOwner(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := Tuple3[string, string, string]{loadString(p, 0), loadString(p, 8), loadString(p, 16)}
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/namespace-labels@0.2.0 label
func importNamespaceLabelsLabel(a0 string, result unsafe.Pointer)

// NamespaceLabelsLabel: `label` of namespace-labels.
// The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
// there is no such object.
func NamespaceLabelsLabel(key string) (string, bool) {
	importNamespaceLabelsLabel(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	runtime.KeepAlive(key)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 priority
func importPodSpecPriority() int32

// PodSpecPriority: `priority` of pod-spec.
// `spec.priority`; 0 where it is absent.
func PodSpecPriority() int32 {
	result := importPodSpecPriority()
	return result
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 priority-class
func importPodSpecPriorityClass(result unsafe.Pointer)

// PodSpecPriorityClass: `priority-class` of pod-spec.
// `spec.priorityClassName`; none where it is absent or empty.
func PodSpecPriorityClass() (string, bool) {
	importPodSpecPriorityClass(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 service-account
func importPodSpecServiceAccount(result unsafe.Pointer)

// PodSpecServiceAccount: `service-account` of pod-spec.
// `spec.serviceAccountName`; none where it is absent or empty.
func PodSpecServiceAccount() (string, bool) {
	importPodSpecServiceAccount(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 runtime-class
func importPodSpecRuntimeClass(result unsafe.Pointer)

// PodSpecRuntimeClass: `runtime-class` of pod-spec.
// `spec.runtimeClassName`; none where it is absent or empty.
func PodSpecRuntimeClass() (string, bool) {
	importPodSpecRuntimeClass(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 host-network
func importPodSpecHostNetwork() uint32

// PodSpecHostNetwork: `host-network` of pod-spec.
// Whether the pod uses the node's network: `spec.hostNetwork`.
func PodSpecHostNetwork() bool {
	result := importPodSpecHostNetwork()
	return result != 0
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 images
func importPodSpecImages(result unsafe.Pointer)

// PodSpecImages: `images` of pod-spec.
// The images of containers and init containers as written: sorted, without duplicates and empty texts.
func PodSpecImages() []string {
	importPodSpecImages(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-spec@0.2.0 scheduler-name
func importPodSpecSchedulerName(result unsafe.Pointer)

// PodSpecSchedulerName: `scheduler-name` of pod-spec.
// Name of the scheduler that places the pod: `spec.schedulerName`.
func PodSpecSchedulerName() string {
	importPodSpecSchedulerName(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadString(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-owner@0.2.0 controller
func importPodOwnerController(result unsafe.Pointer)

// PodOwnerController: `controller` of pod-owner.
// The controller; none where the pod has none.
func PodOwnerController() (PodOwnerOwner, bool) {
	importPodOwnerController(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result PodOwnerOwner
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadPodOwnerOwner(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-owner@0.2.0 controller-uid
func importPodOwnerControllerUid(result unsafe.Pointer)

// PodOwnerControllerUid: `controller-uid` of pod-owner.
// The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
// predicate that has read it.
func PodOwnerControllerUid() (string, bool) {
	importPodOwnerControllerUid(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-claims@0.2.0 claims
func importPodClaimsClaims(result unsafe.Pointer)

// PodClaimsClaims: `claims` of pod-claims.
// The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere.
func PodClaimsClaims() Result[[]PodClaimsClaim, PodClaimsObstacle] {
	importPodClaimsClaims(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadResult(p, 0, 4, loadListOfPodClaimsClaim, loadPodClaimsObstacle)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-claims@0.2.0 extended
func importPodClaimsExtended(result unsafe.Pointer)

// PodClaimsExtended: `extended` of pod-claims.
// The extended resources of the pod; none where no DeviceClass provides any of them.
func PodClaimsExtended() (PodClaimsExtendedResources, bool) {
	importPodClaimsExtended(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result PodClaimsExtendedResources
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadPodClaimsExtendedResources(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/pod-claims@0.2.0 claim-name
func importPodClaimsClaimName(a0 uint32, result unsafe.Pointer)

// PodClaimsClaimName: `claim-name` of pod-claims.
// `namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
// Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
func PodClaimsClaimName(claim uint32) string {
	importPodClaimsClaimName(claim, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadString(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-claims@0.2.0 chosen
func importPodClaimsChosen(a0 uint32, result unsafe.Pointer)

// PodClaimsChosen: `chosen` of pod-claims.
// Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
// alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
// kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
func PodClaimsChosen(claim uint32) []uint32 {
	importPodClaimsChosen(claim, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/pod-claims@0.2.0 deriving
func importPodClaimsDeriving(a0 uint32, result unsafe.Pointer)

// PodClaimsDeriving: `deriving` of pod-claims.
// Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
// alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
func PodClaimsDeriving(claim uint32) []uint32 {
	importPodClaimsDeriving(claim, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-identity@0.2.0 names
func importNodeIdentityNames(result unsafe.Pointer)

// NodeIdentityNames: `names` of node-identity.
// `metadata.name`; one entry per row of the batch.
func NodeIdentityNames() []string {
	importNodeIdentityNames(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-identity@0.2.0 row
func importNodeIdentityRow(a0 string, result unsafe.Pointer)

// NodeIdentityRow: `row` of node-identity.
// The row of the node `name`; none where no node of the batch has this name.
func NodeIdentityRow(name string) (uint32, bool) {
	importNodeIdentityRow(name, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result uint32
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = load[uint32](p, 4)
	}
	runtime.KeepAlive(name)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 column
func importNodeLabelsColumn(a0 string, result unsafe.Pointer)

// NodeLabelsColumn: `column` of node-labels.
// The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
func NodeLabelsColumn(key string) []uint32 {
	importNodeLabelsColumn(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 code
func importNodeLabelsCode(a0 string, a1 string, result unsafe.Pointer)

// NodeLabelsCode: `code` of node-labels.
// The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
// equals the label of no row.
func NodeLabelsCode(key string, text string) (uint32, bool) {
	importNodeLabelsCode(key, text, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result uint32
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = load[uint32](p, 4)
	}
	runtime.KeepAlive(key)
	runtime.KeepAlive(text)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 dictionary
func importNodeLabelsDictionary(a0 string, result unsafe.Pointer)

// NodeLabelsDictionary: `dictionary` of node-labels.
// The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
// the batch has.
func NodeLabelsDictionary(key string) []string {
	importNodeLabelsDictionary(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 integers
func importNodeLabelsIntegers(a0 string, result unsafe.Pointer)

// NodeLabelsIntegers: `integers` of node-labels.
// The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
func NodeLabelsIntegers(key string) []int64 {
	importNodeLabelsIntegers(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 rows-in
func importNodeLabelsRowsIn(a0 string, a1 unsafe.Pointer, a1Length uint32) uint32

// NodeLabelsRowsIn: `rows-in` of node-labels.
// The rows whose label `key` has one of these values, as a row set. Since 0.2.
func NodeLabelsRowsIn(key string, values []string) uint32 {
	a1 := lowerStrings(values)
	result := importNodeLabelsRowsIn(key, a1, uint32(len(values)))
	runtime.KeepAlive(key)
	runtime.KeepAlive(values)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-labels@0.2.0 rows-with
func importNodeLabelsRowsWith(a0 string) uint32

// NodeLabelsRowsWith: `rows-with` of node-labels.
// The rows that have the label `key`, as a row set. Since 0.2.
func NodeLabelsRowsWith(key string) uint32 {
	result := importNodeLabelsRowsWith(key)
	runtime.KeepAlive(key)
	return result
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 column
func importNodeAnnotationsColumn(a0 string, result unsafe.Pointer)

// NodeAnnotationsColumn: `column` of node-annotations.
// The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
func NodeAnnotationsColumn(key string) []uint32 {
	importNodeAnnotationsColumn(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 code
func importNodeAnnotationsCode(a0 string, a1 string, result unsafe.Pointer)

// NodeAnnotationsCode: `code` of node-annotations.
// The code of the value `text` of the annotation `key`. None where no node of the cluster has this value.
func NodeAnnotationsCode(key string, text string) (uint32, bool) {
	importNodeAnnotationsCode(key, text, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result uint32
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = load[uint32](p, 4)
	}
	runtime.KeepAlive(key)
	runtime.KeepAlive(text)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 dictionary
func importNodeAnnotationsDictionary(a0 string, result unsafe.Pointer)

// NodeAnnotationsDictionary: `dictionary` of node-annotations.
// The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
// of the batch has.
func NodeAnnotationsDictionary(key string) []string {
	importNodeAnnotationsDictionary(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 integers
func importNodeAnnotationsIntegers(a0 string, result unsafe.Pointer)

// NodeAnnotationsIntegers: `integers` of node-annotations.
// The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
func NodeAnnotationsIntegers(key string) []int64 {
	importNodeAnnotationsIntegers(key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(key)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 rows-in
func importNodeAnnotationsRowsIn(a0 string, a1 unsafe.Pointer, a1Length uint32) uint32

// NodeAnnotationsRowsIn: `rows-in` of node-annotations.
// The rows whose annotation `key` has one of these values, as a row set. Since 0.2.
func NodeAnnotationsRowsIn(key string, values []string) uint32 {
	a1 := lowerStrings(values)
	result := importNodeAnnotationsRowsIn(key, a1, uint32(len(values)))
	runtime.KeepAlive(key)
	runtime.KeepAlive(values)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-annotations@0.2.0 rows-with
func importNodeAnnotationsRowsWith(a0 string) uint32

// NodeAnnotationsRowsWith: `rows-with` of node-annotations.
// The rows that have the annotation `key`, as a row set. Since 0.2.
func NodeAnnotationsRowsWith(key string) uint32 {
	result := importNodeAnnotationsRowsWith(key)
	runtime.KeepAlive(key)
	return result
}

//go:wasmimport nodesift:predicate/node-taints@0.2.0 unschedulable
func importNodeTaintsUnschedulable(result unsafe.Pointer)

// NodeTaintsUnschedulable: `unschedulable` of node-taints.
// `spec.unschedulable` as a flag; one entry per row of the batch.
func NodeTaintsUnschedulable() []uint8 {
	importNodeTaintsUnschedulable(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-taints@0.2.0 sets
func importNodeTaintsSets(result unsafe.Pointer)

// NodeTaintsSets: `sets` of node-taints.
// The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
// that no row of the batch has: a verdict must depend only on those of the batch's rows.
func NodeTaintsSets() [][]NodeTaintsTaint {
	importNodeTaintsSets(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 8, loadListOfNodeTaintsTaint)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-taints@0.2.0 column
func importNodeTaintsColumn(result unsafe.Pointer)

// NodeTaintsColumn: `column` of node-taints.
// The index of the node's set in `sets`; one entry per row of the batch.
func NodeTaintsColumn() []uint32 {
	importNodeTaintsColumn(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-taints@0.2.0 rows-unschedulable
func importNodeTaintsRowsUnschedulable() uint32

// NodeTaintsRowsUnschedulable: `rows-unschedulable` of node-taints.
// The rows with `spec.unschedulable`, as a row set. Since 0.2.
func NodeTaintsRowsUnschedulable() uint32 {
	result := importNodeTaintsRowsUnschedulable()
	return result
}

//go:wasmimport nodesift:predicate/node-taints@0.2.0 rows-untolerated
func importNodeTaintsRowsUntolerated() uint32

// NodeTaintsRowsUntolerated: `rows-untolerated` of node-taints.
// The rows with a taint of the effect NoSchedule or NoExecute that the pod being filtered does not tolerate, as a row set.
// Since 0.2.
func NodeTaintsRowsUntolerated() uint32 {
	result := importNodeTaintsRowsUntolerated()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 allocatable
func importNodeResourcesAllocatable(a0 string, result unsafe.Pointer)

// NodeResourcesAllocatable: `allocatable` of node-resources.
// `status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch.
func NodeResourcesAllocatable(resource string) []int64 {
	importNodeResourcesAllocatable(resource, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 requested
func importNodeResourcesRequested(a0 string, result unsafe.Pointer)

// NodeResourcesRequested: `requested` of node-resources.
// The sum of the requests of all pods on the node; one entry per row of the batch.
func NodeResourcesRequested(resource string) []int64 {
	importNodeResourcesRequested(resource, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 foreign
func importNodeResourcesForeign(a0 string, result unsafe.Pointer)

// NodeResourcesForeign: `foreign` of node-resources.
// The part of `requested` that foreign pods request; one entry per row of the batch.
func NodeResourcesForeign(resource string) []int64 {
	importNodeResourcesForeign(resource, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 free
func importNodeResourcesFree(a0 string, result unsafe.Pointer)

// NodeResourcesFree: `free` of node-resources.
// `allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch.
func NodeResourcesFree(resource string) []int64 {
	importNodeResourcesFree(resource, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 pods
func importNodeResourcesPods(result unsafe.Pointer)

// NodeResourcesPods: `pods` of node-resources.
// The number of pods on the node; one entry per row of the batch.
func NodeResourcesPods() []int64 {
	importNodeResourcesPods(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 foreign-pods
func importNodeResourcesForeignPods(result unsafe.Pointer)

// NodeResourcesForeignPods: `foreign-pods` of node-resources.
// The number of foreign pods on the node; one entry per row of the batch.
func NodeResourcesForeignPods() []int64 {
	importNodeResourcesForeignPods(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 pod-limit
func importNodeResourcesPodLimit(result unsafe.Pointer)

// NodeResourcesPodLimit: `pod-limit` of node-resources.
// `status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch.
func NodeResourcesPodLimit() []int64 {
	importNodeResourcesPodLimit(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 pod-room
func importNodeResourcesPodRoom(result unsafe.Pointer)

// NodeResourcesPodRoom: `pod-room` of node-resources.
// `pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch.
func NodeResourcesPodRoom() []int64 {
	importNodeResourcesPodRoom(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 device-class-serves
func importNodeResourcesDeviceClassServes(a0 string) uint32

// NodeResourcesDeviceClassServes: `device-class-serves` of node-resources.
// Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
// About the cluster, not about a row.
func NodeResourcesDeviceClassServes(resource string) bool {
	result := importNodeResourcesDeviceClassServes(resource)
	runtime.KeepAlive(resource)
	return result != 0
}

//go:wasmimport nodesift:predicate/node-resources@0.2.0 rows-with-free
func importNodeResourcesRowsWithFree(a0 string, a1 int64) uint32

// NodeResourcesRowsWithFree: `rows-with-free` of node-resources.
// The rows on which at least `amount` of the resource is free, as a row set. Since 0.2.
func NodeResourcesRowsWithFree(resource string, amount int64) uint32 {
	result := importNodeResourcesRowsWithFree(resource, amount)
	runtime.KeepAlive(resource)
	return result
}

//go:wasmimport nodesift:predicate/node-sums@0.2.0 column
func importNodeSumsColumn(a0 string, result unsafe.Pointer)

// NodeSumsColumn: `column` of node-sums.
// Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
// accounting component of the policy declares, as for a resource that nobody uses.
func NodeSumsColumn(name string) []int64 {
	importNodeSumsColumn(name, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(name)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-non-zero-requests@0.2.0 requested
func importNodeNonZeroRequestsRequested(a0 string, result unsafe.Pointer)

// NodeNonZeroRequestsRequested: `requested` of node-non-zero-requests.
// Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
// 0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
// overflow, as in Go.
func NodeNonZeroRequestsRequested(resource string) []int64 {
	importNodeNonZeroRequestsRequested(resource, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-ports@0.2.0 conflicts
func importNodePortsConflicts(result unsafe.Pointer)

// NodePortsConflicts: `conflicts` of node-ports.
// A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
// None where the pod requests no host port.
func NodePortsConflicts() ([]uint8, bool) {
	importNodePortsConflicts(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result []uint8
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadColumn[uint8](p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/node-features@0.2.0 sets
func importNodeFeaturesSets(result unsafe.Pointer)

// NodeFeaturesSets: `sets` of node-features.
// The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
// 0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
func NodeFeaturesSets() [][]string {
	importNodeFeaturesSets(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 8, loadStrings)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-features@0.2.0 column
func importNodeFeaturesColumn(result unsafe.Pointer)

// NodeFeaturesColumn: `column` of node-features.
// The index of the node's set in `sets`; one entry per row of the batch.
func NodeFeaturesColumn() []uint32 {
	importNodeFeaturesColumn(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-conditions@0.2.0 column
func importNodeConditionsColumn(a0 string, result unsafe.Pointer)

// NodeConditionsColumn: `column` of node-conditions.
// The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
// or any other text. One entry per row of the batch.
func NodeConditionsColumn(kind string) []uint8 {
	importNodeConditionsColumn(kind, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	runtime.KeepAlive(kind)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-info@0.2.0 column
func importNodeInfoColumn(a0 uint32, result unsafe.Pointer)

// NodeInfoColumn: `column` of node-info.
// The code of the field; one entry per row of the batch.
func NodeInfoColumn(field NodeInfoField) []uint32 {
	importNodeInfoColumn(uint32(field), unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-info@0.2.0 code
func importNodeInfoCode(a0 uint32, a1 string, result unsafe.Pointer)

// NodeInfoCode: `code` of node-info.
// The code of the value `text` of the field. None where no node of the cluster has this value.
func NodeInfoCode(field NodeInfoField, text string) (uint32, bool) {
	importNodeInfoCode(uint32(field), text, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result uint32
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = load[uint32](p, 4)
	}
	runtime.KeepAlive(text)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/node-info@0.2.0 dictionary
func importNodeInfoDictionary(a0 uint32, result unsafe.Pointer)

// NodeInfoDictionary: `dictionary` of node-info.
// The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
// entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
func NodeInfoDictionary(field NodeInfoField) []string {
	importNodeInfoDictionary(uint32(field), unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-images@0.2.0 present
func importNodeImagesPresent(a0 string, result unsafe.Pointer)

// NodeImagesPresent: `present` of node-images.
// A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch.
func NodeImagesPresent(image string) []uint8 {
	importNodeImagesPresent(image, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	runtime.KeepAlive(image)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-age@0.2.0 created
func importNodeAgeCreated(result unsafe.Pointer)

// NodeAgeCreated: `created` of node-age.
// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
// of the batch.
func NodeAgeCreated() []int64 {
	importNodeAgeCreated(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-devices@0.2.0 devices
func importNodeDevicesDevices(a0 unsafe.Pointer, a0Length uint32, a2 unsafe.Pointer, a2Length uint32, a4 bool, result unsafe.Pointer)

// NodeDevicesDevices: `devices` of node-devices.
// The devices that rows of the batch see. A query beyond its limits traps.
func NodeDevicesDevices(query NodeDevicesQuery) NodeDevicesDeviceColumns {
	a0 := lowerList(query.SelectorLists, 8, storeStrings)
	a2 := lowerStrings(query.Attributes)
	importNodeDevicesDevices(a0, uint32(len(query.SelectorLists)), a2, uint32(len(query.Attributes)), query.Names, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadNodeDevicesDeviceColumns(p, 0)
	runtime.KeepAlive(query)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/node-parties@0.2.0 unsuitable
func importNodePartiesUnsuitable(result unsafe.Pointer)

// NodePartiesUnsuitable: `unsuitable` of node-parties.
// One entry per party, in the order of the policy; none where no party decides about the pod.
func NodePartiesUnsuitable() []NodePartiesPartyColumn {
	importNodePartiesUnsuitable(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 36, loadNodePartiesPartyColumn)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-pods@0.2.0 matching
func importClusterPodsMatching(a0 unsafe.Pointer, a0Length uint32, a2 bool, result unsafe.Pointer)

// ClusterPodsMatching: `matching` of cluster-pods.
// The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
// timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
// repeated call is cheap.
func ClusterPodsMatching(selectors []ClusterPodsPodSelector, terminating bool) []uint32 {
	a0 := lowerList(selectors, 28, storeClusterPodsPodSelector)
	importClusterPodsMatching(a0, uint32(len(selectors)), terminating, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(selectors)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-pods@0.2.0 matches-this-pod
func importClusterPodsMatchesThisPod(a0 unsafe.Pointer, a0Length uint32) uint32

// ClusterPodsMatchesThisPod: `matches-this-pod` of cluster-pods.
// Whether the pod being filtered matches every selector.
func ClusterPodsMatchesThisPod(selectors []ClusterPodsPodSelector) bool {
	a0 := lowerList(selectors, 28, storeClusterPodsPodSelector)
	result := importClusterPodsMatchesThisPod(a0, uint32(len(selectors)))
	runtime.KeepAlive(selectors)
	unpin()
	return result != 0
}

//go:wasmimport nodesift:predicate/cluster-pods@0.2.0 requested
func importClusterPodsRequested(a0 unsafe.Pointer, a0Length uint32, a2 string, a3 bool, result unsafe.Pointer)

// ClusterPodsRequested: `requested` of cluster-pods.
// The sum of the requests for one resource of the pods on the node that match every selector, in the units of
// `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
// is true. Since 0.2.
func ClusterPodsRequested(selectors []ClusterPodsPodSelector, resource string, terminating bool) []int64 {
	a0 := lowerList(selectors, 28, storeClusterPodsPodSelector)
	importClusterPodsRequested(a0, uint32(len(selectors)), resource, terminating, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(selectors)
	runtime.KeepAlive(resource)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-controllers@0.2.0 same-controller
func importClusterControllersSameController(a0 bool, result unsafe.Pointer)

// ClusterControllersSameController: `same-controller` of cluster-controllers.
// The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
// None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
// of different controllers share no cached verdict of a predicate that has read it.
func ClusterControllersSameController(terminating bool) ([]uint32, bool) {
	importClusterControllersSameController(terminating, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result []uint32
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadColumn[uint32](p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-candidates@0.2.0 feasible
func importClusterCandidatesFeasible(result unsafe.Pointer)

// ClusterCandidatesFeasible: `feasible` of cluster-candidates.
// A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
// cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
func ClusterCandidatesFeasible() []uint8 {
	importClusterCandidatesFeasible(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-affinity@0.2.0 topology-keys
func importClusterAffinityTopologyKeys(result unsafe.Pointer)

// ClusterAffinityTopologyKeys: `topology-keys` of cluster-affinity.
// The topology keys of the matching terms, sorted, without duplicates.
func ClusterAffinityTopologyKeys() []string {
	importClusterAffinityTopologyKeys(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-affinity@0.2.0 anti-affinity-terms
func importClusterAffinityAntiAffinityTerms(a0 string, result unsafe.Pointer)

// ClusterAffinityAntiAffinityTerms: `anti-affinity-terms` of cluster-affinity.
// The number of matching terms with this topology key that the pods on the node have; one entry per row of the
// cluster.
func ClusterAffinityAntiAffinityTerms(topologyKey string) []uint32 {
	importClusterAffinityAntiAffinityTerms(topologyKey, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(topologyKey)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-preferences@0.2.0 topology-keys
func importClusterPreferencesTopologyKeys(result unsafe.Pointer)

// ClusterPreferencesTopologyKeys: `topology-keys` of cluster-preferences.
// The topology keys of the matching terms, sorted, without duplicates.
func ClusterPreferencesTopologyKeys() []string {
	importClusterPreferencesTopologyKeys(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadStrings(p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-preferences@0.2.0 preferred-terms
func importClusterPreferencesPreferredTerms(a0 string, result unsafe.Pointer)

// ClusterPreferencesPreferredTerms: `preferred-terms` of cluster-preferences.
// The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
// have; one entry per row of the cluster.
func ClusterPreferencesPreferredTerms(topologyKey string) []uint32 {
	importClusterPreferencesPreferredTerms(topologyKey, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(topologyKey)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-preferences@0.2.0 weights
func importClusterPreferencesWeights(a0 string, result unsafe.Pointer)

// ClusterPreferencesWeights: `weights` of cluster-preferences.
// The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster.
func ClusterPreferencesWeights(topologyKey string) []int64 {
	importClusterPreferencesWeights(topologyKey, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(topologyKey)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-preferences@0.2.0 required-terms
func importClusterPreferencesRequiredTerms(a0 string, result unsafe.Pointer)

// ClusterPreferencesRequiredTerms: `required-terms` of cluster-preferences.
// The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
// of the cluster.
func ClusterPreferencesRequiredTerms(topologyKey string) []uint32 {
	importClusterPreferencesRequiredTerms(topologyKey, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(topologyKey)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-volume-use@0.2.0 disk-users
func importClusterVolumeUseDiskUsers(a0 uint32, a1 string, result unsafe.Pointer)

// ClusterVolumeUseDiskUsers: `disk-users` of cluster-volume-use.
// The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row.
func ClusterVolumeUseDiskUsers(kind PodVolumesDiskKind, id string) []ClusterVolumeUseDiskUser {
	importClusterVolumeUseDiskUsers(uint32(kind), id, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 16, loadClusterVolumeUseDiskUser)
	runtime.KeepAlive(id)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-volume-use@0.2.0 claim-users
func importClusterVolumeUseClaimUsers(a0 string) uint32

// ClusterVolumeUseClaimUsers: `claim-users` of cluster-volume-use.
// The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
// cluster. Claims of generic ephemeral volumes are not counted.
func ClusterVolumeUseClaimUsers(claim string) uint32 {
	result := importClusterVolumeUseClaimUsers(claim)
	runtime.KeepAlive(claim)
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 wanted
func importClusterAttachmentsWanted(a0 bool, result unsafe.Pointer)

// ClusterAttachmentsWanted: `wanted` of cluster-attachments.
// The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
// the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
// PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
func ClusterAttachmentsWanted(registered bool) Result[[]ClusterAttachmentsAttachment, ClusterAttachmentsObstacle] {
	importClusterAttachmentsWanted(registered, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadResult(p, 0, 4, loadListOfClusterAttachmentsAttachment, loadClusterAttachmentsObstacle)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 registered
func importClusterAttachmentsRegistered(result unsafe.Pointer)

// ClusterAttachmentsRegistered: `registered` of cluster-attachments.
// A flag: the node has a CSINode. One entry per row of the cluster.
func ClusterAttachmentsRegistered() []uint8 {
	importClusterAttachmentsRegistered(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 limited
func importClusterAttachmentsLimited(result unsafe.Pointer)

// ClusterAttachmentsLimited: `limited` of cluster-attachments.
// A flag: the CSINode limits at least one driver. One entry per row of the cluster.
func ClusterAttachmentsLimited() []uint8 {
	importClusterAttachmentsLimited(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 driver-missing
func importClusterAttachmentsDriverMissing(a0 string, result unsafe.Pointer)

// ClusterAttachmentsDriverMissing: `driver-missing` of cluster-attachments.
// A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
// not list the driver. One entry per row of the cluster. Since 0.2.
func ClusterAttachmentsDriverMissing(driver string) []uint8 {
	importClusterAttachmentsDriverMissing(driver, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	runtime.KeepAlive(driver)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 limit
func importClusterAttachmentsLimit(a0 string, result unsafe.Pointer)

// ClusterAttachmentsLimit: `limit` of cluster-attachments.
// How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
// of the cluster.
func ClusterAttachmentsLimit(driver string) []int64 {
	importClusterAttachmentsLimit(driver, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(driver)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 used
func importClusterAttachmentsUsed(a0 string, result unsafe.Pointer)

// ClusterAttachmentsUsed: `used` of cluster-attachments.
// The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
// row of the cluster.
func ClusterAttachmentsUsed(driver string) []int64 {
	importClusterAttachmentsUsed(driver, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[int64](p, 0)
	runtime.KeepAlive(driver)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 rows-with
func importClusterAttachmentsRowsWith(a0 string, a1 string, result unsafe.Pointer)

// ClusterAttachmentsRowsWith: `rows-with` of cluster-attachments.
// The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
// volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
func ClusterAttachmentsRowsWith(volume ClusterAttachmentsAttachment) []uint32 {
	importClusterAttachmentsRowsWith(volume.Driver, volume.Handle, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint32](p, 0)
	runtime.KeepAlive(volume)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-attachments@0.2.0 uncounted
func importClusterAttachmentsUncounted(result unsafe.Pointer)

// ClusterAttachmentsUncounted: `uncounted` of cluster-attachments.
// Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
// first pod by namespace and name.
func ClusterAttachmentsUncounted() []ClusterAttachmentsUncountedPod {
	importClusterAttachmentsUncounted(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 40, loadClusterAttachmentsUncountedPod)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 claim-named
func importClusterStorageClaimNamed(a0 string, result unsafe.Pointer)

// ClusterStorageClaimNamed: `claim-named` of cluster-storage.
// The claim of this name in the pod's namespace; none where it does not exist.
func ClusterStorageClaimNamed(name string) (ClusterStorageClaim, bool) {
	importClusterStorageClaimNamed(name, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result ClusterStorageClaim
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadClusterStorageClaim(p, 8)
	}
	runtime.KeepAlive(name)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 volume-named
func importClusterStorageVolumeNamed(a0 string, result unsafe.Pointer)

// ClusterStorageVolumeNamed: `volume-named` of cluster-storage.
// The volume of this name; none where it does not exist.
func ClusterStorageVolumeNamed(name string) (ClusterStorageVolume, bool) {
	importClusterStorageVolumeNamed(name, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result ClusterStorageVolume
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadClusterStorageVolume(p, 8)
	}
	runtime.KeepAlive(name)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 volumes-for
func importClusterStorageVolumesFor(a0 string, result unsafe.Pointer)

// ClusterStorageVolumesFor: `volumes-for` of cluster-storage.
// Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
// neither bound to nor reserved for another claim, sorted by name.
func ClusterStorageVolumesFor(claim string) []ClusterStorageVolume {
	importClusterStorageVolumesFor(claim, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 136, loadClusterStorageVolume)
	runtime.KeepAlive(claim)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 exact-sizes-for
func importClusterStorageExactSizesFor(a0 string, result unsafe.Pointer)

// ClusterStorageExactSizesFor: `exact-sizes-for` of cluster-storage.
// The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
// does not exist.
func ClusterStorageExactSizesFor(claim string) (ClusterStorageExactSizes, bool) {
	importClusterStorageExactSizesFor(claim, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result ClusterStorageExactSizes
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadClusterStorageExactSizes(p, 8)
	}
	runtime.KeepAlive(claim)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 class-named
func importClusterStorageClassNamed(a0 string, result unsafe.Pointer)

// ClusterStorageClassNamed: `class-named` of cluster-storage.
// The StorageClass of this name; none where it does not exist.
func ClusterStorageClassNamed(name string) (ClusterStorageClass, bool) {
	importClusterStorageClassNamed(name, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result ClusterStorageClass
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadClusterStorageClass(p, 4)
	}
	runtime.KeepAlive(name)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 default-class
func importClusterStorageDefaultClass(result unsafe.Pointer)

// ClusterStorageDefaultClass: `default-class` of cluster-storage.
// The name of the default StorageClass; none where there is no default.
func ClusterStorageDefaultClass() (string, bool) {
	importClusterStorageDefaultClass(unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 driver-reports-capacity
func importClusterStorageDriverReportsCapacity(a0 string) uint32

// ClusterStorageDriverReportsCapacity: `driver-reports-capacity` of cluster-storage.
// Whether the CSIDriver of this name sets `spec.storageCapacity`.
func ClusterStorageDriverReportsCapacity(driver string) bool {
	result := importClusterStorageDriverReportsCapacity(driver)
	runtime.KeepAlive(driver)
	return result != 0
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 capacities
func importClusterStorageCapacities(a0 string, result unsafe.Pointer)

// ClusterStorageCapacities: `capacities` of cluster-storage.
// The CSIStorageCapacities of the StorageClass `class-name`.
func ClusterStorageCapacities(className string) []ClusterStorageCapacity {
	importClusterStorageCapacities(className, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadList(p, 0, 56, loadClusterStorageCapacity)
	runtime.KeepAlive(className)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-storage@0.2.0 migrated
func importClusterStorageMigrated(a0 string, result unsafe.Pointer)

// ClusterStorageMigrated: `migrated` of cluster-storage.
// A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
// cluster.
func ClusterStorageMigrated(plugin string) []uint8 {
	importClusterStorageMigrated(plugin, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	result := loadColumn[uint8](p, 0)
	runtime.KeepAlive(plugin)
	unpin()
	return result
}

//go:wasmimport nodesift:predicate/cluster-images@0.2.0 size
func importClusterImagesSize(a0 string) int64

// ClusterImagesSize: `size` of cluster-images.
// The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
// per name. 0 where no node holds it.
func ClusterImagesSize(image string) int64 {
	result := importClusterImagesSize(image)
	runtime.KeepAlive(image)
	return result
}

//go:wasmimport nodesift:predicate/time@0.2.0 passed
func importTimePassed(a0 int64) uint32

// TimePassed: `passed` of time.
// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
// evaluation of the pod began.
func TimePassed(at int64) bool {
	result := importTimePassed(at)
	return result != 0
}

//go:wasmimport nodesift:predicate/config-maps@0.2.0 entry
func importConfigMapsEntry(a0 string, a1 string, result unsafe.Pointer)

// ConfigMapsEntry: `entry` of config-maps.
// The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
// than 65,536 bytes.
func ConfigMapsEntry(configMap string, key string) (string, bool) {
	importConfigMapsEntry(configMap, key, unsafe.Pointer(&area))
	p := unsafe.Pointer(&area)
	var result string
	isSome := load[uint8](p, 0) != 0
	if isSome {
		result = loadString(p, 4)
	}
	runtime.KeepAlive(configMap)
	runtime.KeepAlive(key)
	unpin()
	return result, isSome
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 all
func importRowSetsAll() uint32

// RowSetsAll: `all` of row-sets.
// Every row of the batch.
func RowSetsAll() uint32 {
	result := importRowSetsAll()
	return result
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 and
func importRowSetsAnd(a0 uint32, a1 uint32) uint32

// RowSetsAnd: `and` of row-sets.
// The rows that are in both sets.
func RowSetsAnd(a uint32, b uint32) uint32 {
	result := importRowSetsAnd(a, b)
	return result
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 or
func importRowSetsOr(a0 uint32, a1 uint32) uint32

// RowSetsOr: `or` of row-sets.
// The rows that are in at least one of the sets.
func RowSetsOr(a uint32, b uint32) uint32 {
	result := importRowSetsOr(a, b)
	return result
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 not
func importRowSetsNot(a0 uint32) uint32

// RowSetsNot: `not` of row-sets.
// The rows of the batch that are not in the set.
func RowSetsNot(a uint32) uint32 {
	result := importRowSetsNot(a)
	return result
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 count
func importRowSetsCount(a0 uint32) uint32

// RowSetsCount: `count` of row-sets.
// The number of rows of the batch that are in the set. A pointwise predicate must not decide about a row by it.
func RowSetsCount(a uint32) uint32 {
	result := importRowSetsCount(a)
	return result
}

//go:wasmimport nodesift:predicate/row-sets@0.2.0 reject
func importRowSetsReject(a0 uint32, a1 uint32, a2 unsafe.Pointer, a2Length uint32)

// RowSetsReject: `reject` of row-sets.
// Rejects the rows of the set. A row that was rejected before in the same call keeps its failure. A rejection here comes
// before what `filter` returns for the row: where that is `fits-all`, the rejected rows are the whole verdict.
func RowSetsReject(a uint32, failure RowSetsFailure) {
	a2 := lowerStrings(failure.Reasons)
	importRowSetsReject(a, uint32(failure.Status), a2, uint32(len(failure.Reasons)))
	runtime.KeepAlive(failure)
	unpin()
}

//go:wasmimport nodesift:predicate/log@0.2.0 write
func importLogWrite(a0 uint32, a1 string)

// LogWrite: `write` of log.
// Writes a line, which begins with the names of the predicate and the pod. Control characters are escaped. What
// exceeds 1,024 bytes is cut; lines beyond 10 in a second are dropped and counted. Of `configure`, only lines of
// the instances that are made for `filter` calls are written. A verdict that the host has cached writes no line
// again.
func LogWrite(level LogLevel, text string) {
	importLogWrite(uint32(level), text)
	runtime.KeepAlive(text)
}

func loadPodPlacementRequirement(p unsafe.Pointer, at uintptr) PodPlacementRequirement {
	p = unsafe.Add(p, at)
	return PodPlacementRequirement{
		Key:      loadString(p, 0),
		Operator: load[PodPlacementOperator](p, 8),
		Values:   loadStrings(p, 12),
	}
}

func loadPodPlacementTerm(p unsafe.Pointer, at uintptr) PodPlacementTerm {
	p = unsafe.Add(p, at)
	return PodPlacementTerm{
		Expressions: loadList(p, 0, 20, loadPodPlacementRequirement),
		Fields:      loadList(p, 8, 20, loadPodPlacementRequirement),
	}
}

func loadPodPlacementPreferredTerm(p unsafe.Pointer, at uintptr) PodPlacementPreferredTerm {
	p = unsafe.Add(p, at)
	return PodPlacementPreferredTerm{
		Weight:     load[int32](p, 0),
		Preference: loadPodPlacementTerm(p, 4),
	}
}

func loadPodTolerationsToleration(p unsafe.Pointer, at uintptr) PodTolerationsToleration {
	p = unsafe.Add(p, at)
	return PodTolerationsToleration{
		Key:      loadString(p, 0),
		Operator: load[PodTolerationsOperator](p, 8),
		Value:    loadString(p, 12),
		Effect:   loadOption(p, 20, 1, load[PodTolerationsEffect]),
	}
}

func loadPodResourcesRequest(p unsafe.Pointer, at uintptr) PodResourcesRequest {
	p = unsafe.Add(p, at)
	return PodResourcesRequest{
		Resource: loadString(p, 0),
		Amount:   load[int64](p, 8),
	}
}

func loadSelectorsRequirement(p unsafe.Pointer, at uintptr) SelectorsRequirement {
	p = unsafe.Add(p, at)
	return SelectorsRequirement{
		Key:          loadString(p, 0),
		Operator:     load[SelectorsOperator](p, 8),
		Values:       loadStrings(p, 12),
		OperatorText: loadString(p, 20),
	}
}

func storeSelectorsRequirement(p unsafe.Pointer, value SelectorsRequirement) {
	storeString(p, 0, value.Key)
	store(p, 8, uint8(value.Operator))
	storeList(p, 12, lowerStrings(value.Values), len(value.Values))
	storeString(p, 20, value.OperatorText)
}

func loadSelectorsLabelSelector(p unsafe.Pointer, at uintptr) SelectorsLabelSelector {
	p = unsafe.Add(p, at)
	return SelectorsLabelSelector{
		MatchLabels:      loadList(p, 0, 16, loadTuple2OfStringString),
		MatchExpressions: loadList(p, 8, 28, loadSelectorsRequirement),
	}
}

func loadPodSpreadConstraint(p unsafe.Pointer, at uintptr) PodSpreadConstraint {
	p = unsafe.Add(p, at)
	return PodSpreadConstraint{
		MaxSkew:            load[int32](p, 0),
		TopologyKey:        loadString(p, 4),
		WhenUnsatisfiable:  load[PodSpreadWhenUnsatisfiable](p, 12),
		Selector:           loadOption(p, 16, 4, loadSelectorsLabelSelector),
		MinDomains:         loadOption(p, 36, 4, load[int32]),
		NodeAffinityPolicy: loadOption(p, 44, 1, load[PodSpreadInclusion]),
		NodeTaintsPolicy:   loadOption(p, 46, 1, load[PodSpreadInclusion]),
		MatchLabelKeys:     loadStrings(p, 48),
	}
}

func loadPodAffinityTerm(p unsafe.Pointer, at uintptr) PodAffinityTerm {
	p = unsafe.Add(p, at)
	return PodAffinityTerm{
		Selector:          loadOption(p, 0, 4, loadSelectorsLabelSelector),
		Namespaces:        loadStrings(p, 20),
		NamespaceSelector: loadOption(p, 28, 4, loadSelectorsLabelSelector),
		TopologyKey:       loadString(p, 48),
		MatchLabelKeys:    loadStrings(p, 56),
		MismatchLabelKeys: loadStrings(p, 64),
	}
}

func loadPodVolumesDisk(p unsafe.Pointer, at uintptr) PodVolumesDisk {
	p = unsafe.Add(p, at)
	return PodVolumesDisk{
		Kind:     load[PodVolumesDiskKind](p, 0),
		Id:       loadString(p, 4),
		ReadOnly: load[uint8](p, 12) != 0,
		Monitors: loadStrings(p, 16),
	}
}

func loadPodVolumesClaimRef(p unsafe.Pointer, at uintptr) PodVolumesClaimRef {
	p = unsafe.Add(p, at)
	return PodVolumesClaimRef{
		Name:      loadString(p, 0),
		Ephemeral: load[uint8](p, 8) != 0,
	}
}

func loadPodVolumesVolume(p unsafe.Pointer, at uintptr) PodVolumesVolume {
	p = unsafe.Add(p, at)
	var value PodVolumesVolume
	switch load[uint8](p, 0) {
	case 0:
		given := loadPodVolumesDisk(p, 4)
		value.Disk = &given
	case 1:
		given := loadPodVolumesClaimRef(p, 4)
		value.Claim = &given
	}
	return value
}

func loadPodOwnerOwner(p unsafe.Pointer, at uintptr) PodOwnerOwner {
	p = unsafe.Add(p, at)
	return PodOwnerOwner{
		ApiVersion: loadString(p, 0),
		Kind:       loadString(p, 8),
		Name:       loadString(p, 16),
	}
}

func loadPodClaimsNanoUnits(p unsafe.Pointer, at uintptr) PodClaimsNanoUnits {
	p = unsafe.Add(p, at)
	return PodClaimsNanoUnits{
		High: load[int64](p, 0),
		Low:  load[uint64](p, 8),
	}
}

func loadPodClaimsAmount(p unsafe.Pointer, at uintptr) PodClaimsAmount {
	p = unsafe.Add(p, at)
	return PodClaimsAmount{
		NanoUnits: loadPodClaimsNanoUnits(p, 0),
		Units:     load[int64](p, 16),
	}
}

func loadPodClaimsObstacle(p unsafe.Pointer, at uintptr) PodClaimsObstacle {
	p = unsafe.Add(p, at)
	return PodClaimsObstacle{
		Text:    loadString(p, 0),
		IsError: load[uint8](p, 8) != 0,
	}
}

func loadPodClaimsClass(p unsafe.Pointer, at uintptr) PodClaimsClass {
	p = unsafe.Add(p, at)
	return PodClaimsClass{
		Name:      loadString(p, 0),
		Selectors: loadOption(p, 8, 4, loadStrings),
	}
}

func loadPodClaimsToleration(p unsafe.Pointer, at uintptr) PodClaimsToleration {
	p = unsafe.Add(p, at)
	return PodClaimsToleration{
		Key:      loadString(p, 0),
		Operator: loadString(p, 8),
		Value:    loadString(p, 16),
		Effect:   loadString(p, 24),
	}
}

func loadPodClaimsAsked(p unsafe.Pointer, at uintptr) PodClaimsAsked {
	p = unsafe.Add(p, at)
	return PodClaimsAsked{
		OwnName:       loadString(p, 0),
		IsAlternative: load[uint8](p, 8) != 0,
		Class:         loadPodClaimsClass(p, 12),
		Selectors:     loadList(p, 32, 12, loadOptionOfString),
		Mode:          loadString(p, 40),
		Count:         load[int64](p, 48),
		AdminAccess:   load[uint8](p, 56) != 0,
		Tolerations:   loadList(p, 60, 32, loadPodClaimsToleration),
		Capacity:      loadList(p, 68, 32, loadTuple2OfStringPodClaimsAmount),
	}
}

func loadPodClaimsRequest(p unsafe.Pointer, at uintptr) PodClaimsRequest {
	p = unsafe.Add(p, at)
	return PodClaimsRequest{
		Base:         loadString(p, 0),
		Alternatives: loadList(p, 8, 80, loadPodClaimsAsked),
	}
}

func loadPodClaimsConstraintKind(p unsafe.Pointer, at uintptr) PodClaimsConstraintKind {
	p = unsafe.Add(p, at)
	var value PodClaimsConstraintKind
	switch load[uint8](p, 0) {
	case 0:
		given := loadString(p, 4)
		value.Match = &given
	case 1:
		given := loadString(p, 4)
		value.Distinct = &given
	case 2:
		value.Unknown = true
	}
	return value
}

func loadPodClaimsConstraint(p unsafe.Pointer, at uintptr) PodClaimsConstraint {
	p = unsafe.Add(p, at)
	return PodClaimsConstraint{
		Requests: loadStrings(p, 0),
		Kind:     loadPodClaimsConstraintKind(p, 8),
	}
}

func loadPodClaimsUnallocated(p unsafe.Pointer, at uintptr) PodClaimsUnallocated {
	p = unsafe.Add(p, at)
	return PodClaimsUnallocated{
		Requests:    loadList(p, 0, 16, loadPodClaimsRequest),
		Constraints: loadList(p, 8, 20, loadPodClaimsConstraint),
	}
}

func loadPodClaimsClaim(p unsafe.Pointer, at uintptr) PodClaimsClaim {
	p = unsafe.Add(p, at)
	var value PodClaimsClaim
	switch load[uint8](p, 0) {
	case 0:
		given := loadPodClaimsUnallocated(p, 4)
		value.Unallocated = &given
	case 1:
		given := loadColumn[uint8](p, 4)
		value.Allocated = &given
	}
	return value
}

func loadPodClaimsContainerResource(p unsafe.Pointer, at uintptr) PodClaimsContainerResource {
	p = unsafe.Add(p, at)
	return PodClaimsContainerResource{
		Key:      load[uint32](p, 0),
		Resource: load[uint32](p, 4),
		Count:    load[int64](p, 8),
	}
}

func loadPodClaimsContainer(p unsafe.Pointer, at uintptr) PodClaimsContainer {
	p = unsafe.Add(p, at)
	return PodClaimsContainer{
		IsShort:   load[uint8](p, 0) != 0,
		Resources: loadList(p, 4, 16, loadPodClaimsContainerResource),
	}
}

func loadPodClaimsExtendedClaim(p unsafe.Pointer, at uintptr) PodClaimsExtendedClaim {
	p = unsafe.Add(p, at)
	var value PodClaimsExtendedClaim
	switch load[uint8](p, 0) {
	case 0:
		value.HasRequests = true
	case 1:
		given := loadColumn[uint8](p, 4)
		value.Allocated = &given
	case 2:
		given := loadList(p, 4, 12, loadPodClaimsContainer)
		value.ToBeMade = &given
	}
	return value
}

func loadPodClaimsExtendedResource(p unsafe.Pointer, at uintptr) PodClaimsExtendedResource {
	p = unsafe.Add(p, at)
	return PodClaimsExtendedResource{
		Class: loadOption(p, 0, 4, loadPodClaimsClass),
		Own:   loadColumn[uint8](p, 24),
	}
}

func loadPodClaimsExtendedResources(p unsafe.Pointer, at uintptr) PodClaimsExtendedResources {
	p = unsafe.Add(p, at)
	return PodClaimsExtendedResources{
		Claim:     loadPodClaimsExtendedClaim(p, 0),
		Resources: loadList(p, 12, 32, loadPodClaimsExtendedResource),
	}
}

func loadNodeTaintsTaint(p unsafe.Pointer, at uintptr) NodeTaintsTaint {
	p = unsafe.Add(p, at)
	return NodeTaintsTaint{
		Key:    loadString(p, 0),
		Value:  loadString(p, 8),
		Effect: load[PodTolerationsEffect](p, 16),
	}
}

func loadNodeDevicesSituation(p unsafe.Pointer, at uintptr) NodeDevicesSituation {
	p = unsafe.Add(p, at)
	var value NodeDevicesSituation
	switch load[uint8](p, 0) {
	case 0:
		given := load[uint32](p, 4)
		value.Pools = &given
	case 1:
		given := loadString(p, 4)
		value.Error = &given
	}
	return value
}

func loadNodeDevicesPool(p unsafe.Pointer, at uintptr) NodeDevicesPool {
	p = unsafe.Add(p, at)
	return NodeDevicesPool{
		Driver:   load[uint32](p, 0),
		State:    load[NodeDevicesPoolState](p, 4),
		Devices:  load[uint32](p, 8),
		Counters: load[uint32](p, 12),
	}
}

func loadNodeDevicesCounter(p unsafe.Pointer, at uintptr) NodeDevicesCounter {
	p = unsafe.Add(p, at)
	return NodeDevicesCounter{
		Total: loadPodClaimsNanoUnits(p, 0),
		Held:  loadPodClaimsNanoUnits(p, 16),
	}
}

func loadNodeDevicesHeld(p unsafe.Pointer, at uintptr) NodeDevicesHeld {
	p = unsafe.Add(p, at)
	return NodeDevicesHeld{
		Device:   load[uint32](p, 0),
		Capacity: load[uint32](p, 4),
		Amount:   loadPodClaimsNanoUnits(p, 8),
	}
}

func loadNodeDevicesAnswer(p unsafe.Pointer, at uintptr) NodeDevicesAnswer {
	p = unsafe.Add(p, at)
	var value NodeDevicesAnswer
	switch load[uint8](p, 0) {
	case 0:
		value.No = true
	case 1:
		value.Yes = true
	case 2:
		given := loadString(p, 4)
		value.Error = &given
	}
	return value
}

func loadNodeDevicesRange(p unsafe.Pointer, at uintptr) NodeDevicesRange {
	p = unsafe.Add(p, at)
	return NodeDevicesRange{
		Min:  loadOption(p, 0, 8, loadPodClaimsAmount),
		Max:  loadOption(p, 32, 8, loadPodClaimsAmount),
		Step: loadOption(p, 64, 8, loadPodClaimsAmount),
	}
}

func loadNodeDevicesCapacity(p unsafe.Pointer, at uintptr) NodeDevicesCapacity {
	p = unsafe.Add(p, at)
	return NodeDevicesCapacity{
		Name:        loadString(p, 0),
		Value:       loadPodClaimsAmount(p, 8),
		Default:     loadOption(p, 32, 8, loadPodClaimsAmount),
		ValidValues: loadList(p, 64, 24, loadPodClaimsAmount),
		ValidRange:  loadOption(p, 72, 8, loadNodeDevicesRange),
	}
}

func loadNodeDevicesKind(p unsafe.Pointer, at uintptr) NodeDevicesKind {
	p = unsafe.Add(p, at)
	return NodeDevicesKind{
		Matches:             loadList(p, 0, 12, loadNodeDevicesAnswer),
		Reaches:             loadNodeDevicesAnswer(p, 8),
		Taints:              load[uint32](p, 20),
		MultipleAllocations: load[uint8](p, 24) != 0,
		Capacities:          loadList(p, 28, 176, loadNodeDevicesCapacity),
		Consumes:            loadList(p, 36, 24, loadTuple2OfUint32PodClaimsNanoUnits),
	}
}

func loadNodeDevicesTaint(p unsafe.Pointer, at uintptr) NodeDevicesTaint {
	p = unsafe.Add(p, at)
	return NodeDevicesTaint{
		Key:    loadString(p, 0),
		Value:  loadString(p, 8),
		Effect: loadString(p, 16),
	}
}

func loadNodeDevicesDeviceColumns(p unsafe.Pointer, at uintptr) NodeDevicesDeviceColumns {
	p = unsafe.Add(p, at)
	return NodeDevicesDeviceColumns{
		Codes:       loadColumn[uint32](p, 0),
		Situations:  loadList(p, 8, 12, loadNodeDevicesSituation),
		Pools:       loadList(p, 16, 16, loadNodeDevicesPool),
		Counters:    loadList(p, 24, 32, loadNodeDevicesCounter),
		DeviceKinds: loadColumn[uint32](p, 32),
		InUse:       loadColumn[uint8](p, 40),
		Held:        loadList(p, 48, 24, loadNodeDevicesHeld),
		Values:      loadColumn[uint32](p, 56),
		PoolNames:   loadStrings(p, 64),
		Names:       loadStrings(p, 72),
		Kinds:       loadList(p, 80, 44, loadNodeDevicesKind),
		Drivers:     loadStrings(p, 88),
		Taints:      loadList(p, 96, 8, loadListOfNodeDevicesTaint),
	}
}

func loadNodePartiesPartyColumn(p unsafe.Pointer, at uintptr) NodePartiesPartyColumn {
	p = unsafe.Add(p, at)
	return NodePartiesPartyColumn{
		Party:       loadString(p, 0),
		States:      loadColumn[uint8](p, 8),
		Reasons:     loadColumn[uint32](p, 16),
		Texts:       loadStrings(p, 24),
		UnknownFits: load[uint8](p, 32) != 0,
	}
}

func storeClusterPodsPodSelector(p unsafe.Pointer, value ClusterPodsPodSelector) {
	storeList(p, 0, lowerStrings(value.Namespaces), len(value.Namespaces))
	if value.NamespaceRequirements != nil {
		store(p, 8, uint8(1))
		storeList(p, 12, lowerList((*value.NamespaceRequirements), 28, storeSelectorsRequirement), len((*value.NamespaceRequirements)))
	}
	storeList(p, 20, lowerList(value.Requirements, 28, storeSelectorsRequirement), len(value.Requirements))
}

func loadClusterVolumeUseDiskUser(p unsafe.Pointer, at uintptr) ClusterVolumeUseDiskUser {
	p = unsafe.Add(p, at)
	return ClusterVolumeUseDiskUser{
		Row:      load[uint32](p, 0),
		ReadOnly: load[uint8](p, 4) != 0,
		Monitors: loadStrings(p, 8),
	}
}

func loadClusterAttachmentsAttachment(p unsafe.Pointer, at uintptr) ClusterAttachmentsAttachment {
	p = unsafe.Add(p, at)
	return ClusterAttachmentsAttachment{
		Driver: loadString(p, 0),
		Handle: loadString(p, 8),
	}
}

func loadClusterAttachmentsObstacle(p unsafe.Pointer, at uintptr) ClusterAttachmentsObstacle {
	p = unsafe.Add(p, at)
	var value ClusterAttachmentsObstacle
	switch load[uint8](p, 0) {
	case 0:
		value.UnnamedClaim = true
	case 1:
		given := loadString(p, 4)
		value.MissingClaim = &given
	case 2:
		given := loadString(p, 4)
		value.ForeignClaim = &given
	case 3:
		given := Tuple2[string, string]{loadString(p, 4), loadString(p, 12)}
		value.Untranslatable = &given
	}
	return value
}

func loadClusterAttachmentsUncountedPod(p unsafe.Pointer, at uintptr) ClusterAttachmentsUncountedPod {
	p = unsafe.Add(p, at)
	return ClusterAttachmentsUncountedPod{
		Row:       load[uint32](p, 0),
		Namespace: loadString(p, 4),
		Pod:       loadString(p, 12),
		Obstacle:  loadClusterAttachmentsObstacle(p, 20),
	}
}

func loadClusterStorageClaim(p unsafe.Pointer, at uintptr) ClusterStorageClaim {
	p = unsafe.Add(p, at)
	return ClusterStorageClaim{
		Name:            loadString(p, 0),
		Uid:             loadString(p, 8),
		VolumeName:      loadString(p, 16),
		ClassName:       loadOption(p, 24, 4, loadString),
		AccessModes:     loadStrings(p, 36),
		Requested:       loadOption(p, 48, 8, load[int64]),
		VolumeMode:      loadString(p, 64),
		AttributesClass: loadString(p, 72),
		Selector:        loadOption(p, 80, 4, loadSelectorsLabelSelector),
		BindCompleted:   load[uint8](p, 100) != 0,
		SelectedNode:    loadOption(p, 104, 4, loadString),
		Phase:           loadString(p, 116),
		Deleting:        load[uint8](p, 124) != 0,
		ControllerUid:   loadOption(p, 128, 4, loadString),
		HasDataSource:   load[uint8](p, 140) != 0,
		Labels:          loadList(p, 144, 16, loadTuple2OfStringString),
	}
}

func loadClusterStorageVolume(p unsafe.Pointer, at uintptr) ClusterStorageVolume {
	p = unsafe.Add(p, at)
	return ClusterStorageVolume{
		Name:            loadString(p, 0),
		ClassName:       loadString(p, 8),
		AccessModes:     loadStrings(p, 16),
		Capacity:        load[int64](p, 24),
		VolumeMode:      loadString(p, 32),
		AttributesClass: loadString(p, 40),
		Labels:          loadList(p, 48, 16, loadTuple2OfStringString),
		NodeTerms:       loadOption(p, 56, 4, loadListOfPodPlacementTerm),
		ClaimRef:        loadOption(p, 68, 4, loadTuple3OfStringStringString),
		Phase:           loadString(p, 96),
		Deleting:        load[uint8](p, 104) != 0,
		InTreePlugin:    loadString(p, 108),
		Driver:          loadString(p, 116),
		Handle:          loadResult(p, 124, 4, loadString, loadString),
	}
}

func loadClusterStorageClass(p unsafe.Pointer, at uintptr) ClusterStorageClass {
	p = unsafe.Add(p, at)
	return ClusterStorageClass{
		Name:              loadString(p, 0),
		Provisioner:       loadString(p, 8),
		BindingMode:       loadOption(p, 16, 1, load[ClusterStorageBindingMode]),
		AllowedTopologies: loadList(p, 20, 8, loadListOfTuple2OfStringListOfString),
	}
}

func loadClusterStorageCapacity(p unsafe.Pointer, at uintptr) ClusterStorageCapacity {
	p = unsafe.Add(p, at)
	return ClusterStorageCapacity{
		Bytes:              loadOption(p, 0, 8, load[int64]),
		MaximumVolumeBytes: loadOption(p, 16, 8, load[int64]),
		NodeSelector:       loadOption(p, 32, 4, loadSelectorsLabelSelector),
	}
}

func loadClusterStorageExactSize(p unsafe.Pointer, at uintptr) ClusterStorageExactSize {
	p = unsafe.Add(p, at)
	return ClusterStorageExactSize{
		High: load[int64](p, 0),
		Low:  load[uint64](p, 8),
	}
}

func loadClusterStorageExactSizes(p unsafe.Pointer, at uintptr) ClusterStorageExactSizes {
	p = unsafe.Add(p, at)
	return ClusterStorageExactSizes{
		Requested:  loadClusterStorageExactSize(p, 0),
		Capacities: loadList(p, 16, 16, loadClusterStorageExactSize),
	}
}

func loadListOfNodeDevicesTaint(p unsafe.Pointer, at uintptr) []NodeDevicesTaint {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 24, loadNodeDevicesTaint)
}

func loadTuple2OfUint32PodClaimsNanoUnits(p unsafe.Pointer, at uintptr) Tuple2[uint32, PodClaimsNanoUnits] {
	p = unsafe.Add(p, at)
	return Tuple2[uint32, PodClaimsNanoUnits]{load[uint32](p, 0), loadPodClaimsNanoUnits(p, 8)}
}

func loadListOfPodClaimsClaim(p unsafe.Pointer, at uintptr) []PodClaimsClaim {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 20, loadPodClaimsClaim)
}

func loadTuple2OfStringPodClaimsAmount(p unsafe.Pointer, at uintptr) Tuple2[string, PodClaimsAmount] {
	p = unsafe.Add(p, at)
	return Tuple2[string, PodClaimsAmount]{loadString(p, 0), loadPodClaimsAmount(p, 8)}
}

func loadListOfTuple2OfStringListOfString(p unsafe.Pointer, at uintptr) []Tuple2[string, []string] {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 16, loadTuple2OfStringListOfString)
}

func loadTuple2OfStringListOfString(p unsafe.Pointer, at uintptr) Tuple2[string, []string] {
	p = unsafe.Add(p, at)
	return Tuple2[string, []string]{loadString(p, 0), loadStrings(p, 8)}
}

func loadListOfPodPlacementTerm(p unsafe.Pointer, at uintptr) []PodPlacementTerm {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 16, loadPodPlacementTerm)
}

func loadListOfClusterAttachmentsAttachment(p unsafe.Pointer, at uintptr) []ClusterAttachmentsAttachment {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 16, loadClusterAttachmentsAttachment)
}

func loadTuple3OfStringStringString(p unsafe.Pointer, at uintptr) Tuple3[string, string, string] {
	p = unsafe.Add(p, at)
	return Tuple3[string, string, string]{loadString(p, 0), loadString(p, 8), loadString(p, 16)}
}

func loadTuple2OfInt32PodAffinityTerm(p unsafe.Pointer, at uintptr) Tuple2[int32, PodAffinityTerm] {
	p = unsafe.Add(p, at)
	return Tuple2[int32, PodAffinityTerm]{load[int32](p, 0), loadPodAffinityTerm(p, 4)}
}

func loadListOfNodeTaintsTaint(p unsafe.Pointer, at uintptr) []NodeTaintsTaint {
	p = unsafe.Add(p, at)
	return loadList(p, 0, 20, loadNodeTaintsTaint)
}

func loadTuple2OfStringString(p unsafe.Pointer, at uintptr) Tuple2[string, string] {
	p = unsafe.Add(p, at)
	return Tuple2[string, string]{loadString(p, 0), loadString(p, 8)}
}

func loadOptionOfString(p unsafe.Pointer, at uintptr) *string {
	p = unsafe.Add(p, at)
	return loadOption(p, 0, 4, loadString)
}
