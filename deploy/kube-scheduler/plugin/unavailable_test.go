package plugin

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

func edited(edit func(*nodesiftv1.FilterResponse)) func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error {
	return func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		edit(response)
		return nil
	}
}

// The answers that no pod may be bound on.
var worthless = map[string]func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error{
	"stale": edited(func(response *nodesiftv1.FilterResponse) { response.Version.Stale = true }),
	"fault": edited(func(response *nodesiftv1.FilterResponse) {
		response.Pods[0].Faults = []*nodesiftv1.Fault{{Predicate: "NodePorts", Fault: "Trap", Effect: "Rejected"}}
	}),
	"half":  edited(func(response *nodesiftv1.FilterResponse) { response.Pods = nil }),
	"table": edited(func(response *nodesiftv1.FilterResponse) { response.Pods[0].FeasibleRows = []byte{0xff} }),
}

func TestWorthlessAnswersFailThePodOrAreKubeSchedulersOwn(t *testing.T) {
	for what, edit := range worthless {
		fake := startFake(t, "a", "b")
		fake.edit = edit
		w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
		if status, _, _ := w.cycle(ours, pod("web").Obj()); status.Code() != fwk.Error || !strings.Contains(status.Message(), fake.address()) {
			t.Errorf("%s: %v", what, status)
		}
		w = newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), node("b"))
		_, statuses, _ := w.cycle(ours, pod("web").NodeSelector(map[string]string{"kubernetes.io/hostname": "b"}).Obj())
		if statuses["a"].Code() != fwk.UnschedulableAndUnresolvable || !statuses["b"].IsSuccess() {
			t.Errorf("%s: %v", what, statuses)
		}
	}
}

func TestAFaultThatThePolicyIgnoresIsNone(t *testing.T) {
	fake := startFake(t, "a")
	fake.edit = edited(func(response *nodesiftv1.FilterResponse) {
		response.Pods[0].Faults = []*nodesiftv1.Fault{{Fault: "Unsupported", Effect: "Ignored"}}
	})
	w := newWorld(t, full, patient(fake.address(), failing), node("a"))
	if status, statuses, _ := w.cycle(ours, pod("web").Obj()); !status.IsSuccess() || !statuses["a"].IsSuccess() {
		t.Errorf("%v, %v", status, statuses)
	}
}

func TestKubeSchedulersFiltersSayTheSameHereAsInTheirOwnProfile(t *testing.T) {
	// Nobody listens at this address.
	w := newWorld(t, full, patient("unix:///nowhere/nodesift.sock", inTreeDecides),
		node("a"), st.MakeNode().Name("b").Unschedulable(true).Obj(), node("c"),
		pod("there").Node("a").Label("app", "web").Req(map[v1.ResourceName]string{v1.ResourceCPU: "3"}).Obj())
	for _, web := range []*v1.Pod{
		pod("large").Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).Obj(),
		pod("apart").PodAntiAffinityExists("app", "kubernetes.io/hostname", st.PodAntiAffinityWithRequiredReq).Label("app", "web").Obj(),
		pod("spread").Label("app", "web").SpreadConstraint(1, "kubernetes.io/hostname", v1.DoNotSchedule,
			st.MakeLabelSelector().Label("app", "web").Obj(), nil, nil, nil, nil).Obj(),
		pod("claim").PVC("none").Obj(),
		pod("on c").NodeAffinityIn("metadata.name", []string{"c"}, st.NodeSelectorTypeMatchFields).Obj(),
	} {
		wantedFirst, wanted, _ := w.cycle(stock, web)
		first, statuses, _ := w.cycle(ours, web)
		if first.Code() != wantedFirst.Code() || first.Message() != wantedFirst.Message() || len(statuses) != len(wanted) {
			t.Errorf("%s: %v, %v, not %v, %v", web.Name, first, statuses, wantedFirst, wanted)
		}
		for node, status := range statuses {
			if status.Code() != wanted[node].Code() || status.Message() != wanted[node].Message() {
				t.Errorf("%s on %s: %v, not %v", web.Name, node, status, wanted[node])
			}
		}
	}
}

func TestASidecarThatHangsIsCalledNowAndThenOnly(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), hasty, inTreeDecides), node("a"))
	w.reserve(pod("before").Obj(), "a")
	fake.paused.Store(true)
	before := fake.begun.Load()
	const cycles = 50
	for at := range cycles {
		if status, statuses, _ := w.cycle(ours, pod(fmt.Sprint("web-", at)).Obj()); !status.IsSuccess() || !statuses["a"].IsSuccess() {
			t.Fatalf("%v, %v", status, statuses)
		}
	}
	// Until it opens, and one after each pause on a machine on which these cycles take that long.
	if calls := fake.begun.Load() - before; calls < breakerFailures || calls > cycles/2 {
		t.Errorf("%d calls in %d cycles", calls, cycles)
	}
	if allows := w.plugin().sidecar.breaker.open(); !allows {
		t.Error("the breaker is closed")
	}
	// Placements of the meantime are not lost.
	w.reserve(pod("meanwhile").Obj(), "a")
	fake.paused.Store(false)
	until(t, "it is asked again", func() bool {
		w.cycle(ours, pod("web").Obj())
		return !w.plugin().sidecar.breaker.open()
	})
	if placed := fake.placements(); placed["uid-before"] != "a" || placed["uid-meanwhile"] != "a" {
		t.Errorf("%v", placed)
	}
}

