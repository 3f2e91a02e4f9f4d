package plugin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// replica is a pod of a controller.
func replica(of string, at int) *v1.Pod {
	made := pod(fmt.Sprint(of, "-", at)).Obj()
	made.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: of, UID: types.UID("uid-of-" + of), Controller: new(true)}}
	return made
}

// isOf tells whether a request is about a pod of a controller.
func isOf(request *nodesiftv1.FilterRequest, of string) bool {
	return len(request.GetPods()) > 0 && strings.HasPrefix(uidOf(request.GetPods()[0]), "uid-"+of+"-")
}

// slowWorld has a sidecar that gives no answer about the pods of a controller, and a time that the test sets.
func slowWorld(t *testing.T, edits ...func(*Args)) (*world, *fakeSidecar, *fakeClock) {
	fake, clock := startFake(t, "a"), newFakeClock()
	fake.hangs = func(request *nodesiftv1.FilterRequest) bool { return isOf(request, "large") }
	edits = append(edits, func(args *Args) { args.CallTimeout = metav1.Duration{Duration: scaled(100 * time.Millisecond)} })
	w := newWorld(t, full, patient(fake.address(), edits...), node("a"))
	w.plugin().sidecar.slow.clock = clock.now
	until(t, "the sidecar answers", w.answers)
	return w, fake, clock
}

func TestPodsOfAControllerThatTakeTooLongKeepNoOthersFromBeingAskedAbout(t *testing.T) {
	w, fake, clock := slowWorld(t, failing)
	shared := w.plugin().sidecar
	// In all of the replicas' cycles there are so many questions about one of them.
	replicas := func(what string, questions int64) {
		t.Helper()
		before := fake.hanging.Load()
		for at := range 10 {
			if status, _, _ := w.cycle(ours, replica("large", at)); status.Code() != fwk.Error {
				t.Errorf("%s: %v", what, status)
			}
		}
		if asked := fake.hanging.Load() - before; asked != questions {
			t.Errorf("%s: %d questions", what, asked)
		}
		if shared.breaker.open() {
			t.Errorf("%s: the breaker is open", what)
		}
		until(t, "others are asked about, "+what, w.answers)
	}
	replicas("at first", slowQuestions)
	replicas("in the pause", 0)
	for pause := slowPause; pause <= 4*maxSlowPause; pause *= 2 {
		clock.pass(min(pause, maxSlowPause) - 1)
		replicas(fmt.Sprint("before the end of ", pause), 0)
		clock.pass(1)
		replicas(fmt.Sprint("after ", pause), 1)
	}
	// Once there is an answer about one of them, all are asked about.
	clock.pass(maxSlowPause)
	fake.set(func(f *fakeSidecar) { f.hangs = nil })
	for at := range 10 {
		if status, _, _ := w.cycle(ours, replica("large", at)); !status.IsSuccess() {
			t.Errorf("%v", status)
		}
	}
	fake.set(func(f *fakeSidecar) {
		f.hangs = func(request *nodesiftv1.FilterRequest) bool { return isOf(request, "large") }
	})
	replicas("anew", slowQuestions)
}

// What such pods are placed by in the meantime is judged like all else.
func TestPodsThatTakeTooLongAreDecidedAboutAsWithoutAnAnswer(t *testing.T) {
	w, _, _ := slowWorld(t, inTreeDecides)
	slowBefore := counted(t, "calls_total", resultSlow)
	for at := range slowQuestions + 1 {
		w.reserve(replica("large", at), "a")
	}
	if of := &w.plugin().sidecar.outage; of.placed != slowQuestions+1 {
		t.Errorf("%d placed", of.placed)
	}
	if slow := counted(t, "calls_total", resultSlow) - slowBefore; slow != 1 {
		t.Errorf("%d cycles without a question", slow)
	}
}

// A sidecar that hangs hangs for all: no pods are the reason, and none has to wait once it answers.
func TestWhenTheBreakerClosesAllPodsAreAskedAbout(t *testing.T) {
	w, fake, _ := slowWorld(t, failing)
	shared := w.plugin().sidecar
	fake.set(func(f *fakeSidecar) { f.hangs = func(*nodesiftv1.FilterRequest) bool { return true } })
	for at := range slowQuestions + 1 {
		w.cycle(ours, replica("web", at))
	}
	if !shared.slow.isAside("uid-of-web") {
		t.Error("the pods are asked about")
	}
	until(t, "the breaker opens", func() bool {
		w.cycle(ours, pod("other").Obj())
		w.cycle(ours, pod("next").Obj())
		return shared.breaker.open()
	})
	// That a pod is not asked about is no answer.
	if w.cycle(ours, replica("web", 0)); !shared.breaker.open() {
		t.Error("the breaker is closed without an answer")
	}
	fake.set(func(f *fakeSidecar) { f.hangs = nil })
	until(t, "the breaker closes", func() bool { w.cycle(ours, pod("last").Obj()); return !shared.breaker.open() })
	if shared.slow.isAside("uid-of-web") {
		t.Error("the pods are not asked about")
	}
}

// Neither versions that the sidecar lacks nor placements that a question takes along are the pod's.
func TestWhatIsNotThePodsMakesItNotSlow(t *testing.T) {
	r := newRestored(t, 100)
	r.lacks(slowQuestions + 1)
	if of := &r.plugin().sidecar.slow; len(of.of) != 0 {
		t.Errorf("behind: %v", of.of)
	}
	w, fake, _ := slowWorld(t, failing)
	shared := w.plugin().sidecar
	fake.set(func(f *fakeSidecar) {
		f.hangs = func(request *nodesiftv1.FilterRequest) bool { return len(request.GetAssume()) > 0 }
	})
	shared.timeout = 10 * time.Millisecond
	shared.ledger.reserve(pod("placed").Obj(), "a", false)
	w.cycle(ours, pod("web").Obj())
	if len(shared.slow.of) != 0 {
		t.Errorf("with a placement: %v", shared.slow.of)
	}
}

func TestOnlySoManySlowPodsAreRemembered(t *testing.T) {
	var of slow
	for at := range 2*maxSlow + 1 {
		of.failed(types.UID(fmt.Sprint(at)))
	}
	if len(of.of) != 1 {
		t.Errorf("%d", len(of.of))
	}
}

// A fault is an answer: it costs one question for each cycle of the pod, at once, and nobody else anything. The sidecar itself sees to it
// that it does not evaluate such pods again and again.
func TestAFaultIsAskedAboutOnceInACycleAndKeepsNoOthersFromBeingAskedAbout(t *testing.T) {
	for what, decides := range map[string]func(*Args){"failing": failing, "in tree": inTreeDecides} {
		fake := startFake(t, "a")
		w := newWorld(t, full, patient(fake.address(), decides), node("a"))
		until(t, "the sidecar answers", w.answers)
		fake.set(func(f *fakeSidecar) {
			f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
				if isOf(request, "faulty") {
					response.Pods[0].Faults = []*nodesiftv1.Fault{{Predicate: "NodePorts", Fault: "Quarantined", Effect: "Rejected"}}
				}
				return nil
			}
		})
		before := len(fake.asked())
		const cycles = 3 * breakerFailures
		for at := range cycles {
			w.cycle(ours, replica("faulty", at))
		}
		if asked := len(fake.asked()) - before; asked != cycles {
			t.Errorf("%s: %d questions in %d cycles", what, asked, cycles)
		}
		if shared := w.plugin().sidecar; shared.breaker.failures != 0 || len(shared.slow.of) != 0 || !w.answers() {
			t.Errorf("%s: others are not asked about", what)
		}
	}
}
