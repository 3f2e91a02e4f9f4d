package plugin

import (
	"fmt"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

var logger = klog.Background()

// reserve runs a cycle and reserves a node, as the scheduler does.
func (w *world) reserve(pod *v1.Pod, node string) fwk.CycleState {
	w.t.Helper()
	status, statuses, state := w.cycle(ours, pod)
	if !status.IsSuccess() || !statuses[node].IsSuccess() {
		w.t.Fatalf("%s does not fit %s: %v, %v", pod.Name, node, status, statuses)
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if status := w.scheduler.Profiles[ours].RunReservePluginsReserve(w.ctx, state, assumed, node); !status.IsSuccess() {
		w.t.Fatal(status)
	}
	return state
}

func TestTheNextRequestSeesWhatWasReservedAndWhatWasNot(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	first, second := pod("first").Obj(), pod("second").Obj()
	w.reserve(first, "a")
	state := w.reserve(second, "b")
	if status, _, _ := w.cycle(ours, pod("third").Obj()); !status.IsSuccess() {
		t.Fatal(status)
	}
	if placed := fake.placements(); !maps.Equal(placed, map[string]string{"uid-first": "a", "uid-second": "b"}) {
		t.Errorf("%v", placed)
	}
	w.scheduler.Profiles[ours].RunReservePluginsUnreserve(w.ctx, state, second, "b")
	w.scheduler.Profiles[ours].RunReservePluginsUnreserve(w.ctx, state, second, "b")
	w.scheduler.Profiles[ours].RunReservePluginsUnreserve(w.ctx, state, pod("never reserved").Obj(), "b")
	w.cycle(ours, pod("third").Obj())
	if placed := fake.placements(); !maps.Equal(placed, map[string]string{"uid-first": "a"}) {
		t.Errorf("%v", placed)
	}
	if left := w.plugin().sidecar.ledger.len(); left != 1 {
		t.Errorf("%d in the ledger", left)
	}
}

func TestPlacementsEndWhereTheInformerShowsThePodBoundOrDeleted(t *testing.T) {
	fake := startFake(t, "a")
	bound, deleted := pod("bound").Obj(), pod("deleted").Obj()
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), bound, deleted)
	w.reserve(bound, "a")
	w.reserve(deleted, "a")
	ledger := &w.plugin().sidecar.ledger
	if ledger.len() != 2 {
		t.Fatalf("%d in the ledger", ledger.len())
	}
	shown := bound.DeepCopy()
	shown.Spec.NodeName = "a"
	if _, err := w.client.CoreV1().Pods("default").Update(w.ctx, shown, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.CoreV1().Pods("default").Delete(w.ctx, "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the ledger is empty", func() bool { return ledger.len() == 0 })
	if status, _, _ := w.cycle(ours, pod("next").Obj()); !status.IsSuccess() {
		t.Error(status)
	}
}

func TestAProcessThatHasRestartedIsToldOfAllPlacementsBeforeItsAnswerCounts(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	w.reserve(pod("first").Obj(), "a")
	w.reserve(pod("second").Obj(), "b")
	w.cycle(ours, pod("third").Obj())
	fake.server.Stop()
	fake.start(t)
	until(t, "it answers again", func() bool {
		status, _, _ := w.cycle(ours, pod("third").Obj())
		return status.IsSuccess()
	})
	if placed := fake.placements(); !maps.Equal(placed, map[string]string{"uid-first": "a", "uid-second": "b"}) {
		t.Errorf("%v", placed)
	}
}

// All of them take ten times as long as a question may.
func TestMorePlacementsThanAQuestionCanCarryAreToldBesideTheCycles(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), hasty, inTreeDecides), node("a"))
	const placements = 5 * maxChangesWithQuestion
	fake.perPlacement.Store(int64(10 * w.plugin().args.CallTimeout.Duration / placements))
	wanted := map[string]string{}
	for at := range placements {
		name := fmt.Sprint("placed-", at)
		w.plugin().sidecar.ledger.reserve(pod(name).Obj(), "a", false)
		wanted["uid-"+name] = "a"
	}
	answers := func() bool {
		status, _, state := w.cycle(ours, pod("web").Obj())
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		of, err := stateOf(state)
		if err != nil {
			t.Fatal(err)
		}
		return of.inTree == nil
	}
	for _, when := range []string{"at first", "after a restart"} {
		until(t, "the sidecar answers "+when, answers)
		if placed := fake.placements(); !maps.Equal(placed, wanted) {
			t.Errorf("%s: %d of %d placements", when, len(placed), placements)
		}
		if w.plugin().sidecar.breaker.open() {
			t.Error("the breaker is open")
		}
		fake.server.Stop()
		fake.start(t)
	}
}

func TestAnAnswerThatLacksAPlacementDoesNotCount(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	fake.set(func(f *fakeSidecar) { f.refuses["uid-first"] = "RESOURCE_EXHAUSTED" })
	w.reserve(pod("first").Obj(), "a")
	if status, _, _ := w.cycle(ours, pod("second").Obj()); status.Code() != fwk.Error {
		t.Errorf("%v", status)
	}
	fake.set(func(f *fakeSidecar) { delete(f.refuses, "uid-first") })
	if status, _, _ := w.cycle(ours, pod("second").Obj()); !status.IsSuccess() {
		t.Errorf("%v", status)
	}
	if placed := fake.placements(); !maps.Equal(placed, map[string]string{"uid-first": "a"}) {
		t.Errorf("%v", placed)
	}
}

func TestProfilesShareTheirPlacements(t *testing.T) {
	fake := startFake(t, "a", "b")
	one := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	other := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	if one.plugin().sidecar != other.plugin().sidecar {
		t.Fatal("two connections to one address")
	}
	fake.set(func(f *fakeSidecar) { f.refuses["uid-first"] = "RESOURCE_EXHAUSTED" })
	one.reserve(pod("first").Obj(), "a")
	if status, _, _ := other.cycle(ours, pod("second").Obj()); status.Code() != fwk.Error {
		t.Errorf("%v", status)
	}
	one.cancel()
	other.cancel()
	until(t, "the connection is closed", func() bool {
		sidecarsMutex.Lock()
		defer sidecarsMutex.Unlock()
		return sidecars[fake.address()] == nil
	})
}
