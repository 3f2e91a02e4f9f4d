package plugin

import (
	"context"
	"strconv"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// observed are the newest resourceVersions that informers have shown, and so the newest that the scheduler's snapshot can have. A
// sidecar that has them too has seen whatever has brought a pod back into the queue.
type observed struct{ nodes, pods atomic.Uint64 }

// observe follows the informers of the scheduler.
func observe(ctx context.Context, p *Plugin) (*observed, error) {
	o := &observed{}
	factory := p.handle.SharedInformerFactory()
	if factory == nil {
		return o, nil
	}
	nodes := factory.Core().V1().Nodes().Informer()
	onNodes, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(node any) { o.see(node) },
		UpdateFunc: func(_, node any) { o.see(node) },
		DeleteFunc: func(node any) { o.see(node) },
	})
	if err != nil {
		return nil, err
	}
	shown := func(pod *v1.Pod, gone bool) {
		o.see(pod)
		p.nominations.shown(pod, gone)
		if gone || pod.Spec.NodeName != "" {
			p.sidecar.ledger.shown(pod.UID)
			p.rejections.drop(pod.UID)
		}
	}
	pods := factory.Core().V1().Pods().Informer()
	onPods, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { shown(pod.(*v1.Pod), false) },
		UpdateFunc: func(_, pod any) { shown(pod.(*v1.Pod), false) },
		DeleteFunc: func(deleted any) {
			if unknown, ok := deleted.(cache.DeletedFinalStateUnknown); ok {
				deleted = unknown.Obj
			}
			if pod, ok := deleted.(*v1.Pod); ok {
				shown(pod, true)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		_ = nodes.RemoveEventHandler(onNodes)
		_ = pods.RemoveEventHandler(onPods)
	})
	return o, nil
}

// see notes the resourceVersion of a Node or Pod. A deletion has one of its own.
func (o *observed) see(object any) {
	var newest *atomic.Uint64
	switch object.(type) {
	case *v1.Node:
		newest = &o.nodes
	case *v1.Pod:
		newest = &o.pods
	default:
		return
	}
	version := number(object.(metav1.Object).GetResourceVersion())
	for {
		seen := newest.Load()
		if version <= seen || newest.CompareAndSwap(seen, version) {
			return
		}
	}
}

// versions are what an answer about a pod has to be as new as; empty where that is unknown.
func (o *observed) versions(pod *v1.Pod) (nodes, pods string) {
	return text(o.nodes.Load()), text(max(o.pods.Load(), number(pod.ResourceVersion)))
}

// number reads a resourceVersion, which is a decimal number where it comes from an API server; 0 is any other.
func number(version string) uint64 {
	parsed, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return parsed
}

func text(version uint64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatUint(version, 10)
}
