package plugin

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// fakeClock is a time that a test sets.
type fakeClock struct {
	mutex sync.Mutex
	time  time.Time
}

func newFakeClock() *fakeClock { return &fakeClock{time: time.Unix(1_000_000, 0)} }

func (c *fakeClock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.time
}

func (c *fakeClock) pass(time time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.time = c.time.Add(time)
}

// restored is a scheduler that has seen version 500 of pods, beside a sidecar that has another one.
type restored struct {
	*world
	fake  *fakeSidecar
	clock *fakeClock
	// What the sidecar has of pods.
	has uint64
}

func newRestored(t *testing.T, has uint64) *restored {
	fake := startFake(t, "a")
	r := &restored{fake: fake, clock: newFakeClock(), has: has}
	fake.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		if number(request.GetConsistency().GetMinPodsResourceVersion()) > r.has {
			return status.Error(codes.DeadlineExceeded, "not seen")
		}
		response.Version.PodsResourceVersion, response.Version.NodesResourceVersion = text(r.has), "41"
		return nil
	}
	seen := node("a")
	seen.ResourceVersion = "41"
	old := pod("old").Node("a").Obj()
	old.ResourceVersion = "500"
	r.world = newWorld(t, full, patient(fake.address(), failing), seen, old)
	until(t, "the plugin has seen both objects", func() bool {
		required, _ := r.plugin().observed.required()
		return required == versions{nodesKind: 41, podsKind: 500}
	})
	r.plugin().observed.clock = r.clock.now
	return r
}

// sees shows the plugin a version of a pod.
func (r *restored) sees(version string) {
	shown := pod("shown").Obj()
	shown.ResourceVersion = version
	r.plugin().observed.see(shown)
}

// answers tells whether a pod can be bound on the answer about it.
func (r *restored) answers() bool {
	status, _, _ := r.cycle(ours, pod("web").Obj())
	// The pause of the breaker is none of this.
	r.plugin().sidecar.breaker.progressed()
	return status.Code() != fwk.Error
}

// lacks has it say a number of times that it lacks what is required.
func (r *restored) lacks(times int) {
	r.t.Helper()
	for range times {
		if r.answers() || r.required() != [2]string{"500", "41"} {
			r.t.Fatalf("an answer without what was seen, %v", r.required())
		}
	}
}

// required is what the last question required of pods and nodes.
func (r *restored) required() [2]string {
	asked := r.fake.asked()
	last := asked[len(asked)-1].GetConsistency()
	return [2]string{last.GetMinPodsResourceVersion(), last.GetMinNodesResourceVersion()}
}

func TestVersionsThatGoBackAreRequiredNoMore(t *testing.T) {
	r := newRestored(t, 100)
	r.lacks(versionAnswers)
	r.clock.pass(versionPatience - time.Second)
	r.lacks(versionAnswers)
	r.clock.pass(time.Second)
	for range 3 {
		if !r.answers() {
			t.Fatal("no answer")
		}
	}
	if required := r.required(); required != [2]string{"", "41"} {
		t.Errorf("%v", required)
	}
	// What is seen from then on is required again, once it has been there.
	r.sees("120")
	if !r.answers() || r.required()[0] != "" {
		t.Errorf("%v", r.required())
	}
	r.has = 120
	r.answers()
	if !r.answers() || r.required()[0] != "120" {
		t.Errorf("%v", r.required())
	}
	r.sees("130")
	if r.answers() || r.required()[0] != "130" {
		t.Errorf("%v", r.required())
	}
}

// A version of before that is shown late holds nothing up, and requirements back for one more patience only.
func TestAVersionOfBeforeThatIsShownLateIsForgottenToo(t *testing.T) {
	r := newRestored(t, 100)
	r.lacks(versionAnswers)
	r.clock.pass(versionPatience)
	r.answers()
	r.sees("499")
	if !r.answers() {
		t.Error("no answer")
	}
	r.clock.pass(versionPatience)
	r.answers()
	r.sees("90")
	r.answers()
	if !r.answers() || r.required()[0] != "90" {
		t.Errorf("%v", r.required())
	}
}

// Twice behind for a moment, with a patience between the two, is not behind for all of it.
func TestASidecarThatIsBehindForAMomentIsWaitedFor(t *testing.T) {
	r := newRestored(t, 499)
	r.lacks(versionAnswers)
	r.clock.pass(2 * versionPatience)
	r.has = 500
	r.sees("501")
	if r.answers() || r.required()[0] != "501" {
		t.Errorf("%v", r.required())
	}
	r.has = 501
	if !r.answers() || r.required()[0] != "501" {
		t.Errorf("%v", r.required())
	}
}

// It goes on with what it had when it halted, and has not said before that it has no more.
func TestTheTimeOfAHaltDoesNotCount(t *testing.T) {
	r := newRestored(t, 100)
	r.lacks(versionAnswers)
	r.plugin().observed.silent()
	r.clock.pass(2 * versionPatience)
	r.lacks(1)
}

func TestWhatANewListLacksHasNoVersionOfADeletion(t *testing.T) {
	fake := startFake(t, "a")
	p := newWorld(t, full, patient(fake.address(), failing), node("a")).plugin()
	late := pod("late").Node("a").Obj()
	late.ResourceVersion = "500"
	p.podGone(cache.DeletedFinalStateUnknown{Key: "default/late", Obj: late})
	if required, _ := p.observed.required(); required[podsKind] != 0 {
		t.Errorf("%v", required)
	}
	late.ResourceVersion = "600"
	p.podGone(late)
	if required, _ := p.observed.required(); required[podsKind] != 600 {
		t.Errorf("%v", required)
	}
}
