package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// licensed is a pod about which the party licences decides.
func licensed(name string) *v1.Pod { return pod(name).Label("party", "licences").Obj() }

// negotiatingWorld has a policy with parties, which is known.
func negotiatingWorld(t testing.TB, fake *fakeSidecar, objects ...runtime.Object) *world {
	t.Helper()
	fake.set(func(f *fakeSidecar) { f.predicates = []string{"NodeName", partiesPredicate} })
	w := newWorld(t, full, patient(fake.address(), failing), objects...)
	until(t, "the policy is known", func() bool { return w.plugin().policy.has(partiesPredicate) })
	// Each step of a test is long before another try, or long after.
	w.plugin().negotiations.set(func(n *negotiations) { n.pause, n.maxPause = time.Hour, time.Hour })
	return w
}

func (n *negotiations) set(change func(*negotiations)) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	change(n)
}

// inPhase waits until a negotiation has come to a phase.
func (w *world) inPhase(pod *v1.Pod, phase phase) {
	w.t.Helper()
	until(w.t, fmt.Sprintf("%s is in phase %d", pod.Name, phase), func() bool {
		standing := w.plugin().negotiations.standing(pod.UID)
		return standing != nil && standing.phase == phase
	})
}

// agree runs the cycles of a pod to an agreement.
func (w *world) agree(pod *v1.Pod) {
	w.t.Helper()
	if status, _, _ := w.cycle(ours, pod); status.Code() != fwk.UnschedulableAndUnresolvable || !strings.Contains(status.Message(), "waiting for party") {
		w.t.Fatalf("the first cycle: %v", status)
	}
	w.inPhase(pod, agreed)
}

// permit runs a cycle up to Permit.
func (w *world) permit(pod *v1.Pod, node string) (fwk.CycleState, *fwk.Status) {
	w.t.Helper()
	state := w.reserve(pod, node)
	waits, status := w.scheduler.Profiles[ours].RunPermitPlugins(w.ctx, state, pod, node)
	if status.IsWait() {
		w.scheduler.Profiles[ours].AddWaitingPod(pod, waits)
	}
	return state, status
}

func (w *world) unreserve(state fwk.CycleState, pod *v1.Pod, node string) {
	w.scheduler.Profiles[ours].RunReservePluginsUnreserve(w.ctx, state, pod, node)
}

func TestPodsAndPoliciesWithoutPartiesCostNoCall(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address(), failing), node("a"), node("b"))
	until(t, "the policy is known", func() bool { return w.plugin().policy.has("NodeName") })
	explains := fake.explains.Load()
	place := func(pod *v1.Pod) {
		before := len(fake.asked())
		state, status := w.permit(pod, "a")
		if !status.IsSuccess() {
			t.Fatalf("Permit: %v", status)
		}
		if _, status := w.plugin().PreBindPreFlight(w.ctx, state, pod, "a"); !status.IsSkip() {
			t.Errorf("there is something to confirm: %v", status)
		}
		w.plugin().PostBind(w.ctx, state, pod, "a")
		if asked := len(fake.asked()) - before; asked != 1 {
			t.Errorf("%d questions for a cycle", asked)
		}
	}
	place(licensed("without parties in the policy"))
	if now := fake.explains.Load(); now != explains {
		t.Errorf("%d explanations", now-explains)
	}
	other := startFake(t, "a", "b")
	w = negotiatingWorld(t, other, node("a"), node("b"))
	fake, explains = other, other.explains.Load()
	place(pod("first").Label("app", "web").Obj())
	place(pod("second").Label("app", "web").Obj())
	if now := fake.explains.Load(); now != explains {
		t.Errorf("%d explanations", now-explains)
	}
	if asked, selected, released, _ := other.parties.counts(); asked+selected+released != 0 || w.plugin().negotiations.len() != 0 {
		t.Errorf("%d negotiations, %d selections, %d releases", asked, selected, released)
	}
}

