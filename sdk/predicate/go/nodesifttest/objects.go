package nodesifttest

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Texts are labels or annotations by key.
type Texts = map[string]string

// Amounts are amounts by resource: `cpu` in thousandths of a core, `memory` in bytes, others as a count.
type Amounts = map[string]int64

// Pod is the pod that is filtered, or one on a node. What is left out is empty.
type Pod struct {
	// Namespace is `default` where it is empty.
	Namespace   string
	Labels      Texts
	Annotations Texts
	// NamespaceLabels are those of its Namespace; where they are nil there is no such object, unless the cluster has it.
	NamespaceLabels Texts
	NodeName        string
	NodeSelector    Texts
	Tolerations     []facts.PodTolerationsToleration
	Requests        Amounts
	Priority        int32
	PriorityClass   string
	ServiceAccount  string
	RuntimeClass    string
	HostNetwork     bool
	// Images are those of its containers, one each; the first container has the requests. Without images there is one container
	// with the image `image`, as in `cases.yaml`.
	Images []string
	// ContainerImages and NonZeroRequests take the place of what Images and Requests say of containers, where they are not nil: images in the
	// order of containers, and requests in which every container counts that names no `cpu` or no `memory`.
	ContainerImages []string
	NonZeroRequests Amounts
	// SchedulerName is `default-scheduler` where it is empty.
	SchedulerName string
	Controller    *facts.PodOwnerOwner
	// ControllerUID is, where it is empty, one for each namespace, kind and name.
	ControllerUID string
	HostPorts     []int
	Name          string
	// Terminating says that it has a deletion timestamp.
	Terminating bool
	// Affinity and AntiAffinity are the required terms.
	Affinity, AntiAffinity []facts.PodAffinityTerm
	// PreferredAffinity and PreferredAntiAffinity are the preferred terms with their weights, those of the anti-affinity positive too.
	PreferredAffinity, PreferredAntiAffinity []WeightedTerm
	// PreferredNodes are the terms of its preferred node affinity; nil where it has none.
	PreferredNodes []facts.PodPlacementPreferredTerm
}

// WeightedTerm is a preferred term of an affinity or anti-affinity: A is the weight, and B the term.
type WeightedTerm = facts.Tuple2[int32, facts.PodAffinityTerm]

// Node is a node. What is left out is empty.
type Node struct {
	Name          string
	Labels        Texts
	Annotations   Texts
	Unschedulable bool
	Taints        []facts.NodeTaintsTaint
	Allocatable   Amounts
	Requested     Amounts
	// Pods is the number of pods on it, besides those of the cluster that name it; where it is 0 and something is requested, 1.
	Pods int64
	// PodLimit is 110 where it is 0.
	PodLimit int64
	// Conditions have the status by the type: `True`, `False`, or `Unknown` as any other text.
	Conditions map[string]string
	Info       map[facts.NodeInfoField]string
	// Images are the names of the images that are there.
	Images []string
	// ImageSizes are sizes of images in bytes, by name; one that is only in Images has the size 0.
	ImageSizes Amounts
	// Infeasible says that the pod does not fit on it by other predicates of the policy, which a scorer sees in `cluster-candidates`.
	Infeasible bool
	// Sums are what accounting components say of it and of the pods on it, by the name of the sum.
	Sums Amounts
	// contract: fields, made by `make contract`
	// Created is `created` of node-age, in seconds since 1970; 0 is absent.
	Created int64
	// contract: end
}

func of(texts Texts) func(string) (string, bool) {
	return func(key string) (string, bool) {
		value, isThere := texts[key]
		return value, isThere
	}
}

func given(text string) func() (string, bool) {
	return func() (string, bool) { return text, text != "" }
}

