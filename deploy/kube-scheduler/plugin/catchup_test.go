package plugin

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"
)

// place notes placements in the ledger, and is what the sidecar is to have.
func (w *world) place(placements int) map[string]string {
	wanted := map[string]string{}
	for at := range placements {
		name := fmt.Sprint("placed-", at)
		w.plugin().sidecar.ledger.reserve(pod(name).Obj(), "a", false)
		wanted["uid-"+name] = "a"
	}
	return wanted
}

// answers tells whether the sidecar decides about a pod.
func (w *world) answers() bool {
	status, _, state := w.cycle(ours, pod("web").Obj())
	if !status.IsSuccess() {
		return false
	}
	of, err := stateOf(state)
	if err != nil {
		w.t.Fatal(err)
	}
	return of.inTree == nil
}

// All of them take six times as long as a question may, and each a tenth.
func TestASlowSidecarIsToldAllPlacementsAfterARestart(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, func(args *Args) { args.Address = fake.address() }, node("a"))
	wanted := w.place(60)
	until(t, "the sidecar answers", w.answers)
	fake.perPlacement.Store(int64(2 * time.Millisecond))
	fake.server.Stop()
	fake.start(t)
	until(t, "the sidecar answers after a restart", w.answers)
	if placed := fake.placements(); !maps.Equal(placed, wanted) {
		t.Errorf("%d of %d placements", len(placed), len(wanted))
	}
	if fake.mostWithQuestion > maxChangesWithQuestion || fake.most <= maxChangesWithQuestion {
		t.Errorf("%d placements with a question, %d in one request", fake.mostWithQuestion, fake.most)
	}
}

func TestASidecarThatTakesFewPlacementsAtOnceGetsFew(t *testing.T) {
	fake := startFake(t, "a")
	for _, fake.takes = range []int{10, 1} {
		w := newWorld(t, full, patient(fake.address(), failing), node("a"))
		wanted := w.place(60)
		until(t, "the sidecar answers", w.answers)
		if placed := fake.placements(); !maps.Equal(placed, wanted) || fake.most > fake.takes {
			t.Errorf("%d of %d placements, %d at once", len(placed), len(wanted), fake.most)
		}
		w.cancel()
		fake.set(func(f *fakeSidecar) { f.most, f.placed = 0, map[string]string{} })
	}
}

// What one placement fails with, by itself or with all that a request has.
var unplaceable = map[string]func(*fakeSidecar, string){
	"not found":         func(f *fakeSidecar, uid string) { f.refuses[uid] = "NOT_FOUND" },
	"no room":           func(f *fakeSidecar, uid string) { f.refuses[uid] = "RESOURCE_EXHAUSTED" },
	"request too large": func(f *fakeSidecar, uid string) { f.fails[uid] = codes.ResourceExhausted },
	"panic":             func(f *fakeSidecar, uid string) { f.fails[uid] = codes.Internal },
	"no answer":         func(f *fakeSidecar, uid string) { f.fails[uid] = codes.OK },
}

func TestAPlacementThatDoesNotComeThroughHoldsAnswersUpForAWhileOnly(t *testing.T) {
	for what, spoil := range unplaceable {
		t.Run(what, func(t *testing.T) {
			const bad = "uid-placed-7"
			named := atomic.Int64{}
			klog.SetLogger(funcr.New(func(_, args string) {
				if strings.Contains(args, "asked without it") && strings.Contains(args, "placed-7") {
					named.Add(1)
				}
			}, funcr.Options{}))
			defer klog.ClearLogger()
			fake, clock := startFake(t, "a"), newFakeClock()
			w := newWorld(t, full, patient(fake.address(), failing, hasty), node("a"))
			shared := w.plugin().sidecar
			shared.ledger.clock, shared.timeout = clock.now, 100*time.Millisecond
			fake.set(func(f *fakeSidecar) { spoil(f, bad) })
			wanted := w.place(12)
			others := maps.Clone(wanted)
			delete(others, bad)
			until(t, "the others are told", func() bool {
				if w.answers() {
					t.Fatal("an answer counts that lacks a placement")
				}
				return maps.Equal(fake.placements(), others)
			})
			for range 20 {
				if w.answers() {
					t.Fatal("an answer counts that lacks a placement")
				}
			}
			until(t, "the sidecar answers without it", func() bool {
				clock.pass(refusalPause)
				return w.answers()
			})
			told := func() int {
				fake.mutex.Lock()
				defer fake.mutex.Unlock()
				return fake.told[bad]
			}
			asked, before := len(fake.asked()), told()
			for range 100 {
				w.cycle(ours, pod("web").Obj())
			}
			if again := told() - before; len(fake.asked())-asked < 90 || again > 1 {
				t.Errorf("%d of 100 questions, told %d times again", len(fake.asked())-asked, again)
			}
			fake.set(func(f *fakeSidecar) { clear(f.refuses); clear(f.fails) })
			until(t, "it is told", func() bool {
				clock.pass(refusalPause)
				return w.answers() && maps.Equal(fake.placements(), wanted)
			})
			if named.Load() != 1 {
				t.Errorf("named %d times", named.Load())
			}
		})
	}
}

// While it says nothing at all, that is not the fault of what it is told, however long it lasts.
func TestASidecarThatSaidNothingForLongIsToldAllPlacements(t *testing.T) {
	fake, clock := startFake(t, "a"), newFakeClock()
	w := newWorld(t, full, patient(fake.address(), failing, hasty), node("a"))
	shared := w.plugin().sidecar
	shared.ledger.clock, shared.timeout = clock.now, 100*time.Millisecond
	fake.paused.Store(true)
	wanted := w.place(1)
	until(t, "the sidecar is not asked any more", func() bool {
		clock.pass(refusalPause)
		return !w.answers() && shared.breaker.open()
	})
	clock.pass(10 * refusalPatience)
	fake.paused.Store(false)
	until(t, "the sidecar answers", w.answers)
	if placed := fake.placements(); !maps.Equal(placed, wanted) {
		t.Errorf("%v", placed)
	}
}