func TestAProfileThatDoesNotWaitInPermitNegotiatesNothing(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	w.plugin().profile = func() profile { return profile{} }
	if status, statuses, _ := w.cycle(ours, licensed("web")); !status.IsSuccess() || !statuses["a"].IsSuccess() {
		t.Errorf("%v, %v", status, statuses)
	}
	if asked, _, _, _ := fake.parties.counts(); asked != 0 {
		t.Errorf("%d negotiations", asked)
	}
}

func TestAPodIsNegotiatedAllocatedConfirmedAndBound(t *testing.T) {
	fake := startFake(t, "a", "b", "c", "d")
	fake.rejects["d"] = failure("NodeName", unresolvable, "not this one")
	fake.parties.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		return []string{"b", "c"}, nodesiftv1.End_END_VIABLE, nil
	}
	w := negotiatingWorld(t, fake, node("a"), node("b"), node("c"), node("d"))
	web := licensed("web")
	w.agree(web)
	order := slices.Sorted(slices.Values(fake.parties.lastAsked().GetOrder()))
	if !slices.Equal(order, []string{"a", "b", "c"}) {
		t.Errorf("asked about %v", order)
	}
	status, statuses, _ := w.cycle(ours, web)
	if !status.IsSuccess() || !statuses["b"].IsSuccess() || !statuses["c"].IsSuccess() || statuses["d"].Message() != "not this one" ||
		statuses["a"].Message() != "node(s) were not agreed on with party licences" {
		t.Fatalf("%v, %v", status, statuses)
	}
	if last := fake.asked()[len(fake.asked())-1]; !slices.Contains(last.GetSkip(), partiesPredicate) {
		t.Errorf("an answer of a party that does not stand any more counts: %v", last.GetSkip())
	}
	state, status := w.permit(web, "c")
	if !status.IsSuccess() && !status.IsWait() {
		t.Fatal(status)
	}
	if status := w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web); !status.IsSuccess() {
		t.Fatal(status)
	}
	if nodes := fake.parties.nodesSelected(); !slices.Equal(nodes, []string{"c", "b"}) {
		t.Errorf("selected %v", nodes)
	}
	if status := w.plugin().PreBind(w.ctx, state, web, "c"); !status.IsSuccess() {
		t.Fatal(status)
	}
	confirmed := fake.asked()[len(fake.asked())-1]
	if !slices.Equal(confirmed.GetNodes().GetNames(), []string{"c"}) || confirmed.GetOverlay().GetRemovedPods()[0].GetUid() != string(web.UID) {
		t.Errorf("confirmed by %v", confirmed)
	}
	w.plugin().PostBind(w.ctx, state, web, "c")
	if _, _, released, open := fake.parties.counts(); released != 0 || open != 1 || w.plugin().negotiations.len() != 0 {
		t.Errorf("%d releases, %d open", released, open)
	}
}

