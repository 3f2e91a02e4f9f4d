package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// run has the scheduler schedule what it finds, and bind it.
func (w *world) run() {
	w.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateAction)
		if !ok || action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := create.GetObject().(*v1.Binding)
		object, err := w.client.Tracker().Get(action.GetResource(), action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		bound := object.(*v1.Pod).DeepCopy()
		bound.Spec.NodeName = binding.Target.Name
		return true, binding, w.client.Tracker().Update(action.GetResource(), bound, action.GetNamespace())
	})
	go w.scheduler.Run(w.ctx)
}

func (w *world) create(pod *v1.Pod) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// boundTo is the node of a pod.
func (w *world) boundTo(name string) string {
	pod, err := w.client.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return pod.Spec.NodeName
}

// hangingNegotiation waits until its call ends.
func hangingNegotiation(ctx context.Context, _ *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func hangingAllocation(ctx context.Context, _ *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTheSchedulerBindsAPodOnceItsPartiesHaveAllocated(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.parties.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		return []string{"b"}, nodesiftv1.End_END_VIABLE, nil
	}
	goOn := make(chan struct{})
	fake.parties.allocate = func(ctx context.Context, request *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
		<-goOn
		return allocatedOn(request.GetNodes()[0]), nil
	}
	w := negotiatingWorld(t, fake, node("a"), node("b"))
	w.run()
	w.create(licensed("web"))
	w.create(pod("plain").NodeSelector(map[string]string{"kubernetes.io/hostname": "a"}).Obj())
	until(t, "the pod without parties is bound", func() bool { return w.boundTo("plain") != "" })
	until(t, "a node is selected", func() bool { return fake.parties.nodesSelected() != nil })
	if node := w.boundTo("web"); node != "" {
		t.Errorf("bound to %s before all is allocated", node)
	}
	close(goOn)
	until(t, "the pod is bound", func() bool { return w.boundTo("web") == "b" })
	until(t, "nothing is under way", func() bool { return w.plugin().negotiations.len() == 0 })
	if asked, selected, released, _ := fake.parties.counts(); asked != 1 || selected != 1 || released != 0 {
		t.Errorf("%d negotiations, %d selections, %d releases", asked, selected, released)
	}
}

func TestTheSchedulerTriesAgainAfterAPause(t *testing.T) {
	fake := startFake(t, "a")
	var agreements, allocations atomic.Int64
	fake.parties.agree = func(_ context.Context, request *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		if agreements.Add(1) == 1 {
			return nil, nodesiftv1.End_END_EXHAUSTED, nil
		}
		return request.GetOrder(), nodesiftv1.End_END_VIABLE, nil
	}
	fake.parties.allocate = func(_ context.Context, request *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
		if allocations.Add(1) == 1 {
			return failedBy("licences", "taken"), nil
		}
		return allocatedOn(request.GetNodes()[0]), nil
	}
	w := negotiatingWorld(t, fake, node("a"))
	w.plugin().negotiations.set(func(n *negotiations) { n.pause, n.maxPause = time.Millisecond, 10*time.Millisecond })
	w.run()
	w.create(licensed("web"))
	until(t, "the pod is bound", func() bool { return w.boundTo("web") == "a" })
	if asked, selected, _, _ := fake.parties.counts(); asked != 3 || selected != 2 {
		t.Errorf("%d negotiations, %d selections", asked, selected)
	}
}

// retry ends the pause of a pod.
func (w *world) retry(pod *v1.Pod) {
	w.plugin().negotiations.set(func(n *negotiations) { n.of[pod.UID].until = time.Time{} })
}

// again negotiates a pod after the sidecar has gone and come back.
func (w *world) again(fake *fakeSidecar, pod *v1.Pod) {
	w.t.Helper()
	fake.parties.set(func(f *fakeParties) { f.agree, f.allocate = nil, nil })
	fake.start(w.t)
	until(w.t, "parties are asked again", func() bool {
		w.retry(pod)
		w.cycle(ours, pod)
		standing := w.plugin().negotiations.standing(pod.UID)
		return standing.phase == asking || standing.phase == agreed
	})
	w.inPhase(pod, agreed)
	state, status := w.permit(pod, "a")
	if status.IsWait() {
		status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, pod)
	}
	if !status.IsSuccess() {
		w.t.Fatal(status)
	}
	if status := w.plugin().PreBind(w.ctx, state, pod, "a"); !status.IsSuccess() {
		w.t.Fatal(status)
	}
}

func TestASidecarThatGoesAwayWhilePartiesAreAsked(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.agree = hangingNegotiation
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.cycle(ours, web)
	until(t, "they are asked", func() bool { asked, _, _, _ := fake.parties.counts(); return asked == 1 })
	fake.server.Stop()
	w.inPhase(web, refused)
	if why := w.plugin().negotiations.standing(web.UID).why; !strings.HasPrefix(why, "waiting for party licences: ") {
		t.Error(why)
	}
	w.again(fake, web)
}

