package yunikorn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

func TestManyPlacementsAreDeliveredAtOnce(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	const atOnce, pods = 10, 100
	f.takes(seeded(t))
	let := make(chan struct{})
	f.change(func() { f.delivered = func(context.Context, string) error { <-let; return nil } })
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	// The first calls have one placement each, because no more waited. Those after them have all the others.
	until(t, "four calls are on their way", func() bool {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.atOnce == 4
	})
	close(let)
	untilDelivered(t, m)
	expect(t, "placed", len(f.placements()), pods)
	expect(t, "outages", m.Health().Outages, 0)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	expect(t, "many in one call, and not all", f.most >= atOnce && f.most <= 50, true)
	expect(t, "calls at once", f.mostAtOnce, 4)
	expect(t, "few calls", f.calls <= pods/atOnce, true)
}

// One call has placements that are taken in, pods that have to be sent whole, and nodes that the sidecar has not seen.
func TestAPlacementThatIsRefusedFailsNoOtherOfItsCall(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	const pods = 60
	shim := map[string]string{}
	f.change(func() {
		f.unseen, f.unknown = map[string]bool{}, map[string]bool{"late": true}
		for at := range pods {
			f.unseen[string(pod(fmt.Sprint(at), "5").UID)] = at%3 == 1
		}
		f.placed["uid-old"] = "node-0000"
		f.perCall = 10 * time.Millisecond
	})
	m.ForgetPod("uid-old")
	for at := range pods {
		of := pod(fmt.Sprint(at), "5")
		shim[string(of.UID)] = "node-0003"
		if at%3 == 2 {
			shim[string(of.UID)] = "late"
		}
		m.AssumePod(of, shim[string(of.UID)])
	}
	until(t, "only those wait whose node is not known", func() bool { return m.Health().Waiting == pods/3 })
	for uid, node := range f.placements() {
		expect(t, uid, node, "node-0003")
	}
	expect(t, "placed", len(f.placements()), pods-pods/3)
	f.change(func() { f.unknown = nil })
	untilDelivered(t, m)
	expect(t, "placed", fmt.Sprint(f.placements()), fmt.Sprint(shim))
	f.mutex.Lock()
	defer f.mutex.Unlock()
	expect(t, "in one call", f.most > 10, true)
	expect(t, "in two calls at once", len(f.overlaps), 0)
}