func TestPermitWaitsUntilAllIsAllocated(t *testing.T) {
	fake := startFake(t, "a")
	goOn := make(chan *nodesiftv1.NegotiationEvent)
	fake.parties.allocate = func(ctx context.Context, _ *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
		select {
		case event := <-goOn:
			return event, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w := negotiatingWorld(t, fake, node("a"))
	for name, event := range map[string]*nodesiftv1.NegotiationEvent{"allowed": allocatedOn("a"), "failed": failedBy("licences", "taken")} {
		web := licensed(name)
		w.agree(web)
		state, status := w.permit(web, "a")
		if !status.IsWait() || !strings.Contains(status.Message(), "waiting for party licences") {
			t.Fatalf("%s: %v", name, status)
		}
		goOn <- event
		status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web)
		if name == "allowed" {
			if !status.IsSuccess() {
				t.Errorf("allocated: %v", status)
			}
			w.unreserve(state, web, "a")
			continue
		}
		if status.Code() != fwk.Unschedulable || status.Plugin() != Name || !strings.Contains(status.Message(), "party licences: taken") {
			t.Errorf("failed: %v", status)
		}
		w.unreserve(state, web, "a")
		if _, statuses, _ := w.cycle(ours, web); statuses["a"].Message() != "party licences: taken" {
			t.Errorf("the next cycle: %v", statuses)
		}
	}
	// What had failed the sidecar has given back itself.
	until(t, "what was allocated is given back", func() bool {
		_, _, released, open := fake.parties.counts()
		return released == 1 && open == 0
	})
}

// It is in Permit already, or not yet.
func TestAnAllocationThatEndsBeforePermitRunsIsSeenThere(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	for _, event := range []*nodesiftv1.NegotiationEvent{allocatedOn("a"), failedBy("", "the node is full"), ended(1, nodesiftv1.End_END_TIMED_OUT)} {
		fake.parties.set(func(f *fakeParties) {
			f.allocate = func(context.Context, *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
				return event, nil
			}
		})
		web := licensed(fmt.Sprintf("web-%T", event.GetEvent()))
		w.agree(web)
		state := w.reserve(web, "a")
		until(t, "the allocation has ended", func() bool {
			standing := w.plugin().negotiations.standing(web.UID)
			return standing.phase == allocated || standing.phase == refused
		})
		_, status := w.scheduler.Profiles[ours].RunPermitPlugins(w.ctx, state, web, "a")
		if event.GetAllocated() != nil != status.IsSuccess() || !status.IsSuccess() && status.Code() != fwk.Unschedulable {
			t.Errorf("%v: %v", event, status)
		}
		w.unreserve(state, web, "a")
	}
}

func TestWhatIsAllocatedForAnotherNodeIsTakenByTheNextCycle(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.parties.allocate = func(context.Context, *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
		return allocatedOn("b"), nil
	}
	w := negotiatingWorld(t, fake, node("a"), node("b"))
	web := licensed("web")
	w.agree(web)
	state, status := w.permit(web, "a")
	if status.IsWait() {
		status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web)
	}
	if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "allocated on b") {
		t.Fatal(status)
	}
	w.unreserve(state, web, "a")
	if _, statuses, _ := w.cycle(ours, web); statuses["a"].Message() != "external parties have allocated on b" || !statuses["b"].IsSuccess() {
		t.Fatalf("%v", statuses)
	}
	state, status = w.permit(web, "b")
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	if status := w.plugin().PreBind(w.ctx, state, web, "b"); !status.IsSuccess() {
		t.Error(status)
	}
	if _, selected, released, _ := fake.parties.counts(); selected != 1 || released != 0 {
		t.Errorf("%d selections, %d releases", selected, released)
	}
}