func TestASidecarThatIsNeverThereFailsThePodWhereThatIsWanted(t *testing.T) {
	w := newWorld(t, additive, patient("unix:///nowhere/nodesift.sock"), node("a"))
	if status, _, _ := w.cycle(ours, pod("web").Obj()); status.Code() != fwk.Error {
		t.Errorf("%v", status)
	}
	w = newWorld(t, additive, patient("unix:///nowhere/nodesift.sock", inTreeDecides), node("a"))
	if status, statuses, _ := w.cycle(ours, pod("web").Obj()); !status.IsSuccess() || !statuses["a"].IsSuccess() {
		t.Errorf("%v, %v", status, statuses)
	}
}

func TestTheBreakerLetsOneCallThroughAfterAPause(t *testing.T) {
	var b breaker
	lost := errDeadlineForTest
	for range breakerFailures {
		if !b.allows() {
			t.Fatal("it is open too early")
		}
		b.note(lost)
	}
	if b.allows() {
		t.Error("it is closed")
	}
	b.until = time.Now()
	if !b.allows() || b.allows() {
		t.Error("not one call")
	}
	if _, closed := b.note(errors.New("an answer")); !closed || !b.allows() {
		t.Error("it stays open")
	}
}

func TestArgsAreCheckedAllAtOnce(t *testing.T) {
	decode := func(text string) (*Args, error) {
		return decodeArgs(unknown(text))
	}
	args, err := decode("mode: Full")
	if err != nil || args.OnUnavailable != ByPolicy || args.Address != defaultAddress || args.CallTimeout.Duration != defaultCallTimeout ||
		args.ConsistencyTimeout.Duration != defaultConsistencyTimeout || *args.Preemption.MinCandidateNodesAbsolute != 100 {
		t.Errorf("%v, %v", args, err)
	}
	if args, err = decode(""); err != nil || args.Mode != Additive || args.OnUnavailable != ByPolicy {
		t.Errorf("%v, %v", args, err)
	}
	if args, err = decode("consistencyTimeout: 0s"); err != nil || *args.ConsistencyTimeout != (metav1.Duration{}) {
		t.Errorf("%v, %v", args, err)
	}
	_, err = decode(`{address: /run/n.sock, mode: Half, scores: Some, onUnavailable: Wait, callTimeout: 10s, consistencyTimeout: 11s, skip: [A, A],
		preemption: {minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}}`)
	for _, field := range []string{"address", "mode", "scores", "onUnavailable", "callTimeout", "consistencyTimeout", "skip[1]",
		"preemption.minCandidateNodesPercentage", "preemption.minCandidateNodesAbsolute"} {
		if err == nil || !strings.Contains(err.Error(), "args of Nodesift: "+field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := decode("scores: Replace"); err == nil || !strings.Contains(err.Error(), "args of Nodesift: scores: Replace needs mode Full") {
		t.Errorf("%v", err)
	}
	if args, err = decode("mode: Full"); err != nil || args.Scores != Off {
		t.Errorf("%v, %v", args, err)
	}
	if _, err := decode("adress: x"); err == nil || !strings.Contains(err.Error(), `unknown field "adress"`) {
		t.Errorf("%v", err)
	}
	for text, wanted := range map[string]string{
		"{name: DynamicResources, args: {}}":                   `"DynamicResources" is no plugin`,
		"{name: NodeResourcesFit, args: {ignored: [x]}}":       "unknown field",
		"{name: PodTopologySpread, args: {defaultingType: 7}}": "PodTopologySpread",
	} {
		args, err := decode("mode: Full\ninTreeConfig: [" + text + "]")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inTreeArguments(args.InTreeConfig); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: %v", text, err)
		}
	}
	args, err = decode("mode: Full\ninTreeConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: []}}]")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inTreeArguments(args.InTreeConfig); err != nil {
		t.Error(err)
	}
}

func TestInModeAdditiveBothDecide(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.rejects["a"] = failure("TeamIsolation", unschedulable, "node(s) belonged to another team")
	w := newWorld(t, additive, patient(fake.address()), node("a"), st.MakeNode().Name("b").Unschedulable(true).Obj(), node("c"))
	status, statuses, state := w.cycle(ours, pod("web").Obj())
	if !status.IsSuccess() || statuses["a"].Message() != "node(s) belonged to another team" || statuses["a"].Plugin() != Name ||
		statuses["b"].Plugin() != "NodeUnschedulable" || !statuses["c"].IsSuccess() {
		t.Errorf("%v, %v", status, statuses)
	}
	// Preemption is DefaultPreemption's alone.
	if result, status := w.plugin().PostFilter(w.ctx, state, pod("web").Obj(), nil); result != nil || status.Code() != fwk.Unschedulable {
		t.Errorf("%v, %v", result, status)
	}
	if _, status := w.plugin().SignPod(w.ctx, pod("web").Obj()); status.Code() != fwk.Unschedulable {
		t.Errorf("signed: %v", status)
	}
}
