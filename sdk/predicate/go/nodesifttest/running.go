package nodesifttest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// running are the pods on the nodes of a call, by row. What a node says is requested on it is that of a first pod without labels, as in
// `cases.yaml`.
type running struct {
	cluster    *Cluster
	nodes      []Node
	rows       [][]Pod
	namespaces map[string]Texts
}

func (c *Cluster) running(nodes []Node) running {
	made := running{cluster: c, nodes: nodes, namespaces: map[string]Texts{}}
	for name, labels := range c.Namespaces {
		made.namespaces[name] = labels
	}
	for _, pod := range append(slices.Clone(c.Pods), c.Pod) {
		if pod.NamespaceLabels != nil {
			made.namespaces[pod.namespace()] = pod.NamespaceLabels
		}
	}
	for _, node := range nodes {
		var row []Pod
		for index := range node.counted() {
			pod := Pod{Name: fmt.Sprintf("on-%s-%d", node.Name, index), NodeName: node.Name}
			if index == 0 {
				pod.Requests = node.Requested
			}
			row = append(row, pod)
		}
		for _, pod := range c.Pods {
			if pod.NodeName == node.Name {
				row = append(row, pod)
			}
		}
		made.rows = append(made.rows, row)
	}
	return made
}

// counted is the number of pods on the node, besides those of the cluster that name it.
func (n Node) counted() int64 {
	if n.Pods == 0 && len(n.Requested) > 0 {
		return 1
	}
	return n.Pods
}

func (p Pod) namespace() string { return cmp.Or(p.Namespace, "default") }

// controllerUID is the UID of the controller: without one in the pod, one for each namespace, kind and name.
func (p Pod) controllerUID() (string, bool) {
	if p.Controller == nil {
		return "", false
	}
	return cmp.Or(p.ControllerUID, p.namespace()+"/"+p.Controller.Kind+"/"+p.Controller.Name), true
}

// sum adds up a value of the pods on each node.
func sum[T uint32 | int64](r running, value func(Pod) T) []T {
	sums := make([]T, len(r.rows))
	for row, pods := range r.rows {
		for _, pod := range pods {
			sums[row] += value(pod)
		}
	}
	return sums
}

// amounts sums what the pods request for which counts is true.
func (r running) amounts(resource string, counts func(Pod) bool) []int64 {
	return sum(r, func(p Pod) int64 {
		if counts(p) {
			return p.Requests[resource]
		}
		return 0
	})
}

// number counts the pods for which counts is true.
func number[T uint32 | int64](r running, counts func(Pod) bool) []T {
	return sum(r, func(p Pod) T {
		if counts(p) {
			return 1
		}
		return 0
	})
}

