package plugin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// patient leaves calls the time that a busy machine takes.
func patient(address string, edits ...func(*Args)) func(*Args) {
	return func(args *Args) {
		args.Address = address
		args.CallTimeout = metav1.Duration{Duration: 2 * time.Second}
		for _, edit := range edits {
			edit(args)
		}
	}
}

func failing(args *Args) { args.OnUnavailable = Fail }

func inTreeDecides(args *Args) { args.OnUnavailable = InTree }

func hasty(args *Args) { args.CallTimeout = metav1.Duration{Duration: 50 * time.Millisecond} }

func TestAPodIsAskedAboutOnceAndNodesAreLookedUp(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.rejects["b"] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu")
	fake.rejects["c"] = failure("NodeAffinity", unresolvable, "node(s) didn't match Pod's node affinity/selector")
	w := newWorld(t, full, patient(fake.address()), node("a"), node("b"), node("c"))
	first, statuses, _ := w.cycle(ours, pod("web").Obj())
	if !first.IsSuccess() || !statuses["a"].IsSuccess() {
		t.Fatalf("%v, %v", first, statuses)
	}
	for name, wanted := range map[string]*fwk.Status{
		"b": fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu").WithPlugin(Name),
		"c": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't match Pod's node affinity/selector").WithPlugin(Name),
	} {
		if !statuses[name].Equal(wanted) {
			t.Errorf("%s: %v, not %v", name, statuses[name], wanted)
		}
	}
	if asked := fake.asked(); len(asked) != 1 || len(asked[0].GetPods()) != 1 {
		t.Errorf("%v", asked)
	}
}

func TestANodeThatTheAnswerLacksDoesNotFit(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("new"))
	_, statuses, _ := w.cycle(ours, pod("web").Obj())
	if !statuses["a"].IsSuccess() || statuses["new"].Code() != fwk.UnschedulableAndUnresolvable || statuses["new"].Message() != reasonUnknown {
		t.Errorf("%v", statuses)
	}
}

func TestKubeSchedulersFiltersDecideWhereTheAnswerLacksANode(t *testing.T) {
	fake := startFake(t, "a")
	fake.rejects["a"] = failure("NodeResourcesFit", unschedulable, "not asked")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), node("new"))
	_, statuses, _ := w.cycle(ours, pod("web").NodeSelector(map[string]string{"kubernetes.io/hostname": "new"}).Obj())
	if !statuses["new"].IsSuccess() || statuses["a"].Message() != "node(s) didn't match Pod's node affinity/selector" {
		t.Errorf("%v", statuses)
	}
}

func TestACodeThatIsUnknownIsNoSuccess(t *testing.T) {
	fake := startFake(t, "a")
	fake.rejects["a"] = &nodesiftv1.Failure{Predicate: "New", Code: "Maybe", Reasons: []string{"who knows"}}
	w := newWorld(t, full, patient(fake.address()), node("a"))
	if _, statuses, _ := w.cycle(ours, pod("web").Obj()); statuses["a"].Code() != fwk.Error {
		t.Errorf("%v", statuses)
	}
}

func TestPreFilterEndsAsKubeSchedulersOwn(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	// Each node is under the first predicate that rejects it; the message has the one that ends the cycle.
	fake.rejects["a"] = failure("TaintToleration", unschedulable, "node(s) had untolerated taint(s)")
	fake.rejects["b"] = failure("VolumeBinding", unresolvable, `persistentvolumeclaim "data" not found`)
	w := newWorld(t, full, patient(fake.address()), node("a"), node("b"), node("c"))
	cycle := func(cycle nodesiftv1.Cycle, message string) (*fwk.Status, map[string]*fwk.Status) {
		fake.set(func(f *fakeSidecar) {
			f.edit = edited(func(response *nodesiftv1.FilterResponse) {
				response.Pods[0].Cycle, response.Pods[0].Message = cycle, &message
			})
		})
		status, statuses, _ := w.cycle(ours, pod("web").Obj())
		return status, statuses
	}
	for _, reason := range []string{`persistentvolumeclaim "data" not found`, "a reason of no node"} {
		status, _ := cycle(nodesiftv1.Cycle_CYCLE_REJECTED, "0/3 nodes are available: "+reason+".")
		if status.Code() != fwk.UnschedulableAndUnresolvable || status.Message() != reason {
			t.Errorf("rejected: %v", status)
		}
	}
	fake.rejects["b"] = failure("NodeVolumeLimits", nodesiftv1.FailureCode_FAILURE_CODE_ERROR, "the claim is not the pod's")
	status, statuses := cycle(nodesiftv1.Cycle_CYCLE_ABORTED, "")
	if !status.IsSuccess() || statuses["a"].Code() != fwk.Unschedulable || statuses["b"].Code() != fwk.Error ||
		!strings.Contains(statuses["b"].Message(), "the claim is not the pod's") || !statuses["c"].IsSuccess() {
		t.Errorf("aborted where a node is reached: %v, %v", status, statuses)
	}
	fake.rejects = map[string]*nodesiftv1.Failure{}
	if status, _ := cycle(nodesiftv1.Cycle_CYCLE_ABORTED, "an object is invalid"); status.Code() != fwk.Error ||
		!strings.Contains(status.Message(), "an object is invalid") {
		t.Errorf("aborted: %v", status)
	}
}

