package plugin

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

var errDeadlineForTest = nodesift.ErrDeadline

func unknown(text string) *runtime.Unknown {
	return &runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeYAML}
}

// hinted asks all hints of an event, as the scheduling queue does.
func (w *world) hinted(pod *v1.Pod, resource fwk.EventResource, action fwk.ActionType, old, new any) fwk.QueueingHint {
	w.t.Helper()
	events, err := w.plugin().EventsToRegister(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, event := range events {
		isMeant := event.Event.Resource == resource || event.Event.Resource == fwk.Pod && resource == assignedPod
		if !isMeant || event.Event.ActionType&action == 0 {
			continue
		}
		hint, err := event.QueueingHintFn(logger, pod, old, new)
		if err != nil {
			w.t.Fatal(err)
		}
		if hint == fwk.Queue {
			return hint
		}
	}
	return fwk.QueueSkip
}

func TestAPodComesBackWithEventsThatThePredicatesWaitFor(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address()), node("a"))
	web := pod("web").Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).NodeSelector(map[string]string{"disk": "ssd"}).Obj()
	labelled := st.MakeNode().Name("b").Label("disk", "ssd").
		Capacity(map[v1.ResourceName]string{v1.ResourceCPU: "4", v1.ResourcePods: "10"}).Obj()
	victim := pod("victim").Node("a").Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).Obj()
	reject := func(predicate string) {
		fake.set(func(f *fakeSidecar) { f.rejects["a"] = failure(predicate, unschedulable, "for the test") })
		w.cycle(ours, web)
	}
	for _, wanted := range []struct {
		predicate                         string
		labelled, plain, deleted, taintUp fwk.QueueingHint
	}{
		{"NodeAffinity", fwk.Queue, fwk.QueueSkip, fwk.QueueSkip, fwk.QueueSkip},
		{"NodeResourcesFit", fwk.Queue, fwk.Queue, fwk.Queue, fwk.QueueSkip},
		{"TeamIsolation", fwk.Queue, fwk.Queue, fwk.Queue, fwk.Queue},
	} {
		reject(wanted.predicate)
		old, tainted := node("a"), node("a")
		tainted.Spec.Taints = []v1.Taint{{Key: "x", Effect: v1.TaintEffectNoSchedule}}
		for what, hints := range map[string][2]fwk.QueueingHint{
			"a node with the label joins": {w.hinted(web, fwk.Node, fwk.Add, nil, labelled), wanted.labelled},
			"a node without it joins":     {w.hinted(web, fwk.Node, fwk.Add, nil, node("c")), wanted.plain},
			"a pod is deleted":            {w.hinted(web, assignedPod, fwk.Delete, victim, nil), wanted.deleted},
			"a node is tainted":           {w.hinted(web, fwk.Node, fwk.UpdateNodeTaint, old, tainted), wanted.taintUp},
		} {
			if hints[0] != hints[1] {
				t.Errorf("%s, %s: %v", wanted.predicate, what, hints[0])
			}
		}
	}
	w.plugin().rejections.drop(web.UID)
	if hint := w.hinted(web, fwk.Node, fwk.Add, nil, node("c")); hint != fwk.Queue {
		t.Errorf("nobody knows why it was rejected: %v", hint)
	}
}

func TestAPodThatKubeSchedulersFiltersHaveRejectedComesBackAsWithThem(t *testing.T) {
	w := newWorld(t, full, patient("unix:///nowhere/nodesift.sock", inTreeDecides), node("a"))
	web := pod("web").NodeSelector(map[string]string{"disk": "ssd"}).Obj()
	if _, statuses, _ := w.cycle(ours, web); statuses["a"].IsSuccess() {
		t.Fatalf("%v", statuses)
	}
	if hint := w.hinted(web, fwk.Node, fwk.Add, nil, node("c")); hint != fwk.QueueSkip {
		t.Errorf("a node without the label: %v", hint)
	}
	if hint := w.hinted(web, fwk.Node, fwk.Add, nil, st.MakeNode().Name("b").Label("disk", "ssd").Obj()); hint != fwk.Queue {
		t.Errorf("a node with the label: %v", hint)
	}
}

func TestPodsAreSignedAsByTheFiltersOfThePolicy(t *testing.T) {
	fake := startFake(t, "a")
	fake.predicates = []string{"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "VolumeRestrictions", "InterPodAffinity"}
	fake.unexplained = true
	w := newWorld(t, full, patient(fake.address()), node("a"))
	plain := pod("plain").HostPort(80).Obj()
	if _, status := w.plugin().SignPod(w.ctx, plain); status.Code() != fwk.Unschedulable {
		t.Errorf("before the policy is known: %v", status)
	}
	fake.set(func(f *fakeSidecar) { f.unexplained = false })
	until(t, "the policy is known", func() bool {
		w.cycle(ours, plain)
		_, known := w.plugin().policy.evaluates()
		return known
	})
	fragments, status := w.plugin().SignPod(w.ctx, plain)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	for _, key := range []string{fwk.NodeNameSignerName, fwk.TolerationsSignerName, fwk.HostPortsSignerName, fwk.NodeAffinitySignerName, fwk.VolumesSignerName} {
		if !slices.ContainsFunc(fragments, func(fragment fwk.SignFragment) bool { return fragment.Key == key }) {
			t.Errorf("no fragment %s in %v", key, fragments)
		}
	}
	apart := pod("apart").PodAntiAffinityExists("app", "kubernetes.io/hostname", st.PodAntiAffinityWithRequiredReq).Obj()
	if _, status := w.plugin().SignPod(w.ctx, apart); status.Code() != fwk.Unschedulable {
		t.Errorf("inter-pod affinity: %v", status)
	}
	fake.set(func(f *fakeSidecar) {
		f.predicates = append(f.predicates, "TeamIsolation")
		f.edit = edited(func(response *nodesiftv1.FilterResponse) { response.Version.PolicyGeneration = 1 })
	})
	w.plugin().policy.mutex.Lock()
	w.plugin().policy.known = policyVersion{}
	w.plugin().policy.mutex.Unlock()
	until(t, "the other policy is known", func() bool {
		w.cycle(ours, plain)
		predicates, _ := w.plugin().policy.evaluates()
		return slices.Contains(predicates, "TeamIsolation")
	})
	if _, status := w.plugin().SignPod(w.ctx, plain); status.Code() != fwk.Unschedulable {
		t.Errorf("a predicate that kube-scheduler does not have: %v", status)
	}
}