// add adds the functions about pods on nodes.
func (r running) add(host *facts.Host, sets *rowSets) {
	pod, own := r.cluster.Pod, r.cluster.SchedulerNames
	if own == nil {
		own = []string{"default-scheduler"}
	}
	every := func(Pod) bool { return true }
	isForeign := func(p Pod) bool { return !slices.Contains(own, cmp.Or(p.SchedulerName, "default-scheduler")) }
	limits := func() []int64 { return each(r.nodes, func(n Node) int64 { return cmp.Or(n.PodLimit, 110) }) }
	allocatable := func(resource string) []int64 {
		return each(r.nodes, func(n Node) int64 { return n.Allocatable[resource] })
	}
	free := func(resource string) []int64 { return minus(allocatable(resource), r.amounts(resource, every)) }
	chosen := func(selectors []facts.ClusterPodsPodSelector, terminating bool) func(Pod) bool {
		return func(p Pod) bool { return (terminating || !p.Terminating) && r.matches(p, selectors) }
	}

	host.NamespaceLabelsLabel = of(r.namespaces[pod.namespace()])
	host.NodeResourcesAllocatable = allocatable
	host.NodeResourcesRequested = func(resource string) []int64 { return r.amounts(resource, every) }
	host.NodeResourcesForeign = func(resource string) []int64 { return r.amounts(resource, isForeign) }
	host.NodeResourcesFree = free
	host.NodeResourcesPods = func() []int64 { return number[int64](r, every) }
	host.NodeResourcesForeignPods = func() []int64 { return number[int64](r, isForeign) }
	host.NodeResourcesPodLimit = limits
	host.NodeResourcesPodRoom = func() []int64 { return minus(limits(), number[int64](r, every)) }
	host.NodeResourcesDeviceClassServes = func(resource string) bool {
		return slices.Contains(r.cluster.DeviceClassResources, resource)
	}
	host.NodeResourcesRowsWithFree = func(resource string, amount int64) uint32 {
		left := free(resource)
		return sets.make(func(row int) bool { return left[row] >= amount })
	}
	host.NodeNonZeroRequestsRequested = func(resource string) []int64 {
		if resource != "cpu" && resource != "memory" {
			return make([]int64, len(r.rows))
		}
		return sum[int64](r, func(p Pod) int64 { return p.nonZeroRequests()[resource] })
	}
	host.NodePortsConflicts = func() ([]uint8, bool) {
		column := make([]uint8, len(r.rows))
		for row, pods := range r.rows {
			column[row] = flag(slices.ContainsFunc(pods, func(p Pod) bool {
				return slices.ContainsFunc(p.HostPorts, func(port int) bool { return slices.Contains(pod.HostPorts, port) })
			}))
		}
		return column, len(pod.HostPorts) > 0
	}
	host.ClusterPodsMatching = func(selectors []facts.ClusterPodsPodSelector, terminating bool) []uint32 {
		return number[uint32](r, chosen(selectors, terminating))
	}
	host.ClusterPodsMatchesThisPod = func(selectors []facts.ClusterPodsPodSelector) bool { return r.matches(pod, selectors) }
	host.ClusterPodsRequested = func(selectors []facts.ClusterPodsPodSelector, resource string, terminating bool) []int64 {
		return r.amounts(resource, chosen(selectors, terminating))
	}
	host.ClusterControllersSameController = func(terminating bool) ([]uint32, bool) {
		uid, has := pod.controllerUID()
		return number[uint32](r, func(p Pod) bool {
			other, _ := p.controllerUID()
			return has && (terminating || !p.Terminating) && p.namespace() == pod.namespace() && other == uid
		}), has
	}
	r.addTerms(host)
}

func minus(amounts, taken []int64) []int64 {
	left := slices.Clone(amounts)
	for row := range left {
		left[row] -= taken[row]
	}
	return left
}

// matches says whether a pod matches every selector.
func (r running) matches(pod Pod, selectors []facts.ClusterPodsPodSelector) bool {
	return !slices.ContainsFunc(selectors, func(selector facts.ClusterPodsPodSelector) bool {
		labels, hasObject := r.namespaces[pod.namespace()]
		isFurther := false
		if further := selector.NamespaceRequirements; further != nil {
			isFurther = len(*further) == 0 || hasObject && meet(labels, *further)
		}
		isChosen := isFurther || slices.Contains(selector.Namespaces, pod.namespace())
		return !(isChosen && meet(pod.Labels, selector.Requirements))
	})
}

// meet says whether labels meet all requirements.
func meet(labels Texts, requirements []facts.SelectorsRequirement) bool {
	return !slices.ContainsFunc(requirements, func(requirement facts.SelectorsRequirement) bool {
		value, has := labels[requirement.Key]
		switch requirement.Operator {
		case facts.SelectorsOperatorIn:
			return !has || !slices.Contains(requirement.Values, value)
		case facts.SelectorsOperatorNotIn:
			return has && slices.Contains(requirement.Values, value)
		case facts.SelectorsOperatorExists:
			return !has
		case facts.SelectorsOperatorDoesNotExist:
			return has
		}
		panic("a selector has an unknown operator: the host ends the call there")
	})
}