// A full call would take longer than a call may.
func TestASidecarThatIsSlowForEachPlacementGetsFewerInACall(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() {
		f.delivered = func(ctx context.Context, _ string) error {
			select {
			case <-time.After(50 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	const pods = 60
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	until(t, "all but those of the last calls are delivered", func() bool { return m.Health().Delivered >= pods })
	expect(t, "placed", len(f.placements()), pods)
}

// A question waits for a placement as long as it has time, and its end is not that of the delivery.
func TestAPlacementHasATimeOfItsOwn(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{Timeout: 20 * time.Millisecond})
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	arrived, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f.change(func() {
		f.delivered = func(ctx context.Context, _ string) error {
			close(arrived)
			select {
			case <-let:
				ended <- nil
			case <-ctx.Done():
				ended <- ctx.Err()
			}
			return nil
		}
	})
	m.AssumePod(pod("b", "5"), "node-0003")
	<-arrived
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 0)
	expectCalls(t, of, "Predicates node-0001")
	close(let)
	if err := <-ended; err != nil {
		t.Fatalf("the delivery ends with the question: %v", err)
	}
	until(t, "the sidecar is asked again", func() bool {
		plugin, _ := m.Predicates(pod("web", "5"), info("node-0001", "900"), true)
		return plugin == "NodeResourcesFit"
	})
	expect(t, "placed", f.placements()["uid-b"], "node-0003")
}

func TestPlacementsOfOnePodArriveInTheirOrder(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	random := seeded(t)
	fmt.Printf("%s: %s\n", t.Name(), f.takes(random))
	var mutex sync.Mutex
	f.change(func() {
		f.delivered = func(context.Context, string) error {
			mutex.Lock()
			wait, fails := time.Duration(random.IntN(1000))*time.Microsecond, random.IntN(20) == 0
			mutex.Unlock()
			time.Sleep(wait)
			if fails {
				return unavailable
			}
			return nil
		}
	})
	shim := map[string]string{}
	for range 1000 {
		mutex.Lock()
		of, row, placed := pod(fmt.Sprint(random.IntN(20)), "5"), random.IntN(6), random.IntN(2) == 0
		mutex.Unlock()
		if placed {
			shim[string(of.UID)] = f.nodes[row]
			m.AssumePod(of, f.nodes[row])
		} else {
			delete(shim, string(of.UID))
			m.ForgetPod(string(of.UID))
		}
	}
	untilDelivered(t, m)
	// Maps are printed in the order of their keys.
	expect(t, "placed", fmt.Sprint(f.placements()), fmt.Sprint(shim))
	f.mutex.Lock()
	defer f.mutex.Unlock()
	expect(t, "in two calls at once", fmt.Sprint(f.overlaps), "[]")
}

// Nothing is asked in this test: neither a question nor a further placement carries what waits.
func TestWhatCannotBeDeliveredIsDeliveredOnItsOwn(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	const pods = 200
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	untilDelivered(t, m)
	f.change(func() { f.forgetError, f.assumeError = unavailable, unavailable })
	for at := range pods {
		m.ForgetPod(string(pod(fmt.Sprint(at), "5").UID))
	}
	m.AssumePod(pod("last", "5"), "node-0000")
	until(t, "it is known that the sidecar does not answer", func() bool { return !m.Health().Answers })
	expect(t, "waiting", m.Health().Waiting, pods+1)
	f.change(func() { f.forgetError, f.assumeError = nil, nil })
	untilDelivered(t, m)
	expect(t, "placed", fmt.Sprint(f.placements()), "map[uid-last:node-0000]")
	until(t, "questions are asked again", func() bool { return m.Health().Answers })
}

// The sidecar answers no question and takes placements in.
func TestPlacementsAreDeliveredWhileNothingIsAsked(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.filterError = unavailable })
	ask(t, m, pod("web2", "5"), info("node-0001", "900"), true, 0)
	expect(t, "answers", m.Health().Answers, false)
	const pods = 200
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	untilDelivered(t, m)
	expect(t, "placed", len(f.placements()), pods)
	expect(t, "answers", m.Health().Answers, false)
}

// What the sidecar has not taken in in the time of a question is no reason to rest longer: it is asked again as soon as it has.
func TestASidecarThatTakesPlacementsInIsAskedAgainOnceItHasAll(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	var mutex sync.Mutex
	var outages []yunikorn.Outage
	m := newManager(client, of, yunikorn.Options{Timeout: 20 * time.Millisecond, Outages: func(outage yunikorn.Outage) {
		mutex.Lock()
		defer mutex.Unlock()
		outages = append(outages, outage)
	}})
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	let := make(chan struct{})
	f.change(func() { f.delivered = func(context.Context, string) error { <-let; return nil } })
	const pods = 500
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 0)
	expectCalls(t, of, "Predicates node-0001")
	// An answer is not long ago, so that a question in the background has to fail, too.
	until(t, "questions are held back", func() bool { return !m.Health().Answers })
	f.mutex.Lock()
	tries := f.tries
	f.mutex.Unlock()
	close(let)
	until(t, "it is asked again", func() bool { return m.Health().Answers })
	expect(t, "placed", len(f.placements()), pods)
	f.mutex.Lock()
	expect(t, "tried before all were delivered", f.tries > tries, true)
	f.mutex.Unlock()
	until(t, "the outage is logged", func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return len(outages) > 1 && outages[1].Stage == yunikorn.Ended
	})
	expect(t, "waited", outages[1].Waited, pods)
}

// A call without an answer is followed by one at a time. The first that is answered ends that.
func TestACallThatIsAnsweredEndsTheCautionAfterThoseThatWereNot(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.assumeError = unavailable })
	m.AssumePod(pod("first", "5"), "node-0003")
	until(t, "it is known that the sidecar does not answer", func() bool { return !m.Health().Answers })
	f.change(func() { f.assumeError, f.perCall = nil, 20*time.Millisecond })
	untilDelivered(t, m)
	until(t, "four calls are on their way", func() bool {
		for at := range 100 {
			m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
		}
		untilDelivered(t, m)
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.mostAtOnce == 4
	})
}

func TestAClosedClientEndsWhatIsDoneInTheBackground(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.assumeError = unavailable })
	m.AssumePod(pod("b", "5"), "node-0003")
	until(t, "questions are held back", func() bool { return !m.Health().Answers })
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 0)
	if err := m.Wait(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
