package plugin

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
)

// podShown notes what an informer shows of a pod; old is nil where it was added.
func (p *Plugin) podShown(old, pod *v1.Pod) {
	p.seePod(old, pod, false)
	p.nominations.shown(pod, false)
	if pod.Spec.NodeName != "" {
		p.rejections.drop(pod.UID)
		p.overWith(pod, false)
	}
}

// podGone notes a deletion. What a new list lacks has the version of its last state, which is not that of a deletion, and can be of
// before versions went back.
func (p *Plugin) podGone(object any) {
	unknown, relisted := object.(cache.DeletedFinalStateUnknown)
	if relisted {
		object = unknown.Obj
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	if relisted {
		p.sidecar.ledger.release(pod.UID)
	} else {
		p.seePod(nil, pod, true)
	}
	p.nominations.shown(pod, true)
	p.rejections.drop(pod.UID)
	p.overWith(pod, true)
}

// seePod notes the version of a pod that was added, where old is nil, changed or deleted. An answer has to
// be as new as that only where the cluster without it, as the sidecar has it, is another one for the pods to come. For that the sidecar
// would have to be waited for: it follows the same API server, some milliseconds behind or ahead, and every pod that is bound would cost the
// next cycle these milliseconds.
func (p *Plugin) seePod(old, pod *v1.Pod, gone bool) {
	ledger := &p.sidecar.ledger
	switch {
	case gone && ledger.holds(pod.UID):
		// It counts where it was placed until the sidecar has seen this.
	case !countsForOthers(old) && !countsForOthers(pod):
		// A pod that waits is none of the others' business; about itself, requests name its version.
		return
	case gone || p.args.ConsistencyTimeout.Duration == 0:
	case ledger.shownAsPlaced(pod) || old != nil && alike(old, pod):
		// The sidecar has been told, or it is what the kubelet says of containers.
		return
	}
	p.observed.see(pod)
	if gone || pod.Spec.NodeName != "" || old != nil && old.Spec.NodeName != "" {
		ledger.shown(pod.UID)
	}
}

// countsForOthers tells whether a pod has a part in what other pods are answered.
func countsForOthers(pod *v1.Pod) bool {
	return pod != nil && (pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "")
}

// alike tells whether two states of a pod are the same for every predicate, wherever they are. Fields that are not named here count.
func alike(a, b *v1.Pod) bool { return equality.Semantic.DeepEqual(withoutUnread(a), withoutUnread(b)) }

// withoutUnread is a pod without what no predicate can read: versions, and what a kubelet says of containers that run, but for their resources.
func withoutUnread(pod *v1.Pod) *v1.Pod {
	of := *pod
	of.ResourceVersion, of.Generation, of.ManagedFields = "", 0, nil
	status := &of.Status
	if of.Spec.NodeName != "" {
		status.NominatedNodeName = ""
	}
	status.ObservedGeneration, status.Message, status.Reason, status.StartTime, status.QOSClass = 0, "", "", nil, ""
	status.HostIP, status.HostIPs, status.PodIP, status.PodIPs = "", nil, "", nil
	// One that has ended does not count any more.
	if status.Phase != v1.PodSucceeded && status.Phase != v1.PodFailed {
		status.Phase = ""
	}
	var conditions []v1.PodCondition
	for _, condition := range status.Conditions {
		// What is under way of a resize decides what the pod requests.
		if strings.HasPrefix(string(condition.Type), "PodResize") {
			conditions = append(conditions, v1.PodCondition{Type: condition.Type, Status: condition.Status, Reason: condition.Reason})
		}
	}
	status.Conditions = conditions
	status.InitContainerStatuses = resourcesOf(status.InitContainerStatuses)
	status.ContainerStatuses = resourcesOf(status.ContainerStatuses)
	status.EphemeralContainerStatuses = nil
	return &of
}

// resourcesOf are the statuses of containers that say something of resources.
func resourcesOf(all []v1.ContainerStatus) []v1.ContainerStatus {
	var kept []v1.ContainerStatus
	for _, one := range all {
		if one.Resources != nil || len(one.AllocatedResources) > 0 {
			kept = append(kept, v1.ContainerStatus{Name: one.Name, Resources: one.Resources, AllocatedResources: one.AllocatedResources})
		}
	}
	return kept
}
