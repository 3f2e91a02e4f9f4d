package plugin

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// nominations are those that preemption has made or ended in this process and that no informer has shown yet. The sidecar
// cannot know of them.
type nominations struct {
	mutex sync.Mutex
	made  nominated
}

// nominated are pods by UID, and the nodes that they are nominated to; an empty one ends a nomination.
type nominated map[types.UID]nomination

type nomination struct {
	pod  *v1.Pod
	node string
}

// set notes a nomination.
func (n *nominations) set(pod *v1.Pod, node string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if pod.Status.NominatedNodeName == node {
		delete(n.made, pod.UID)
		return
	}
	if n.made == nil {
		n.made = nominated{}
	}
	n.made[pod.UID] = nomination{pod, node}
}

// shown ends what an informer has shown, and what another one has replaced.
func (n *nominations) shown(pod *v1.Pod, gone bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	made, ok := n.made[pod.UID]
	if ok && (gone || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == made.node) {
		delete(n.made, pod.UID)
	}
}

// drop ends the nomination of a pod that is placed.
func (n *nominations) drop(uid types.UID) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	delete(n.made, uid)
}

// unshown are all of them.
func (n *nominations) unshown() nominated {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if len(n.made) == 0 {
		return nil
	}
	return maps.Clone(n.made)
}

// placed are the nominations as a request has them. The pods are sent whole: the sidecar may not have them yet.
func (n nominated) placed() []nodesift.PlacedPod {
	all := make([]nodesift.PlacedPod, 0, len(n))
	for _, nomination := range n {
		all = append(all, nodesift.PlacedPod{Pod: nodesift.WholePod(nomination.pod), Node: nomination.node})
	}
	return all
}
