package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// activations counts the pods that the scheduler is to try again, by name.
type activations struct {
	fwk.Handle
	mutex sync.Mutex
	of    map[string]int
}

func (a *activations) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for name := range pods {
		a.of[name]++
	}
}

func (a *activations) count(name string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.of["default/"+name]
}

// counting has the activations of a world counted, and come to nothing.
func (w *world) counting() *activations {
	counted := &activations{of: map[string]int{}}
	w.plugin().negotiations.set(func(n *negotiations) { counted.Handle, n.handle = n.handle, counted })
	return counted
}

func TestAPodWhosePartiesAreAskedCanPreemptWhereAllNodesAreFull(t *testing.T) {
	fake := startFake(t, "busy")
	fake.predicates = []string{"TeamIsolation", partiesPredicate}
	victim := pod("victim").Node("busy").Req(map[v1.ResourceName]string{v1.ResourceCPU: "4"}).Obj()
	w := newWorld(t, additive, patient(fake.address(), failing), node("busy"), victim)
	until(t, "the policy is known", func() bool { return w.plugin().policy.has(partiesPredicate) })
	until(t, "the scheduler has the victim", func() bool { w.update(); return len(w.node("busy").GetPods()) == 1 })
	web := pod("web").Label("party", "licences").Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).Obj()
	status, _, state := w.cycle(ours, web)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	of := w.plugin()
	onNode := w.node("busy").Snapshot()
	rejects := func(state fwk.CycleState, what string) {
		t.Helper()
		if status := of.Filter(w.ctx, state, web, onNode); !strings.Contains(status.Message(), "were not agreed on with party licences") {
			t.Errorf("%s: %v", what, status)
		}
	}
	rejects(state, "nobody has agreed")
	info, err := framework.NewPodInfo(victim)
	if err != nil {
		t.Fatal(err)
	}
	other, err := framework.NewPodInfo(pod("other").Node("busy").Obj())
	if err != nil {
		t.Fatal(err)
	}
	added := state.Clone()
	if status := of.AddPod(w.ctx, added, web, other, onNode); !status.IsSuccess() {
		t.Fatal(status)
	}
	rejects(added, "another pod is added")
	removed := state.Clone()
	if status := of.RemovePod(w.ctx, removed, web, info, onNode); !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := of.Filter(w.ctx, removed, web, onNode); !status.IsSuccess() {
		t.Errorf("without the victim: %v", status)
	}
	if asked, _, _, _ := fake.parties.counts(); asked != 0 {
		t.Errorf("%d negotiations", asked)
	}
}

func TestAPodIsWokenToSayWhyOnlyWhereThatIsNew(t *testing.T) {
	fake := startFake(t, "a")
	ends := func(end nodesiftv1.End) {
		fake.parties.set(func(f *fakeParties) {
			f.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
				return nil, end, nil
			}
		})
	}
	w := negotiatingWorld(t, fake, node("a"))
	counted := w.counting()
	web := licensed("web")
	refusal := func(times int) {
		t.Helper()
		w.cycle(ours, web)
		until(t, fmt.Sprintf("it is refused %d times", times), func() bool {
			n := w.plugin().negotiations
			n.mutex.Lock()
			defer n.mutex.Unlock()
			return n.of[web.UID].phase == refused && n.of[web.UID].times == times
		})
	}
	ends(nodesiftv1.End_END_EXHAUSTED)
	refusal(1)
	until(t, "it is woken", func() bool { return counted.count("web") == 1 })
	w.retry(web)
	refusal(2)
	ends(nodesiftv1.End_END_GONE)
	w.retry(web)
	refusal(3)
	until(t, "it is woken by another reason", func() bool { return counted.count("web") >= 2 })
	// In a pause nothing is looked at anew.
	asked := len(fake.parties.lastAsked().GetOrder())
	w.cycle(ours, web)
	if now, _, _, _ := fake.parties.counts(); now != 3 || asked != 1 || counted.count("web") != 2 {
		t.Errorf("%d negotiations, woken %d times", now, counted.count("web"))
	}
}

func TestAProcessThatHasRestartedConfirmsNoAllocation(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.agree(web)
	state, status := w.permit(web, "a")
	if status.IsWait() {
		status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web)
	}
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	fake.server.Stop()
	fake.start(t)
	until(t, "it answers", func() bool {
		status = w.plugin().PreBind(w.ctx, state, web, "a")
		if status.IsSuccess() {
			t.Fatal("another process has confirmed")
		}
		return status.Code() == fwk.Unschedulable
	})
	if status.Message() != reasonRestarted {
		t.Errorf("%v", status)
	}
	w.unreserve(state, web, "a")
	if why := w.plugin().negotiations.standing(web.UID).why; why != reasonRestarted {
		t.Error(why)
	}
}

func TestANegotiationThatEndsByTheSelectionOfAnotherIsTriedAgain(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.selects = true
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.cycle(ours, web)
	w.inPhase(web, refused)
	if why := w.plugin().negotiations.standing(web.UID).why; !strings.Contains(why, errSelected.Error()) {
		t.Error(why)
	}
	fake.parties.set(func(f *fakeParties) { f.selects = false })
	w.retry(web)
	w.cycle(ours, web)
	w.inPhase(web, agreed)
}

func TestTheEndOfACallThatAnotherHasReplacedChangesNothing(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.agree = hangingNegotiation
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.cycle(ours, web)
	n := w.plugin().negotiations
	var it *negotiation
	var call context.Context
	n.set(func(n *negotiations) { it = n.of[web.UID]; call = it.call })
	// One whose time is over, not one that was cancelled.
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	n.refuse(late, it, "late")
	n.agree(late, it, 7, []string{"a"}, 0)
	n.notAllocated(late, it, "late", false)
	n.isAllocated(late, it, "a")
	if standing := n.standing(web.UID); standing.phase != asking {
		t.Errorf("phase %d", standing.phase)
	}
	n.refuse(call, it, "no")
	if standing := n.standing(web.UID); standing.phase != refused || standing.why != "no" {
		t.Errorf("%v", standing)
	}
}
