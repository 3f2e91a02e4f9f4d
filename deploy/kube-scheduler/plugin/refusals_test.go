package plugin

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// flow has placements that the sidecar does not take in: so many new ones each second, each of which ends after four.
type flow struct {
	*world
	fake  *fakeSidecar
	clock *fakeClock
	spoil func(*fakeSidecar, string)
	rate  int
	made  int
	alive []types.UID
}

// second lets a second pass, in which placements are made and end.
func (f *flow) second() {
	ledger := &f.plugin().sidecar.ledger
	if ended := len(f.alive) - 3*f.rate; ended > 0 {
		for _, uid := range f.alive[:ended] {
			ledger.shown(uid)
		}
		f.alive = f.alive[ended:]
	}
	for range f.rate {
		f.made++
		placed := pod(fmt.Sprint("refused-", f.made)).Obj()
		f.fake.set(func(fake *fakeSidecar) { f.spoil(fake, string(placed.UID)) })
		ledger.reserve(placed, "a", false)
		f.alive = append(f.alive, placed.UID)
	}
	f.clock.pass(time.Second)
}

// settled waits until nothing is told beside the cycles.
func (f *flow) settled() {
	f.t.Helper()
	shared := f.plugin().sidecar
	until(f.t, "nothing is told", func() bool { return !shared.catchingUp.Load() && !shared.tellingSetAside.Load() })
}

func TestASteadyFlowOfRefusedPlacementsKeepsNoQuestionFromBeingAsked(t *testing.T) {
	for what, test := range map[string]struct {
		spoil func(*fakeSidecar, string)
		rate  int
	}{
		"many without room":  {unplaceable["no room"], 2 * maxChangesWithQuestion},
		"some without room":  {unplaceable["no room"], 1},
		"many on no node":    {unplaceable["not found"], 2 * maxChangesWithQuestion},
		"a request fails":    {unplaceable["panic"], 1},
		"many requests fail": {unplaceable["panic"], maxChangesWithQuestion},
	} {
		t.Run(what, func(t *testing.T) {
			var named atomic.Int64
			klog.SetLogger(funcr.New(func(_, args string) {
				if strings.Contains(args, "asked without it") {
					named.Add(1)
				}
			}, funcr.Options{}))
			defer klog.ClearLogger()
			f := &flow{fake: startFake(t, "a"), clock: newFakeClock(), spoil: test.spoil, rate: test.rate}
			f.world = newWorld(t, full, patient(f.fake.address(), failing), node("a"))
			f.plugin().sidecar.ledger.clock = f.clock.now
			until(t, "the sidecar answers", f.answers)
			// A few questions of each second can be lost to those that are told.
			second := func() bool {
				f.second()
				answered := false
				for range 20 {
					answered = f.answers() || answered
					f.settled()
					f.clock.pass(time.Millisecond)
				}
				return answered
			}
			for range int(refusalPatience/time.Second) + 1 {
				second()
			}
			before := len(f.fake.asked())
			for at := range 30 {
				if !second() {
					t.Fatalf("no answer counts in second %d of the flow, with %d questions", at, len(f.fake.asked())-before)
				}
			}
			if left := f.plugin().sidecar.ledger.len(); left > 4*test.rate {
				t.Errorf("%d are kept", left)
			}
			if lines := named.Load(); lines == 0 || lines > maxNamed {
				t.Errorf("%d are named", lines)
			}
			f.fake.mutex.Lock()
			defer f.fake.mutex.Unlock()
			for uid, told := range f.fake.told {
				if number(uid[len("uid-refused-"):]) > uint64(10*test.rate) && told > 6 {
					t.Errorf("%s is told %d times", uid, told)
				}
			}
		})
	}
}

// A placement that is refused for good is no flow: what is refused beside it, such as one on a node that the sidecar sees a moment later,
// is waited for as if it were alone.
func TestAPlacementThatIsRefusedForGoodTakesNoPatienceFromTheNext(t *testing.T) {
	fake, clock := startFake(t, "a"), newFakeClock()
	w := newWorld(t, full, patient(fake.address(), failing), node("a"))
	ledger := &w.plugin().sidecar.ledger
	ledger.clock = clock.now
	refused := func(name string) {
		fake.set(func(f *fakeSidecar) { f.refuses["uid-"+name] = "NOT_FOUND" })
		ledger.reserve(pod(name).Obj(), "a", false)
		if w.answers() {
			t.Errorf("an answer counts that lacks %s", name)
		}
	}
	patience := func() {
		until(t, "the sidecar answers without it", func() bool { clock.pass(refusalPause); return w.answers() })
	}
	refused("for good")
	patience()
	for range 3 * int(refusalPatience/refusalPause) {
		clock.pass(refusalPause)
		if !w.answers() {
			t.Fatal("no answer")
		}
		until(t, "it is told again", func() bool { return !w.plugin().sidecar.tellingSetAside.Load() })
	}
	refused("for a moment")
	fake.set(func(f *fakeSidecar) { delete(f.refuses, "uid-for a moment") })
	if !w.answers() || fake.placements()["uid-for a moment"] != "a" {
		t.Error("it is not told again at once")
	}
	// A flow that has ceased is none either.
	refused("later")
	patience()
	clock.pass(refusalPatience)
	refused("much later")
}

// While the sidecar says nothing, it refuses nothing: what requests failed for then takes no patience from what it refuses once it is back.
func TestTheTimeOfASilenceIsNoRunOfRefusals(t *testing.T) {
	fake, clock := startFake(t, "a"), newFakeClock()
	w := newWorld(t, full, patient(fake.address(), failing, hasty), node("a"))
	shared := w.plugin().sidecar
	shared.ledger.clock, shared.timeout = clock.now, 10*time.Millisecond
	fake.paused.Store(true)
	for at := range 2 * int(refusalPatience/refusalPause) {
		shared.ledger.reserve(pod(fmt.Sprint("before-", at)).Obj(), "a", false)
		clock.pass(refusalPause)
		shared.catchUp(0)
		shared.tellSetAside()
		until(t, "all have failed", func() bool { return !shared.catchingUp.Load() && !shared.tellingSetAside.Load() })
	}
	if shared.ledger.run.isLong(clock.now()) {
		t.Errorf("a run from %s to %s", shared.ledger.run.first, shared.ledger.run.last)
	}
}

func TestARunOfRefusalsEndsWithAPause(t *testing.T) {
	var of run
	begin := time.Unix(1_000_000, 0)
	for _, each := range []struct {
		after         time.Duration
		refused, long bool
	}{
		{0, true, false},
		{refusalPatience - 1, true, false},
		{refusalPatience, false, false},
		{refusalPatience, true, true},
		{2*refusalPatience - 1, false, true},
		{2 * refusalPatience, false, false},
		{2 * refusalPatience, true, false},
	} {
		if each.refused {
			of.note(begin.Add(each.after))
		}
		if long := of.isLong(begin.Add(each.after)); long != each.long {
			t.Errorf("after %s: %t", each.after, long)
		}
	}
}