// add adds the functions about this pod.
func (p Pod) add(host *facts.Host) {
	host.PodLabelsNamespace = p.namespace
	host.PodLabelsLabel = of(p.Labels)
	host.PodAnnotationsAnnotation = of(p.Annotations)
	host.PodPlacementNodeName = given(p.NodeName)
	host.PodPlacementNodeSelector = func() []facts.Tuple2[string, string] {
		var entries []facts.Tuple2[string, string]
		for _, key := range slices.Sorted(maps.Keys(p.NodeSelector)) {
			entries = append(entries, facts.Tuple2[string, string]{A: key, B: p.NodeSelector[key]})
		}
		return entries
	}
	host.PodTolerationsTolerations = func() []facts.PodTolerationsToleration { return p.Tolerations }
	host.PodResourcesRequests = func() []facts.PodResourcesRequest {
		var requests []facts.PodResourcesRequest
		for _, resource := range slices.Sorted(maps.Keys(p.Requests)) {
			requests = append(requests, facts.PodResourcesRequest{Resource: resource, Amount: p.Requests[resource]})
		}
		return requests
	}
	host.PodVolumesOwner = func() facts.Tuple3[string, string, string] {
		return facts.Tuple3[string, string, string]{A: p.namespace(), B: cmp.Or(p.Name, "pod")}
	}
	host.PodSpecPriority = func() int32 { return p.Priority }
	host.PodSpecPriorityClass = given(p.PriorityClass)
	host.PodSpecServiceAccount = given(p.ServiceAccount)
	host.PodSpecRuntimeClass = given(p.RuntimeClass)
	host.PodSpecHostNetwork = func() bool { return p.HostNetwork }
	host.PodSpecImages = func() []string {
		named := slices.DeleteFunc(slices.Clone(p.images()), func(image string) bool { return image == "" })
		return slices.Compact(slices.Sorted(slices.Values(named)))
	}
	host.PodSpecSchedulerName = func() string { return cmp.Or(p.SchedulerName, "default-scheduler") }
	host.PodOwnerController = func() (facts.PodOwnerOwner, bool) {
		if p.Controller == nil {
			return facts.PodOwnerOwner{}, false
		}
		return *p.Controller, true
	}
	host.PodOwnerControllerUid = p.controllerUID
	host.PodPlacementPreferredTerms = func() ([]facts.PodPlacementPreferredTerm, bool) { return p.PreferredNodes, p.PreferredNodes != nil }
	host.PodAffinityAffinity = func() []facts.PodAffinityTerm { return p.Affinity }
	host.PodAffinityAntiAffinity = func() []facts.PodAffinityTerm { return p.AntiAffinity }
	host.PodPreferredAffinityAffinity = func() []WeightedTerm { return p.PreferredAffinity }
	host.PodPreferredAffinityAntiAffinity = func() []WeightedTerm { return p.PreferredAntiAffinity }
	host.PodImagesContainers = func() []string {
		images := slices.Clone(p.images())
		if p.ContainerImages != nil {
			images = slices.Clone(p.ContainerImages)
		}
		for index, image := range images {
			// As kube-scheduler's ImageLocality compares them.
			if strings.LastIndexByte(image, ':') <= strings.LastIndexByte(image, '/') {
				images[index] = image + ":latest"
			}
		}
		return images
	}
	host.PodNonZeroRequestsRequests = func() []facts.PodResourcesRequest {
		amounts := p.nonZeroRequests()
		var requests []facts.PodResourcesRequest
		for _, resource := range slices.Sorted(maps.Keys(amounts)) {
			requests = append(requests, facts.PodResourcesRequest{Resource: resource, Amount: amounts[resource]})
		}
		return requests
	}
}

// What a container counts for that names no `cpu`, in thousandths of a core, or no `memory`, in bytes: as in kube-scheduler.
const (
	unnamedCPU    = 100
	unnamedMemory = 200 << 20
)

// images gives the images of its containers, one each.
func (p Pod) images() []string {
	if len(p.Images) == 0 {
		return []string{"image"}
	}
	return p.Images
}

