//go:build kubernetes_1_37

package plugin

import (
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
)

// assignedPod is the resource of events of pods that have a node.
const assignedPod = fwk.AssignedPod

// newInformers are those of a scheduler.
func newInformers(client kubernetes.Interface) clientinformers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0, nil)
}
