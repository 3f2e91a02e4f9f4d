package plugin

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// asksNobody tells whether a request is about the pod that no cluster has.
func asksNobody(request *nodesiftv1.FilterRequest) bool {
	return uidOf(request.GetPods()[0]) == nameOfNobody
}

// impatient waits hardly between two questions beside the cycles.
func (w *world) impatient() *outage {
	w.plugin().sidecar.judgePause = time.Millisecond
	return &w.plugin().sidecar.outage
}

// awaits tells whether somebody waits for answers.
func (o *outage) awaits() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.awaiting
}

// The cluster is quiet once the pods are placed: there is not one cycle more.
func TestPodsThatWerePlacedInAnOutageAreJudgedThoughNoOtherPodIsScheduled(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	log, of := w.logged(), w.impatient()
	until(t, "the sidecar answers", w.answers)
	if of.awaits() {
		t.Error("somebody waits for nothing")
	}
	fake.server.Stop()
	w.reserve(pod("first").Obj(), "a")
	w.reserve(pod("second").Obj(), "a")
	if !of.awaits() {
		t.Error("nobody waits")
	}
	breaker := &w.plugin().sidecar.breaker
	until(t, "the breaker opens", func() bool { w.answers(); return breaker.open() })
	asked := len(fake.asked())
	fake.start(t)
	until(t, "the pods are judged", func() bool { return log.with(judgedLine) != nil })
	log.expect(t, placedLine, `"placed"=2 `, `["default/first on a" "default/second on a"]`)
	log.expect(t, judgedLine, `"pods"=2 "judged"=2 "misfits"=0`)
	// The next cycle need not wait for the pause of the breaker.
	if !breaker.allows() {
		t.Error("the next call is held back")
	}
	until(t, "nobody waits any more", func() bool { return !of.awaits() })
	for _, request := range fake.asked()[asked:] {
		if !asksNobody(request) && !judges(request) {
			t.Errorf("a cycle: %v", request)
		}
	}
	// The next outage has somebody wait again.
	fake.server.Stop()
	w.reserve(pod("later").Obj(), "a")
	fake.start(t)
	until(t, "it is judged", func() bool { return len(log.with(judgedLine)) == 2 })
}

func TestNothingIsJudgedBeforeACycleWouldHaveAnAnswer(t *testing.T) {
	about := func(edit func(*nodesiftv1.FilterResponse) error) func(*fakeSidecar) {
		return func(f *fakeSidecar) {
			f.edit = func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error { return edit(response) }
		}
	}
	for what, spoil := range map[string]func(*fakeSidecar){
		"stale": about(func(response *nodesiftv1.FilterResponse) error { response.Version.Stale = true; return nil }),
		"away":  about(func(*nodesiftv1.FilterResponse) error { return status.Error(codes.Unavailable, "away") }),
		"behind": func(f *fakeSidecar) {
			f.edit = func(request *nodesiftv1.FilterRequest, _ *nodesiftv1.FilterResponse) error {
				if number(request.GetConsistency().GetMinPodsResourceVersion()) > 500 {
					return status.Error(codes.DeadlineExceeded, "not seen")
				}
				return nil
			}
		},
		"lacking a node": func(f *fakeSidecar) { f.nodes = []string{"a"} },
	} {
		t.Run(what, func(t *testing.T) {
			fake := startFake(t, "a", "new")
			w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), node("new"))
			log, of := w.logged(), w.impatient()
			shown := pod("shown").Obj()
			shown.ResourceVersion = "501"
			w.plugin().observed.see(shown)
			fake.set(spoil)
			w.reserve(pod("web").Obj(), "new")
			asked := fake.begun.Load()
			until(t, "it is asked now and then", func() bool { return fake.begun.Load() > asked+10 })
			if found := log.with("placed"); found != nil || !of.awaits() {
				t.Errorf("%v", found)
			}
			fake.set(func(f *fakeSidecar) { f.edit, f.nodes = nil, []string{"a", "new"} })
			until(t, "the pod is judged", func() bool { return log.with(judgedLine) != nil })
			log.expect(t, judgedLine, `"pods"=1 "judged"=1 `)
		})
	}
}

// Versions are not required for longer than a cycle would: there may be none that notices that they have gone back.
func TestPodsAreJudgedThoughVersionsHaveGoneBackAndNoPodIsScheduled(t *testing.T) {
	r := newRestored(t, 100)
	log, of := r.logged(), r.impatient()
	of.note(placement{r.plugin(), pod("web").Obj(), "a"})
	r.plugin().sidecar.awaitAnswers()
	said := func() int {
		o := r.plugin().observed
		o.mutex.Lock()
		defer o.mutex.Unlock()
		return o.said
	}
	until(t, "the sidecar says what it lacks", func() bool { return said() >= versionAnswers })
	r.clock.pass(versionPatience)
	until(t, "the pod is judged", func() bool { return log.with(judgedLine) != nil })
}

func TestPodsThatAnotherOutageKeepsFromBeingJudgedAreJudgedThoughNoPodIsScheduled(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	log, of := w.logged(), w.impatient()
	for at := range 3 {
		of.note(placement{w.plugin(), pod(fmt.Sprint("web-", at)).Obj(), "a"})
	}
	fake.set(func(f *fakeSidecar) {
		f.edit = func(request *nodesiftv1.FilterRequest, _ *nodesiftv1.FilterResponse) error {
			if judges(request) && request.GetPods()[0].GetUid() == "uid-web-0" {
				return status.Error(codes.Unavailable, "away")
			}
			return nil
		}
	})
	// The last cycle that there is.
	until(t, "the sidecar answers", w.answers)
	until(t, "the others are judged", func() bool { return len(log.with(judgedLine)) > 1 })
	log.expect(t, judgedLine+` "pods"=2 "judged"=2 `)
	until(t, "nobody waits any more", func() bool { return !of.awaits() })
}

func TestNobodyWaitsForASidecarWhoseConnectionIsClosed(t *testing.T) {
	w := newWorld(t, full, patient("unix:///nowhere/nodesift.sock", inTreeDecides), node("a"))
	of := w.impatient()
	w.reserve(pod("web").Obj(), "a")
	if !of.awaits() {
		t.Error("nobody waits")
	}
	w.cancel()
	until(t, "nobody waits any more", func() bool { return !of.awaits() })
}

func TestOnlyOneWaitsAndNoLongerThanPodsDo(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	of, ended := w.impatient(), make(chan struct{})
	if of.await() {
		t.Error("somebody is to wait for nothing")
	}
	of.note(placement{w.plugin(), pod("web").Obj(), "a"})
	if !of.await() || of.await() {
		t.Error("not one is to wait")
	}
	go func() {
		w.plugin().sidecar.askWhilePodsWait()
		close(ended)
	}()
	until(t, "the one that waits ends", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if of.awaits() {
		t.Error("somebody waits for nothing")
	}
}