func TestASidecarThatRestartsAfterAnAgreement(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.agree(web)
	fake.server.Stop()
	fake.start(t)
	until(t, "it answers", func() bool { status, _, _ := w.cycle(ours, web); return status.IsSuccess() })
	state, status := w.permit(web, "a")
	if status.IsWait() {
		status = w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web)
	}
	if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "there is no negotiation") {
		t.Errorf("%v", status)
	}
	w.unreserve(state, web, "a")
	fake.server.Stop()
	w.again(fake, web)
}

func TestASidecarThatGoesAwayWhilePartiesAllocate(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.allocate = hangingAllocation
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.agree(web)
	state, status := w.permit(web, "a")
	if !status.IsWait() {
		t.Fatal(status)
	}
	fake.server.Stop()
	if status := w.scheduler.Profiles[ours].WaitOnPermit(w.ctx, web); status.Code() != fwk.Unschedulable {
		t.Errorf("%v", status)
	}
	w.unreserve(state, web, "a")
	w.again(fake, web)
}

func TestASidecarThatGoesAwayBeforeAPodIsBound(t *testing.T) {
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
	if status := w.plugin().PreBind(w.ctx, state, web, "a"); status.Code() != fwk.Error {
		t.Errorf("%v", status)
	}
	w.unreserve(state, web, "a")
	w.again(fake, web)
}

func TestASchedulerThatHasRestartedTakesThePlaceOfItsNegotiation(t *testing.T) {
	fake := startFake(t, "a")
	first := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	first.agree(web)
	first.cancel()
	negotiatingWorld(t, fake, node("a")).agree(web)
	if asked := fake.parties.lastAsked(); asked.GetSupersedes() != 1 {
		t.Errorf("%v", asked)
	}
}

func TestPodsAreDeletedInEachPhase(t *testing.T) {
	for _, wanted := range []phase{asking, agreed, allocating, allocated, refused} {
		fake := startFake(t, "a")
		web := licensed("web")
		w := negotiatingWorld(t, fake, node("a"), web)
		fake.parties.set(func(f *fakeParties) {
			switch wanted {
			case asking:
				f.agree = hangingNegotiation
			case allocating:
				f.allocate = hangingAllocation
			case refused:
				f.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
					return nil, nodesiftv1.End_END_EXHAUSTED, nil
				}
			}
		})
		w.cycle(ours, web)
		if wanted == allocating || wanted == allocated {
			w.inPhase(web, agreed)
			if _, status := w.permit(web, "a"); status.IsRejected() {
				t.Fatal(status)
			}
		}
		w.inPhase(web, wanted)
		until(t, "the parties have been called", func() bool { asked, _, _, _ := fake.parties.counts(); return asked == 1 })
		if err := w.client.CoreV1().Pods("default").Delete(w.ctx, "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(t, fmt.Sprintf("nothing is left of phase %d", wanted), func() bool {
			_, _, _, open := fake.parties.counts()
			return open == 0 && w.plugin().negotiations.len() == 0
		})
	}
}

func TestAPodIsNegotiatedOnceAtATime(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.allocate = hangingAllocation
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	w.agree(web)
	n := w.plugin().negotiations
	if standing, err := n.begin(web, nodesift.WholePod(web), []string{"licences"}, []string{"a"}); err != nil || standing.phase != asking {
		t.Errorf("%v, %v", standing, err)
	}
	state, _ := w.permit(web, "a")
	if status := n.reserve(web.UID, "a", 1); status.Code() != fwk.Unschedulable {
		t.Errorf("reserved twice: %v", status)
	}
	until(t, "a node is selected", func() bool { return fake.parties.nodesSelected() != nil })
	w.unreserve(state, web, "a")
	w.unreserve(state, web, "a")
	until(t, "it is given back", func() bool { _, _, released, _ := fake.parties.counts(); return released == 1 })
	if standing, err := n.begin(web, nodesift.WholePod(web), []string{"licences"}, []string{"a"}); err != nil || standing.phase != refused {
		t.Errorf("in the pause: %v, %v", standing, err)
	}
	if asked, selected, released, _ := fake.parties.counts(); asked != 1 || selected != 1 || released != 1 {
		t.Errorf("%d negotiations, %d selections, %d releases", asked, selected, released)
	}
	n.bound(web.UID)
	n.bound(web.UID)
	n.gone(web.UID)
	n.unreserve(web.UID)
	if status, _ := n.permit(web.UID, "a"); status.Code() != fwk.Unschedulable {
		t.Errorf("of nothing: %v", status)
	}
	if status := n.reserve(web.UID, "a", 1); status.Code() != fwk.Unschedulable {
		t.Errorf("of nothing: %v", status)
	}
}

