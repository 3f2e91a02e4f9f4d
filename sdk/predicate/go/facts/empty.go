// Code generated from the contract by `make contract`. DO NOT EDIT.

//go:build !wasip1

package facts

import (
	"math"
	"slices"
)

// Empty gives every function of the contract that gives facts, for nodes and a pod that have nothing of what it is about. Those that
// make sets of rows are not among them.
func Empty(rows int) Host {
	var host Host
	host.PodLabelsNamespace = func() string {
		return ""
	}
	host.PodLabelsLabel = func(key string) (string, bool) {
		return "", false
	}
	host.PodAnnotationsAnnotation = func(key string) (string, bool) {
		return "", false
	}
	host.PodPlacementNodeName = func() (string, bool) {
		return "", false
	}
	host.PodPlacementNodeSelector = func() []Tuple2[string, string] {
		return nil
	}
	host.PodPlacementRequiredTerms = func() ([]PodPlacementTerm, bool) {
		return nil, false
	}
	host.PodPlacementPreferredTerms = func() ([]PodPlacementPreferredTerm, bool) {
		return nil, false
	}
	host.PodTolerationsTolerations = func() []PodTolerationsToleration {
		return nil
	}
	host.PodResourcesRequests = func() []PodResourcesRequest {
		return nil
	}
	host.PodNonZeroRequestsRequests = func() []PodResourcesRequest {
		return nil
	}
	host.PodImagesContainers = func() []string {
		return nil
	}
	host.PodImagesVolumes = func() []string {
		return nil
	}
	host.PodSpreadConstraints = func() []PodSpreadConstraint {
		return nil
	}
	host.PodSpreadDefaultSelector = func() (SelectorsLabelSelector, bool) {
		return SelectorsLabelSelector{}, false
	}
	host.PodAffinityAffinity = func() []PodAffinityTerm {
		return nil
	}
	host.PodAffinityAntiAffinity = func() []PodAffinityTerm {
		return nil
	}
	host.PodAffinityInvalidPreferred = func() Tuple2[[]PodAffinityTerm, []PodAffinityTerm] {
		return Tuple2[[]PodAffinityTerm, []PodAffinityTerm]{}
	}
	host.PodPreferredAffinityAffinity = func() []Tuple2[int32, PodAffinityTerm] {
		return nil
	}
	host.PodPreferredAffinityAntiAffinity = func() []Tuple2[int32, PodAffinityTerm] {
		return nil
	}
	host.PodFeaturesRequired = func() []string {
		return nil
	}
	host.PodVolumesVolumes = func() []PodVolumesVolume {
		return nil
	}
	host.PodVolumesOwner = func() Tuple3[string, string, string] {
		return Tuple3[string, string, string]{}
	}
	host.NamespaceLabelsLabel = func(key string) (string, bool) {
		return "", false
	}
	host.PodSpecPriority = func() int32 {
		return 0
	}
	host.PodSpecPriorityClass = func() (string, bool) {
		return "", false
	}
	host.PodSpecServiceAccount = func() (string, bool) {
		return "", false
	}
	host.PodSpecRuntimeClass = func() (string, bool) {
		return "", false
	}
	host.PodSpecHostNetwork = func() bool {
		return false
	}
	host.PodSpecImages = func() []string {
		return nil
	}
	host.PodSpecSchedulerName = func() string {
		return ""
	}
	host.PodOwnerController = func() (PodOwnerOwner, bool) {
		return PodOwnerOwner{}, false
	}
	host.PodOwnerControllerUid = func() (string, bool) {
		return "", false
	}
	host.PodClaimsClaims = func() Result[[]PodClaimsClaim, PodClaimsObstacle] {
		return Result[[]PodClaimsClaim, PodClaimsObstacle]{}
	}
	host.PodClaimsExtended = func() (PodClaimsExtendedResources, bool) {
		return PodClaimsExtendedResources{}, false
	}
	host.PodClaimsClaimName = func(claim uint32) string {
		return ""
	}
	host.PodClaimsChosen = func(claim uint32) []uint32 {
		return nil
	}
	host.PodClaimsDeriving = func(claim uint32) []uint32 {
		return nil
	}
	host.NodeIdentityNames = func() []string {
		return nil
	}
	host.NodeIdentityRow = func(name string) (uint32, bool) {
		return 0, false
	}
	host.NodeLabelsColumn = func(key string) []uint32 {
		return make([]uint32, rows)
	}
	host.NodeLabelsCode = func(key string, text string) (uint32, bool) {
		return 0, false
	}
	host.NodeLabelsDictionary = func(key string) []string {
		return nil
	}
	host.NodeLabelsIntegers = func(key string) []int64 {
		return nil
	}
	host.NodeAnnotationsColumn = func(key string) []uint32 {
		return make([]uint32, rows)
	}
	host.NodeAnnotationsCode = func(key string, text string) (uint32, bool) {
		return 0, false
	}
	host.NodeAnnotationsDictionary = func(key string) []string {
		return nil
	}
	host.NodeAnnotationsIntegers = func(key string) []int64 {
		return nil
	}
	host.NodeTaintsUnschedulable = func() []uint8 {
		return make([]uint8, rows)
	}
	host.NodeTaintsSets = func() [][]NodeTaintsTaint {
		return [][]NodeTaintsTaint{nil}
	}
	host.NodeTaintsColumn = func() []uint32 {
		return make([]uint32, rows)
	}
	host.NodeResourcesAllocatable = func(resource string) []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesRequested = func(resource string) []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesForeign = func(resource string) []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesFree = func(resource string) []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesPods = func() []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesForeignPods = func() []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesPodLimit = func() []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesPodRoom = func() []int64 {
		return make([]int64, rows)
	}
	host.NodeResourcesDeviceClassServes = func(resource string) bool {
		return false
	}
	host.NodeSumsColumn = func(name string) []int64 {
		return make([]int64, rows)
	}
	host.NodeNonZeroRequestsRequested = func(resource string) []int64 {
		return make([]int64, rows)
	}
	host.NodePortsConflicts = func() ([]uint8, bool) {
		return nil, false
	}
	host.NodeFeaturesSets = func() [][]string {
		return [][]string{nil}
	}
	host.NodeFeaturesColumn = func() []uint32 {
		return make([]uint32, rows)
	}
	host.NodeConditionsColumn = func(kind string) []uint8 {
		return make([]uint8, rows)
	}
	host.NodeInfoColumn = func(field NodeInfoField) []uint32 {
		return make([]uint32, rows)
	}
	host.NodeInfoCode = func(field NodeInfoField, text string) (uint32, bool) {
		return 0, false
	}
	host.NodeInfoDictionary = func(field NodeInfoField) []string {
		return nil
	}
	host.NodeImagesPresent = func(image string) []uint8 {
		return make([]uint8, rows)
	}
	host.NodeAgeCreated = func() []int64 {
		return make([]int64, rows)
	}
	host.NodeDevicesDevices = func(query NodeDevicesQuery) NodeDevicesDeviceColumns {
		return NodeDevicesDeviceColumns{Codes: make([]uint32, rows), Situations: []NodeDevicesSituation{{Pools: new(uint32)}}}
	}
	host.NodePartiesUnsuitable = func() []NodePartiesPartyColumn {
		return nil
	}
	host.ClusterPodsMatching = func(selectors []ClusterPodsPodSelector, terminating bool) []uint32 {
		return make([]uint32, rows)
	}
	host.ClusterPodsMatchesThisPod = func(selectors []ClusterPodsPodSelector) bool {
		return false
	}
	host.ClusterPodsRequested = func(selectors []ClusterPodsPodSelector, resource string, terminating bool) []int64 {
		return make([]int64, rows)
	}
	host.ClusterControllersSameController = func(terminating bool) ([]uint32, bool) {
		return nil, false
	}
	host.ClusterCandidatesFeasible = func() []uint8 {
		return make([]uint8, rows)
	}
	host.ClusterAffinityTopologyKeys = func() []string {
		return nil
	}
	host.ClusterAffinityAntiAffinityTerms = func(topologyKey string) []uint32 {
		return make([]uint32, rows)
	}
	host.ClusterPreferencesTopologyKeys = func() []string {
		return nil
	}
	host.ClusterPreferencesPreferredTerms = func(topologyKey string) []uint32 {
		return make([]uint32, rows)
	}
	host.ClusterPreferencesWeights = func(topologyKey string) []int64 {
		return make([]int64, rows)
	}
	host.ClusterPreferencesRequiredTerms = func(topologyKey string) []uint32 {
		return make([]uint32, rows)
	}
	host.ClusterVolumeUseDiskUsers = func(kind PodVolumesDiskKind, id string) []ClusterVolumeUseDiskUser {
		return nil
	}
	host.ClusterVolumeUseClaimUsers = func(claim string) uint32 {
		return 0
	}
	host.ClusterAttachmentsWanted = func(registered bool) Result[[]ClusterAttachmentsAttachment, ClusterAttachmentsObstacle] {
		return Result[[]ClusterAttachmentsAttachment, ClusterAttachmentsObstacle]{}
	}
	host.ClusterAttachmentsRegistered = func() []uint8 {
		return make([]uint8, rows)
	}
	host.ClusterAttachmentsLimited = func() []uint8 {
		return make([]uint8, rows)
	}
	host.ClusterAttachmentsDriverMissing = func(driver string) []uint8 {
		return make([]uint8, rows)
	}
	host.ClusterAttachmentsLimit = func(driver string) []int64 {
		return slices.Repeat([]int64{math.MaxInt64}, rows)
	}
	host.ClusterAttachmentsUsed = func(driver string) []int64 {
		return make([]int64, rows)
	}
	host.ClusterAttachmentsRowsWith = func(volume ClusterAttachmentsAttachment) []uint32 {
		return nil
	}
	host.ClusterAttachmentsUncounted = func() []ClusterAttachmentsUncountedPod {
		return nil
	}
	host.ClusterStorageClaimNamed = func(name string) (ClusterStorageClaim, bool) {
		return ClusterStorageClaim{}, false
	}
	host.ClusterStorageVolumeNamed = func(name string) (ClusterStorageVolume, bool) {
		return ClusterStorageVolume{}, false
	}
	host.ClusterStorageVolumesFor = func(claim string) []ClusterStorageVolume {
		return nil
	}
	host.ClusterStorageExactSizesFor = func(claim string) (ClusterStorageExactSizes, bool) {
		return ClusterStorageExactSizes{}, false
	}
	host.ClusterStorageClassNamed = func(name string) (ClusterStorageClass, bool) {
		return ClusterStorageClass{}, false
	}
	host.ClusterStorageDefaultClass = func() (string, bool) {
		return "", false
	}
	host.ClusterStorageDriverReportsCapacity = func(driver string) bool {
		return false
	}
	host.ClusterStorageCapacities = func(className string) []ClusterStorageCapacity {
		return nil
	}
	host.ClusterStorageMigrated = func(plugin string) []uint8 {
		return make([]uint8, rows)
	}
	host.ClusterImagesSize = func(image string) int64 {
		return 0
	}
	host.TimePassed = func(at int64) bool {
		return false
	}
	host.ConfigMapsEntry = func(configMap string, key string) (string, bool) {
		return "", false
	}
	return host
}