// nonZeroRequests are the requests, in which every container counts that names no `cpu` or no `memory`.
func (p Pod) nonZeroRequests() Amounts {
	if p.NonZeroRequests != nil {
		return p.NonZeroRequests
	}
	amounts := Amounts{}
	maps.Copy(amounts, p.Requests)
	for resource, amount := range map[string]int64{"cpu": unnamedCPU, "memory": unnamedMemory} {
		containers := int64(len(p.images()))
		if _, isNamed := amounts[resource]; isNamed {
			containers--
		}
		amounts[resource] += containers * amount
	}
	return amounts
}

// tolerates says whether the pod tolerates a taint.
func (p Pod) tolerates(taint facts.NodeTaintsTaint) bool {
	return slices.ContainsFunc(p.Tolerations, func(t facts.PodTolerationsToleration) bool {
		if t.Effect != nil && *t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			return false
		}
		switch t.Operator {
		case facts.PodTolerationsOperatorExists:
			return true
		case facts.PodTolerationsOperatorEqual:
			return t.Key != "" && t.Value == taint.Value
		}
		return false
	})
}

// each gives an entry per node.
func each[T any](nodes []Node, value func(Node) T) []T {
	column := make([]T, len(nodes))
	for row, node := range nodes {
		column[row] = value(node)
	}
	return column
}

func flag(is bool) uint8 {
	if is {
		return 1
	}
	return 0
}

// dictionary is a column of texts: codes in the order of the texts, and 0 for an absent one.
type dictionary struct {
	codes []uint32
	texts []string
}

func encode(nodes []Node, text func(Node) (string, bool)) dictionary {
	made := dictionary{codes: make([]uint32, len(nodes)), texts: []string{""}}
	for row, node := range nodes {
		value, isThere := text(node)
		if !isThere {
			continue
		}
		code := slices.Index(made.texts[1:], value) + 1
		if code == 0 {
			code = len(made.texts)
			made.texts = append(made.texts, value)
		}
		made.codes[row] = uint32(code)
	}
	return made
}

func (d dictionary) code(text string) (uint32, bool) {
	code := slices.Index(d.texts[1:], text) + 1
	return uint32(code), code > 0
}

func (d dictionary) integers() []int64 {
	integers := make([]int64, len(d.texts))
	for code, text := range d.texts {
		parsed, err := strconv.ParseInt(text, 10, 64)
		if err != nil || code == 0 {
			parsed = math.MinInt64
		}
		integers[code] = parsed
	}
	return integers
}