func TestNamedNodesAreSelectedWhereNodeAffinityDoesNot(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.edit = func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		response.Pods[0].Cycle, response.Pods[0].NamedNodes = nodesiftv1.Cycle_CYCLE_NAMED_NODES, []string{"b"}
		return nil
	}
	w := newWorld(t, full, patient(fake.address()), node("a"), node("b"))
	state := framework.NewCycleState()
	result, status := w.plugin().PreFilter(w.ctx, state, pod("web").Obj(), w.nodes())
	if !status.IsSuccess() || !result.AllNodes() {
		t.Errorf("beside NodeAffinity: %v, %v", result, status)
	}
	w.plugin().profile = func() profile { return profile{} }
	result, status = w.plugin().PreFilter(w.ctx, state, pod("web").Obj(), w.nodes())
	if !status.IsSuccess() || result.AllNodes() || !result.NodeNames.Equal(sets.New("b")) {
		t.Errorf("alone: %v, %v", result, status)
	}
}

func TestAPodOfAnotherVersionIsSentWhole(t *testing.T) {
	fake := startFake(t, "a")
	for _, code := range []codes.Code{codes.Aborted, codes.NotFound} {
		fake.set(func(f *fakeSidecar) {
			f.requests = nil
			f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
				if request.GetPods()[0].GetUid() != "" {
					return status.Error(code, "another version")
				}
				return nil
			}
		})
		w := newWorld(t, full, patient(fake.address(), failing), node("a"))
		web := pod("web").Obj()
		web.ResourceVersion = "7"
		if status, statuses, _ := w.cycle(ours, web); !status.IsSuccess() || !statuses["a"].IsSuccess() {
			t.Fatalf("%v, %v", status, statuses)
		}
		asked := fake.asked()
		if len(asked) != 2 || asked[0].GetPods()[0].GetResourceVersion() != "7" || asked[1].GetPods()[0].GetJson() == "" {
			t.Errorf("%s: %v", code, asked)
		}
		w.cancel()
	}
}

func TestAnswersAreAsNewAsWhatTheInformersHaveShown(t *testing.T) {
	fake := startFake(t, "a")
	seen := node("a")
	seen.ResourceVersion = "41"
	other := pod("other").Node("a").Obj()
	other.ResourceVersion = "57"
	w := newWorld(t, full, patient(fake.address(), failing), seen, other)
	web := pod("web").Obj()
	web.ResourceVersion = "43"
	until(t, "the plugin has seen both objects", func() bool {
		required, _ := w.plugin().observed.required()
		return required == versions{nodesKind: 41, podsKind: 57}
	})
	w.cycle(ours, web)
	// Its own version is said with its name, and is not waited for.
	web.ResourceVersion = "99"
	w.cycle(ours, web)
	// What a hint is told of counts too, though no informer has shown it to this plugin yet.
	gone := pod("gone").Node("a").Obj()
	gone.ResourceVersion = "120"
	if _, err := w.plugin().hint("NodeResourcesFit", nil)(logger, web, gone, nil); err != nil {
		t.Fatal(err)
	}
	w.cycle(ours, web)
	for at, wanted := range []string{"57", "57", "120"} {
		required := fake.asked()[at].GetConsistency()
		if required.GetMinNodesResourceVersion() != "41" || required.GetMinPodsResourceVersion() != wanted || required.GetDeadlineMs() != 5 {
			t.Errorf("request %d: %v", at, required)
		}
	}
}

