package yunikorn_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

func TestTheFirstQuestionIsAskedInTheBackground(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	// The first question of a sidecar takes longer than one under the lock may.
	const timeout = 100 * time.Millisecond
	var asked atomic.Int64
	f.change(func() {
		f.delay = func(context.Context) {
			if asked.Add(1) == 1 {
				time.Sleep(2 * timeout)
			}
		}
	})
	m := newManager(client, of, yunikorn.Options{Timeout: timeout})
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mutex.Lock()
	expect(t, "questions under the lock", len(f.filters), 0)
	expect(t, "policies", f.explained, 1)
	f.mutex.Unlock()
	expect(t, "questions under the lock", m.Counts(), yunikorn.Counts{})
	expect(t, "outages", m.Health().Outages, 0)
	m = newManager(client, of, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 2)
	expectCalls(t, of)
}

func TestWaitSaysWhyThereIsNoAnswer(t *testing.T) {
	f, client := startFake(t, 6)
	f.change(func() { f.filterError = unavailable })
	m := newManager(client, &own{}, yunikorn.Options{})
	until(t, "the first question has failed", func() bool { return !m.Health().Answers && m.Health().Outages == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Wait(ctx); err == nil || !contains(err.Error(), "not ready") {
		t.Fatal(err)
	}
	f.change(func() { f.filterError = nil })
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// One pod whose questions have no answer is not asked about for a while; the others are.
func TestAPodWithoutAnAnswerDoesNotKeepOthersFromBeingAskedAbout(t *testing.T) {
	for name, failure := range map[string]func(context.Context) error{
		"it takes too long": func(ctx context.Context) error { <-ctx.Done(); return nil },
		"a panic":           func(context.Context) error { return status.Error(codes.Internal, "a panic") },
		"overloaded":        func(context.Context) error { return status.Error(codes.ResourceExhausted, "too large") },
	} {
		for kind, about := range map[string]func(m *manager, of *v1.Pod){
			"verdicts": func(m *manager, of *v1.Pod) { _, _ = m.Predicates(of, info("node-0001", "900"), true) },
			"victims": func(m *manager, of *v1.Pod) {
				m.PreemptionPredicates(of, info("node-0001", "900"), []*v1.Pod{of, of}, 0)
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				f, client := startFake(t, 6)
				m := newManager(client, &own{}, yunikorn.Options{Timeout: scaled(50 * time.Millisecond), MaxAge: -1})
				if err := m.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				var asked atomic.Int64
				f.change(func() {
					f.about = func(ctx context.Context, uid string) error {
						if uid != "uid-heavy" {
							return nil
						}
						asked.Add(1)
						return failure(ctx)
					}
				})
				heavy := pod("heavy", "5")
				about(m, heavy)
				expect(t, "asked about", asked.Load(), 1)
				others := m.Counts().Asked
				for at := range 100 {
					about(m, heavy)
					until(t, fmt.Sprintf("pod %d is asked about", at), func() bool {
						plugin, _ := m.Predicates(pod(fmt.Sprint(at), "5"), info("node-0001", "900"), true)
						return plugin == "NodeResourcesFit"
					})
				}
				if asked.Load() > 20 || m.Counts().Asked < others+100 {
					t.Fatalf("%d questions about the pod, %+v", asked.Load(), m.Counts())
				}
			})
		}
	}
}

// The sidecar never sees the version of one pod that the shim has. It is tried for with that version for some seconds, once.
func TestAVersionThatNeverComesKeepsOthersFromBeingAskedAboutOnce(t *testing.T) {
	t.Parallel()
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: -1})
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.change(func() { f.never = "99" })
	const triedAtMost, times = 20, 3
	ahead, sibling := replica("ahead", 0), replica("ahead", 1)
	ahead.ResourceVersion = "99"
	for range times {
		before := m.Counts().Asked
		until(t, "it is asked about again", func() bool {
			_, _ = m.Predicates(ahead, info("node-0001", "900"), true)
			return m.Counts().Asked > before
		})
		until(t, "others are asked about", func() bool {
			plugin, _ := m.Predicates(pod("other", "5"), info("node-0001", "900"), true)
			return plugin == "NodeResourcesFit"
		})
		// It is none of its controller's other pods' failure.
		ask(t, m, sibling, info("node-0001", "900"), true, 2)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.triedNever == 0 || f.triedNever > triedAtMost {
		t.Fatalf("tried %d times with a version that never comes", f.triedNever)
	}
}

func TestALogThatHangsKeepsNothingFromBeingAsked(t *testing.T) {
	f, client := startFake(t, 6)
	hangs := make(chan struct{})
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: -1, Outages: func(yunikorn.Outage) { hangs <- struct{}{}; <-f.ended }})
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 2)
	f.change(func() { f.filterError = unavailable })
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 0)
	<-hangs
	f.change(func() { f.filterError = nil })
	until(t, "questions are asked again", func() bool { return m.Health().Answers })
}
