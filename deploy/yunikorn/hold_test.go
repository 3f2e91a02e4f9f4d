package yunikorn_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// longest is the longest of some times.
type longest struct{ nanoseconds atomic.Int64 }

func (l *longest) note(since time.Time) { l.add(time.Since(since)) }

func (l *longest) add(time time.Duration) {
	took := int64(time)
	for {
		before := l.nanoseconds.Load()
		if took <= before || l.nanoseconds.CompareAndSwap(before, took) {
			return
		}
	}
}

func (l *longest) get() time.Duration { return time.Duration(l.nanoseconds.Load()) }

// The bound is a time, so this is one of the tests that measure one: as many calls at once as the core makes, each with nothing to
// come of it, and each for its own time at most.
func TestNoCallHoldsTheLockLongerThanTheTimeOfAQuestion(t *testing.T) {
	const timeout, callers = 200 * time.Millisecond, 10
	hang := func(f *fake) func(context.Context) { return func(context.Context) { <-f.ended } }
	for name, prepare := range map[string]func(t *testing.T) (*nodesift.Client, func()){
		"while placements are pending": func(t *testing.T) (*nodesift.Client, func()) {
			f, client := startFake(t, 6)
			return client, func() {
				f.change(func() { f.delivered = func(context.Context, string) error { <-f.ended; return nil } })
			}
		},
		"while nothing is answered": func(t *testing.T) (*nodesift.Client, func()) {
			f, client := startFake(t, 6)
			return client, func() { f.change(func() { f.delay = hang(f) }) }
		},
		"while it connects": func(t *testing.T) (*nodesift.Client, func()) {
			// Connections are accepted by the kernel, and nobody ever says anything on them.
			listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "n"))
			if err != nil {
				t.Fatal(err)
			}
			client, err := nodesift.Dial("unix://" + listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = client.Close(), listener.Close() })
			return client, func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, begin := prepare(t)
			m := newManager(client, &own{}, yunikorn.Options{Timeout: timeout})
			if name != "while it connects" {
				if err := m.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			begin()
			var held longest
			measured := func(call func()) {
				since := time.Now()
				call()
				held.note(since)
			}
			measured(func() { m.AssumePod(pod("b", "5"), "node-0003") })
			var group sync.WaitGroup
			for caller := range callers {
				group.Go(func() {
					of := pod(fmt.Sprint(caller), "5")
					calls := []func(){
						func() { m.PreemptionPredicates(of, info("node-0001", "900"), []*v1.Pod{of, of}, 0) },
						func() { _, _ = m.Predicates(of, info("node-0001", "900"), true) },
					}
					// Once the time of one is over questions are held back, so only the first of a caller is sure to be asked.
					measured(calls[caller%2])
					measured(calls[1-caller%2])
					measured(func() { m.ForgetPod(string(of.UID)) })
				})
			}
			group.Wait()
			fmt.Printf("%s: the lock was held for %s at most\n", t.Name(), held.get().Round(time.Millisecond))
			if most := timeout + scaled(timeout/2); held.get() > most {
				t.Fatalf("the lock was held for %s, and %s is the most", held.get(), most)
			}
		})
	}
}

// A question has all the time that there is here, and a placement needs none.
func TestPlacementsWaitForNothing(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{Timeout: aLongTime})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	let := make(chan struct{})
	f.change(func() { f.delivered = func(context.Context, string) error { <-let; return nil } })
	m.AssumePod(pod("b", "5"), "node-0003")
	m.ForgetPod("uid-c")
	// Both have returned, and the sidecar has taken in neither.
	expect(t, "waiting", m.Health().Waiting, 2)
	close(let)
	untilDelivered(t, m)
}