func TestPodsAddedAndRemovedAreAskedAboutOnTheirNodeAlone(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.rejects["a"] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu")
	victim := pod("victim").Node("a").Obj()
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"), victim)
	web := pod("web").Obj()
	status, _, state := w.cycle(ours, web)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	fake.set(func(f *fakeSidecar) {
		f.requests = nil
		f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
			if len(request.GetOverlay().GetRemovedPods()) == 1 {
				response.Pods[0].FeasibleRows, response.Pods[0].FeasibleCount, response.Pods[0].Failures = []byte{1}, 1, nil
			}
			return nil
		}
	})
	info, err := framework.NewPodInfo(victim)
	if err != nil {
		t.Fatal(err)
	}
	clone, onNode := state.Clone(), w.node("a").Snapshot()
	of := w.scheduler.Profiles[ours]
	change := func(run func() *fwk.Status, wanted fwk.Code, calls int) {
		t.Helper()
		if status := run(); !status.IsSuccess() {
			t.Fatal(status)
		}
		if status := of.RunFilterPlugins(w.ctx, clone, web, onNode); status.Code() != wanted {
			t.Errorf("%v", status)
		}
		if asked := fake.asked(); len(asked) != calls {
			t.Errorf("%d calls, not %d", len(asked), calls)
		}
	}
	change(func() *fwk.Status { return of.RunPreFilterExtensionRemovePod(w.ctx, clone, web, info, onNode) }, fwk.Success, 1)
	if asked := fake.asked()[0]; !slices.Equal(asked.GetNodes().GetNames(), []string{"a"}) ||
		asked.GetOverlay().GetRemovedPods()[0].GetUid() != "uid-victim" {
		t.Errorf("%v", asked)
	}
	// A clone shares what was changed, and nothing that is changed later.
	second := clone.Clone()
	// What is given back leaves nothing to ask.
	change(func() *fwk.Status { return of.RunPreFilterExtensionAddPod(w.ctx, clone, web, info, onNode) }, fwk.Unschedulable, 1)
	if status := of.RunFilterPlugins(w.ctx, second, web, onNode); !status.IsSuccess() {
		t.Errorf("the clone: %v", status)
	}
	if status := of.RunFilterPlugins(w.ctx, state, web, onNode); status.Code() != fwk.Unschedulable {
		t.Errorf("the original: %v", status)
	}
}

func TestNominatedPodsThatTheSidecarKnowsCostNoCall(t *testing.T) {
	fake := startFake(t, "a")
	shown := pod("shown").Priority(10).NominatedNodeName("a").Obj()
	shown.ResourceVersion = "50"
	hidden := pod("hidden").Priority(10).NominatedNodeName("a").Obj()
	hidden.ResourceVersion = "101"
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), shown)
	nominated := func(count int) {
		t.Helper()
		until(t, "the queue has the nomination", func() bool {
			return len(w.scheduler.SchedulingQueue.NominatedPodsForNode("a")) == count
		})
	}
	nominated(1)
	if _, statuses, _ := w.cycle(ours, pod("web").Obj()); !statuses["a"].IsSuccess() || len(fake.asked()) != 1 {
		t.Errorf("%v after %d calls", statuses, len(fake.asked()))
	}
	// Newer than the answer, so the sidecar may not know of it.
	if _, err := w.client.CoreV1().Pods("default").Create(w.ctx, hidden, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	nominated(2)
	if _, statuses, _ := w.cycle(ours, pod("web").Obj()); !statuses["a"].IsSuccess() || len(fake.asked()) != 3 {
		t.Errorf("%v after %d calls", statuses, len(fake.asked()))
	}
	if added := fake.asked()[2].GetOverlay().GetAddedPods(); len(added) != 2 {
		t.Errorf("%v", added)
	}
	// Known from preemption in this process, so it goes with the request.
	w.plugin().nominations.set(pod("hidden").Priority(10).Obj(), "a")
	if _, statuses, _ := w.cycle(ours, pod("web").Obj()); !statuses["a"].IsSuccess() || len(fake.asked()) != 4 {
		t.Errorf("%v after %d calls", statuses, len(fake.asked()))
	}
	if sent := fake.asked()[3].GetNominatedPods(); len(sent) != 1 || sent[0].GetNode() != "a" || uidOf(sent[0].GetPod()) != "uid-hidden" {
		t.Errorf("%v", sent)
	}
}

func TestLookingUpAFittingNodeAllocatesNothing(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address()), node("a"), node("b"))
	_, _, state := w.cycle(ours, pod("web").Obj())
	plugin, web, a := w.plugin(), pod("web").Obj(), w.node("a")
	// That allocates, in the background.
	w.untilPolicyKnown()
	if allocations := testing.AllocsPerRun(1000, func() {
		if !plugin.Filter(w.ctx, state, web, a).IsSuccess() {
			t.Fatal("a does not fit")
		}
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func BenchmarkFilter(b *testing.B) {
	names := make([]string, 5000)
	for at := range names {
		names[at] = "node-" + text(uint64(at+1))
	}
	fake := startFake(b, names...)
	w := newWorld(b, full, patient(fake.address()), node(names[0]))
	_, _, state := w.cycle(ours, pod("web").Obj())
	plugin, web, a := w.plugin(), pod("web").Obj(), w.node(names[0])
	b.ReportAllocs()
	for b.Loop() {
		if !plugin.Filter(w.ctx, state, web, a).IsSuccess() {
			b.Fatal("it does not fit")
		}
	}
}
