//go:build !kubernetes_1_37

package plugin

import (
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/scheduler"
)

// newInformers are those of a scheduler.
func newInformers(client kubernetes.Interface) clientinformers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, 0)
}