// addNodes adds the functions about nodes.
func addNodes(host *facts.Host, pod Pod, nodes []Node, sets *rowSets) {
	sets.add(host)
	host.NodeIdentityNames = func() []string { return each(nodes, func(n Node) string { return n.Name }) }
	host.NodeIdentityRow = func(name string) (uint32, bool) {
		row := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
		return uint32(max(row, 0)), row >= 0
	}

	labels := func(key string) dictionary {
		return encode(nodes, func(n Node) (string, bool) { return of(n.Labels)(key) })
	}
	host.NodeLabelsColumn = func(key string) []uint32 { return labels(key).codes }
	host.NodeLabelsCode = func(key, text string) (uint32, bool) { return labels(key).code(text) }
	host.NodeLabelsDictionary = func(key string) []string { return labels(key).texts }
	host.NodeLabelsIntegers = func(key string) []int64 { return labels(key).integers() }
	host.NodeLabelsRowsIn = func(key string, values []string) uint32 {
		return sets.make(func(row int) bool { return isIn(nodes[row].Labels, key, values) })
	}
	host.NodeLabelsRowsWith = func(key string) uint32 {
		return sets.make(func(row int) bool { return labels(key).codes[row] != 0 })
	}

	annotations := func(key string) dictionary {
		return encode(nodes, func(n Node) (string, bool) { return of(n.Annotations)(key) })
	}
	host.NodeAnnotationsColumn = func(key string) []uint32 { return annotations(key).codes }
	host.NodeAnnotationsCode = func(key, text string) (uint32, bool) { return annotations(key).code(text) }
	host.NodeAnnotationsDictionary = func(key string) []string { return annotations(key).texts }
	host.NodeAnnotationsIntegers = func(key string) []int64 { return annotations(key).integers() }
	host.NodeAnnotationsRowsIn = func(key string, values []string) uint32 {
		return sets.make(func(row int) bool { return isIn(nodes[row].Annotations, key, values) })
	}
	host.NodeAnnotationsRowsWith = func(key string) uint32 {
		return sets.make(func(row int) bool { return annotations(key).codes[row] != 0 })
	}

	host.NodeTaintsUnschedulable = func() []uint8 { return each(nodes, func(n Node) uint8 { return flag(n.Unschedulable) }) }
	host.NodeTaintsSets = func() [][]facts.NodeTaintsTaint {
		return append([][]facts.NodeTaintsTaint{nil}, each(nodes, func(n Node) []facts.NodeTaintsTaint { return n.Taints })...)
	}
	host.NodeTaintsColumn = func() []uint32 {
		column := make([]uint32, len(nodes))
		for row := range column {
			column[row] = uint32(row + 1)
		}
		return column
	}
	host.NodeTaintsRowsUnschedulable = func() uint32 { return sets.make(func(row int) bool { return nodes[row].Unschedulable }) }
	host.NodeTaintsRowsUntolerated = func() uint32 {
		return sets.make(func(row int) bool {
			return slices.ContainsFunc(nodes[row].Taints, func(taint facts.NodeTaintsTaint) bool {
				repels := taint.Effect == facts.PodTolerationsEffectNoSchedule || taint.Effect == facts.PodTolerationsEffectNoExecute
				return repels && !pod.tolerates(taint)
			})
		})
	}

	host.NodeSumsColumn = func(name string) []int64 { return each(nodes, func(n Node) int64 { return n.Sums[name] }) }
	host.NodeConditionsColumn = func(kind string) []uint8 {
		return each(nodes, func(n Node) uint8 { return condition(n.Conditions[kind]) })
	}
	info := func(field facts.NodeInfoField) dictionary {
		return encode(nodes, func(n Node) (string, bool) { return n.Info[field], n.Info[field] != "" })
	}
	host.NodeInfoColumn = func(field facts.NodeInfoField) []uint32 { return info(field).codes }
	host.NodeInfoCode = func(field facts.NodeInfoField, text string) (uint32, bool) { return info(field).code(text) }
	host.NodeInfoDictionary = func(field facts.NodeInfoField) []string { return info(field).texts }
	host.NodeImagesPresent = func(image string) []uint8 {
		return each(nodes, func(n Node) uint8 {
			_, isThere := n.imageSize(image)
			return flag(isThere)
		})
	}
	host.ClusterImagesSize = func(image string) int64 {
		for _, node := range nodes {
			if size, isThere := node.imageSize(image); isThere {
				return size
			}
		}
		return 0
	}
	// contract: functions, made by `make contract`
	host.NodeAgeCreated = func() []int64 { return each(nodes, func(n Node) int64 { return moment(n.Created) }) }
	// contract: end
}

// imageSize gives the size of an image, and whether it is there.
func (n Node) imageSize(image string) (int64, bool) {
	size, isThere := n.ImageSizes[image]
	return size, isThere || slices.Contains(n.Images, image)
}

// moment gives a moment of the contract; 0 is none.
func moment(seconds int64) int64 {
	if seconds == 0 {
		return math.MinInt64
	}
	return seconds
}

// condition gives the number that a status has in the contract.
func condition(status string) uint8 {
	switch status {
	case "":
		return 0
	case "True":
		return 1
	case "False":
		return 2
	}
	return 3
}

func isIn(texts Texts, key string, values []string) bool {
	value, isThere := texts[key]
	return isThere && slices.Contains(values, value)
}
