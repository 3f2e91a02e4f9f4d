package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// Pod is the pod that is being filtered. Labels and annotations are read from the host once a call.
type Pod struct {
	labels, annotations, namespaceLabels memo
	requests                             map[string]int64
}

// memo remembers what the host has said about keys. There are few.
type memo []remembered

type remembered struct {
	key, value string
	isThere    bool
}

func (m *memo) get(key string, read func(string) (string, bool)) (string, bool) {
	for index := range *m {
		if (*m)[index].key == key {
			return (*m)[index].value, (*m)[index].isThere
		}
	}
	value, isThere := read(key)
	*m = append(*m, remembered{key, value, isThere})
	return value, isThere
}

// Namespace gives `metadata.namespace`. Reads pod-labels.
func (p *Pod) Namespace() string { return facts.PodLabelsNamespace() }

// Label gives the value of a label. Reads pod-labels.
func (p *Pod) Label(key string) (string, bool) { return p.labels.get(key, facts.PodLabelsLabel) }

// Annotation gives the value of an annotation that the policy lists. Reads pod-annotations.
func (p *Pod) Annotation(key string) (string, bool) {
	return p.annotations.get(key, facts.PodAnnotationsAnnotation)
}

// NodeName gives `spec.nodeName`. Reads pod-placement.
func (p *Pod) NodeName() (string, bool) { return facts.PodPlacementNodeName() }

// NodeSelector gives `spec.nodeSelector`. Reads pod-placement.
func (p *Pod) NodeSelector() map[string]string {
	entries := facts.PodPlacementNodeSelector()
	selector := make(map[string]string, len(entries))
	for _, entry := range entries {
		selector[entry.A] = entry.B
	}
	return selector
}

// Tolerations gives `spec.tolerations`. Reads pod-tolerations.
func (p *Pod) Tolerations() []facts.PodTolerationsToleration {
	return facts.PodTolerationsTolerations()
}

// Request gives the requested amount of a resource: `cpu` in thousandths of a core, `memory` in bytes, others as a count. It is 0 where
// the pod requests none. Reads pod-resources.
func (p *Pod) Request(resource string) int64 { return p.Requests()[resource] }

// Requests gives the requested amounts by resource. Reads pod-resources.
func (p *Pod) Requests() map[string]int64 {
	if p.requests == nil {
		p.requests = map[string]int64{}
		for _, request := range facts.PodResourcesRequests() {
			p.requests[request.Resource] = request.Amount
		}
	}
	return p.requests
}

// NamespaceLabel gives the value of a label of the pod's Namespace. Reads namespace-labels.
func (p *Pod) NamespaceLabel(key string) (string, bool) {
	return p.namespaceLabels.get(key, facts.NamespaceLabelsLabel)
}

// Priority gives `spec.priority`; 0 where the pod has none. Reads pod-spec, as do the following.
func (p *Pod) Priority() int32 { return facts.PodSpecPriority() }

// PriorityClass gives `spec.priorityClassName`.
func (p *Pod) PriorityClass() (string, bool) { return facts.PodSpecPriorityClass() }

// ServiceAccount gives `spec.serviceAccountName`.
func (p *Pod) ServiceAccount() (string, bool) { return facts.PodSpecServiceAccount() }

// RuntimeClass gives `spec.runtimeClassName`.
func (p *Pod) RuntimeClass() (string, bool) { return facts.PodSpecRuntimeClass() }

// HostNetwork gives `spec.hostNetwork`.
func (p *Pod) HostNetwork() bool { return facts.PodSpecHostNetwork() }

// Images gives the distinct images of its containers, sorted.
func (p *Pod) Images() []string { return facts.PodSpecImages() }

// SchedulerName gives `spec.schedulerName`.
func (p *Pod) SchedulerName() string { return facts.PodSpecSchedulerName() }

// Controller gives the object that manages the pod. Reads pod-owner.
func (p *Pod) Controller() (facts.PodOwnerOwner, bool) { return facts.PodOwnerController() }