func TestAPodIsNotBoundToANodeThatIsNotWhatItWas(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := negotiatingWorld(t, fake, node("a"), node("b"))
	nodes := w.client.CoreV1().Nodes()
	for what, change := range map[string]func() func(){
		"full": func() func() {
			fake.set(func(f *fakeSidecar) { f.rejects["a"] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu") })
			return func() { fake.set(func(f *fakeSidecar) { delete(f.rejects, "a") }) }
		},
		"no answer": func() func() {
			fake.set(func(f *fakeSidecar) {
				f.edit = func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error {
					return status.Error(codes.Unavailable, "for the test")
				}
			})
			return func() { fake.set(func(f *fakeSidecar) { f.edit = nil }) }
		},
		"gone": func() func() {
			if err := nodes.Delete(w.ctx, "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			lister := w.factory.Core().V1().Nodes().Lister()
			until(t, "the node has gone", func() bool { _, err := lister.Get("a"); return err != nil })
			return func() {
				if _, err := nodes.Create(w.ctx, node("a"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				until(t, "the node is back", func() bool { _, err := lister.Get("a"); return err == nil })
			}
		},
	} {
		web := licensed("web-" + strings.ReplaceAll(what, " ", "-"))
		until(t, "the scheduler has the node", func() bool { w.update(); return len(w.nodes()) == 2 })
		w.agree(web)
		state, status := w.permit(web, "a")
		if status.IsWait() {
			status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web)
		}
		if !status.IsSuccess() {
			t.Fatalf("%s: %v", what, status)
		}
		_, _, before, _ := fake.parties.counts()
		undo := change()
		if status := w.plugin().PreBind(w.ctx, state, web, "a"); status.IsSuccess() {
			t.Errorf("%s: it is bound", what)
		}
		w.unreserve(state, web, "a")
		until(t, what+": all is given back", func() bool {
			_, _, released, open := fake.parties.counts()
			return released == before+1 && open == 0
		})
		undo()
	}
}

func TestCordonsAndTaintsCountWhereTheProfileHasTheirFilters(t *testing.T) {
	fake := startFake(t, "a")
	cordoned, tainted := node("cordoned"), node("tainted")
	cordoned.Spec.Unschedulable = true
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}}
	w := negotiatingWorld(t, fake, node("a"), cordoned, tainted)
	check := func(wanted map[string]bool, pod *v1.Pod) {
		t.Helper()
		for name, open := range wanted {
			if status := w.plugin().isOpen(w.ctx, pod, name); status.IsSuccess() != open {
				t.Errorf("%s: %v", name, status)
			}
		}
	}
	check(map[string]bool{"a": true, "cordoned": true, "tainted": true, "none": false}, licensed("web"))
	w.plugin().profile = func() profile { return profile{filter: []string{"NodeUnschedulable", "TaintToleration"}} }
	check(map[string]bool{"a": true, "cordoned": false, "tainted": false}, licensed("web"))
	check(map[string]bool{"cordoned": true, "tainted": true}, pod("tolerant").Toleration("").Obj())
}

func TestPartiesAreNotAskedAboutNodesThatKubeSchedulersOwnFiltersReject(t *testing.T) {
	fake := startFake(t, "free", "busy", "cordoned")
	fake.predicates = []string{"TeamIsolation", partiesPredicate}
	cordoned := node("cordoned")
	cordoned.Spec.Unschedulable = true
	w := newWorld(t, additive, patient(fake.address(), failing), node("free"), node("busy"), cordoned,
		pod("other").Node("busy").Req(map[v1.ResourceName]string{v1.ResourceCPU: "3"}).Obj())
	until(t, "the policy is known", func() bool { return w.plugin().policy.has(partiesPredicate) })
	until(t, "the scheduler has the other pod", func() bool { w.update(); return len(w.node("busy").GetPods()) == 1 })
	w.agree(pod("web").Label("party", "licences").Req(map[v1.ResourceName]string{v1.ResourceCPU: "2"}).Obj())
	if order := fake.parties.lastAsked().GetOrder(); !slices.Equal(order, []string{"free"}) {
		t.Errorf("asked about %v", order)
	}
	large := pod("large").Label("party", "licences").Req(map[v1.ResourceName]string{v1.ResourceCPU: "5"}).Obj()
	if status, statuses, _ := w.cycle(ours, large); !status.IsSuccess() || statuses["free"].Message() != "Insufficient cpu" {
		t.Errorf("%v, %v", status, statuses)
	}
	if asked, _, _, _ := fake.parties.counts(); asked != 1 {
		t.Errorf("%d negotiations", asked)
	}
	// Where their own filters take it after all, it still has no agreement.
	_, _, state := w.cycle(ours, large)
	if status := w.plugin().Filter(w.ctx, state, large, w.node("free")); !strings.Contains(status.Message(), "not agreed on with party licences") {
		t.Errorf("%v", status)
	}
}

// Nobody has said yet which predicates the policy has.
func TestAPodWaitsForItsPartiesByTheFirstAnswerThatNamesThem(t *testing.T) {
	fake := startFake(t, "a")
	fake.predicates, fake.unexplained = []string{"NodeName", partiesPredicate}, true
	w := newWorld(t, full, patient(fake.address(), failing), node("a"))
	web := licensed("web")
	w.agree(web)
	for _, request := range fake.asked() {
		if !request.GetNegotiates() {
			t.Errorf("nodes of which nothing is known do not fit: %v", request)
		}
	}
	if state, status := w.permit(pod("plain").Obj(), "a"); !status.IsSuccess() || w.plugin().negotiated(state) != nil {
		t.Errorf("a pod without parties: %v", status)
	}
}

func TestAWordOfAPartyWakesThePodsThatItHasRefusedAndNoOther(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.refusals = []*nodesiftv1.PartyRefusal{{Party: "licences", Reason: "all seats are taken", Nodes: 1}}
	fake.parties.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		return nil, nodesiftv1.End_END_EXHAUSTED, nil
	}
	w := negotiatingWorld(t, fake, node("a"))
	counted := w.counting()
	web, other := licensed("web"), licensed("other")
	for _, pod := range []*v1.Pod{web, other} {
		w.cycle(ours, pod)
		w.inPhase(pod, refused)
		until(t, "it is woken to say why", func() bool { return counted.count(pod.Name) == 1 })
	}
	if _, statuses, _ := w.cycle(ours, web); statuses["a"].Message() != "no node suits party licences; party licences: all seats are taken" {
		t.Errorf("%v", statuses)
	}
	fake.parties.set(func(f *fakeParties) { f.agree = nil })
	word := &nodesiftv1.PartyWord{Party: "licences", Pods: []string{string(web.UID)}}
	until(t, "what parties say is followed", func() bool {
		select {
		case fake.parties.words <- word:
			return true
		default:
			return false
		}
	})
	until(t, "it is woken", func() bool { return counted.count("web") == 2 })
	w.agree(web)
	if times := counted.count("other"); times != 1 {
		t.Errorf("another pod is woken %d times", times)
	}
}

func TestAReleaseThatHangsIsTriedAgain(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	w.plugin().negotiations.set(func(n *negotiations) { n.releaseTime, n.releasePause = 50*time.Millisecond, time.Millisecond })
	web := licensed("web")
	w.agree(web)
	fake.parties.set(func(f *fakeParties) { f.hangs = 2 })
	w.plugin().negotiations.gone(web.UID)
	until(t, "it is released", func() bool {
		_, _, released, open := fake.parties.counts()
		return released == 3 && open == 0
	})
}

func TestOrdersThatAreTheSameAreHeldOnceAndManyOthersAreShort(t *testing.T) {
	n := &negotiations{of: map[types.UID]*negotiation{}}
	add := func(uid types.UID, order []string) []string {
		it := &negotiation{uid: uid, phase: asking}
		n.of[uid] = it
		return n.ordered(it, order)
	}
	names := make([]string, maxOrder)
	for at := range names {
		names[at] = fmt.Sprint("node-", at)
	}
	first, second := add("first", names), add("second", slices.Clone(names))
	if &first[0] != &second[0] || n.of["second"].names != 0 {
		t.Error("the same order is held twice")
	}
	held := 0
	for at := range 2 * maxOrderNames / maxOrder {
		names = slices.Clone(names)
		names[0] = fmt.Sprint("other-", at)
		held += len(add(types.UID(names[0]), names))
	}
	if last := add("last", append([]string{"last"}, names...)); len(last) != roundOrder || last[0] != "last" {
		t.Errorf("%d names", len(last))
	}
	if held > maxOrderNames+2*roundOrder*maxOrderNames/maxOrder {
		t.Errorf("%d names are held", held)
	}
}

func TestHintsOfAPodThatWaitsForParties(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.agree = func(ctx context.Context, _ *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	hints := func() [2]fwk.QueueingHint {
		victim := pod("victim").Node("a").Obj()
		return [2]fwk.QueueingHint{w.hinted(web, fwk.Node, fwk.Add, nil, node("c")), w.hinted(web, fwk.Pod, fwk.Delete, victim, nil)}
	}
	w.cycle(ours, web)
	if got := hints(); got != [2]fwk.QueueingHint{fwk.QueueSkip, fwk.QueueSkip} {
		t.Errorf("while parties are asked: %v", got)
	}
	fake.parties.set(func(f *fakeParties) {
		f.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
			return nil, nodesiftv1.End_END_EXHAUSTED, nil
		}
	})
	w.plugin().negotiations.gone(web.UID)
	w.cycle(ours, web)
	w.inPhase(web, refused)
	if _, statuses, _ := w.cycle(ours, web); statuses["a"].Message() != "no node suits party licences" {
		t.Errorf("%v", statuses)
	}
	if got := hints(); got != [2]fwk.QueueingHint{fwk.Queue, fwk.QueueSkip} {
		t.Errorf("after their no: %v", got)
	}
}