func TestAgreementsAndAllocationsThatNoCycleTakesAreGivenBack(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := negotiatingWorld(t, fake, node("a"), node("b"))
	over := func(what string, released int) {
		t.Helper()
		until(t, what, func() bool {
			_, _, of, open := fake.parties.counts()
			return of == released && open == 0 && w.plugin().negotiations.len() == 0
		})
	}
	brief := func(n *negotiations) { n.lifetime = time.Millisecond }
	w.plugin().negotiations.set(brief)
	w.cycle(ours, licensed("first"))
	over("an agreement", 1)
	w.plugin().negotiations.set(func(n *negotiations) { n.lifetime = time.Hour })
	fake.parties.set(func(f *fakeParties) {
		f.allocate = func(context.Context, *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error) {
			return allocatedOn("b"), nil
		}
	})
	second := licensed("second")
	w.agree(second)
	state := w.reserve(second, "a")
	w.inPhase(second, allocated)
	w.plugin().negotiations.set(brief)
	w.unreserve(state, second, "a")
	over("an allocation for another node", 2)
}

func TestAnAgreementOfWhichNoNodeIsFreeIsNegotiatedAgain(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.parties.agree = func(_ context.Context, request *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		return request.GetOrder()[:1], nodesiftv1.End_END_VIABLE, nil
	}
	w := negotiatingWorld(t, fake, node("a"), node("b"))
	web := licensed("web")
	w.agree(web)
	full := w.plugin().negotiations.standing(web.UID).nodes.UnsortedList()[0]
	fake.set(func(f *fakeSidecar) { f.rejects[full] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu") })
	w.agree(web)
	if nodes := w.plugin().negotiations.standing(web.UID).nodes; len(nodes) != 1 || nodes.Has(full) {
		t.Errorf("%v", nodes)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	n := w.plugin().negotiations
	n.set(func(n *negotiations) {
		for at := range maxNegotiations {
			uid := types.UID(fmt.Sprint("other-", at))
			n.of[uid] = &negotiation{uid: uid}
		}
	})
	if status, _, _ := w.cycle(ours, licensed("web")); status.Code() != fwk.Error || !strings.Contains(status.Message(), errManyNegotiations.Error()) {
		t.Errorf("%v", status)
	}
	// Those that wait for another try hold nothing in the sidecar.
	n.set(func(n *negotiations) { n.of["other-0"].phase = refused })
	w.agree(licensed("web"))
	n.set(func(n *negotiations) {
		for at := range maxRefused {
			uid := types.UID(fmt.Sprint("refused-", at))
			n.of[uid] = &negotiation{uid: uid, phase: refused}
		}
	})
	if status, _, _ := w.cycle(ours, licensed("another")); status.Code() != fwk.Error {
		t.Errorf("%v", status)
	}
}

func TestWhatIsUnderWayAboutAPodThatWasNeverThereEnds(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.agree = func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error) {
		return nil, nodesiftv1.End_END_GONE, nil
	}
	w := negotiatingWorld(t, fake, node("a"))
	w.plugin().negotiations.set(func(n *negotiations) { n.pause = time.Millisecond })
	w.cycle(ours, licensed("web"))
	until(t, "nothing is under way", func() bool { return w.plugin().negotiations.len() == 0 })
}

func TestThePartiesAreNotAskedAboutNodesThatOthersReject(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.rejects["a"] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu")
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	if status, statuses, _ := w.cycle(ours, web); !status.IsSuccess() || statuses["a"].Message() != "Insufficient cpu" {
		t.Errorf("%v, %v", status, statuses)
	}
	if asked, _, _, _ := fake.parties.counts(); asked != 0 {
		t.Errorf("%d negotiations", asked)
	}
	// What they have said of a node they may take back.
	fake.set(func(f *fakeSidecar) { f.rejects["a"] = failure(partiesPredicate, unresolvable, "no free licence") })
	w.agree(web)
}

func TestAPodThatIsPlacedWithoutItsPartiesIsNotNegotiatedAnyMore(t *testing.T) {
	fake := startFake(t, "a")
	fake.predicates = []string{"NodeName", partiesPredicate}
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	until(t, "the policy is known", func() bool { return w.plugin().policy.has(partiesPredicate) })
	web := licensed("web")
	w.agree(web)
	fake.set(func(f *fakeSidecar) {
		f.edit = func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error {
			return status.Error(codes.Unavailable, "for the test")
		}
	})
	state, status := w.permit(web, "a")
	if !status.IsSuccess() || w.plugin().negotiated(state) != nil {
		t.Errorf("in tree: %v", status)
	}
	until(t, "the agreement is given up", func() bool {
		_, selected, released, open := fake.parties.counts()
		return selected == 0 && released == 1 && open == 0 && w.plugin().negotiations.len() == 0
	})
}
