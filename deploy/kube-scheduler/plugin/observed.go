package plugin

import (
	"context"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// observed are the newest resourceVersions that informers have shown, and so the newest that the scheduler's snapshot can have. A
// sidecar that has them too has seen whatever has brought a pod back into the queue.
//
// Versions go back where etcd is restored from a backup: the newest ones seen before are then reached never, or in days. A kind
// whose requirement the sidecar has not met for [versionPatience], though it answers, is asked about without one, and what was seen
// of it is forgotten. Once an answer has what was seen since, versions are required again.
type observed struct {
	mutex sync.Mutex
	kinds [kinds]observedKind
	// What the sidecar was first found to lack, and when; zero where it has met all requirements since. And how often in a row it has
	// said so.
	lacking      versions
	lackingSince time.Time
	said         int
	// The time; the clock of the machine where it is nil.
	clock func() time.Time
}

// The kinds that requests require versions of.
const (
	nodesKind = iota
	podsKind
	kinds
)

var kindNames = [kinds]string{"nodes", "pods"}

// versions are those of each kind; 0 is none.
type versions [kinds]uint64

type observedKind struct {
	newest uint64
	// Since when no version of it is required, and only those are noted that have been seen since; zero where one is required.
	waivedSince time.Time
}

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
		DeleteFunc: func(object any) {
			o.see(object)
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			if node, ok := object.(*v1.Node); ok {
				o.seeVersion(podsKind, p.sidecar.ledger.nodeGone(node.Name))
			}
		},
	})
	if err != nil {
		return nil, err
	}
	pods := factory.Core().V1().Pods().Informer()
	onPods, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { p.podShown(nil, pod.(*v1.Pod)) },
		UpdateFunc: func(old, pod any) { p.podShown(old.(*v1.Pod), pod.(*v1.Pod)) },
		DeleteFunc: p.podGone,
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
	kind := nodesKind
	switch object.(type) {
	case *v1.Node:
	case *v1.Pod:
		kind = podsKind
	default:
		return
	}
	o.seeVersion(kind, number(object.(metav1.Object).GetResourceVersion()))
}

// seeVersion notes a version of a kind.
func (o *observed) seeVersion(kind int, version uint64) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.kinds[kind].newest = max(o.kinds[kind].newest, version)
}

// required are what an answer has to be as new as, and whether the sidecar has lacked versions for so long that it is asked without any,
// to see what it has.
func (o *observed) required() (required versions, overdue bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for kind, of := range o.kinds {
		if of.waivedSince.IsZero() {
			required[kind] = of.newest
		}
	}
	return required, o.said >= versionAnswers && o.now().Sub(o.lackingSince) >= versionPatience
}

// lacks notes that the sidecar has said that it has not reached versions.
func (o *observed) lacks(required versions) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.lackingSince.IsZero() {
		o.lacking, o.lackingSince = required, o.now()
	}
	o.said++
}

// silent notes that the sidecar has said nothing. One that goes on after a halt is behind for a moment, and catches up.
func (o *observed) silent() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.said = 0
}

// answered notes the versions of an answer, and tells whether it may count: it has all that was required, or, where it was asked for
// without, lacks only what the sidecar has lacked for long.
func (o *observed) answered(of nodesift.Version, required versions, overdue bool) bool {
	has := versions{number(of.NodesResourceVersion), number(of.PodsResourceVersion)}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	now, counts := o.now(), true
	for kind := range o.kinds {
		switch {
		case !overdue || has[kind] >= required[kind]:
		case has[kind] < o.lacking[kind]:
			o.waive(kind, has[kind], now)
		default:
			counts = false
		}
		o.resume(kind, has[kind], now)
	}
	o.lackingSince, o.said = time.Time{}, 0
	return counts
}

// waive is called with the lock.
func (o *observed) waive(kind int, has uint64, now time.Time) {
	klog.InfoS("nodesift does not reach a resourceVersion that this scheduler has seen, and is asked without, as after a restore of etcd",
		"kind", kindNames[kind], "seen", o.lacking[kind], "has", has, "waited", versionPatience)
	o.kinds[kind] = observedKind{waivedSince: now}
}

// resume requires versions again of a kind whose newest one since then is there. It is called with the lock.
func (o *observed) resume(kind int, has uint64, now time.Time) {
	of := &o.kinds[kind]
	switch {
	case of.waivedSince.IsZero() || of.newest == 0:
	case has >= of.newest:
		klog.InfoS("nodesift reaches the resourceVersions that this scheduler sees again", "kind", kindNames[kind])
		of.waivedSince = time.Time{}
	case now.Sub(of.waivedSince) >= versionPatience:
		// A version of before can have been shown late.
		*of = observedKind{waivedSince: now}
	}
}

// now is called with the lock.
func (o *observed) now() time.Time {
	if o.clock == nil {
		return time.Now()
	}
	return o.clock()
}

// none tells whether nothing is required.
func (v versions) none() bool { return v == versions{} }

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
