package yunikorn_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

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

// One pod whose question takes too long is not asked about for a while; the others are.
func TestAPodThatTakesTooLongDoesNotKeepOthersFromBeingAskedAbout(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{Timeout: scaled(50 * time.Millisecond), MaxAge: -1})
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.change(func() {
		f.slow = func(ctx context.Context, uid string) {
			if uid == "uid-heavy" {
				<-ctx.Done()
			}
		}
	})
	heavy := pod("heavy", "5")
	ask(t, m, heavy, info("node-0001", "900"), true, 0)
	expectCalls(t, of, "Predicates node-0001")
	asked := m.Counts().Asked
	until(t, "questions are asked again", func() bool { return m.Health().Answers })
	for at := range 100 {
		ask(t, m, heavy, info("node-0001", "900"), true, 0)
		until(t, fmt.Sprintf("pod %d is asked about", at), func() bool {
			plugin, _ := m.Predicates(pod(fmt.Sprint(at), "5"), info("node-0001", "900"), true)
			return plugin == "NodeResourcesFit"
		})
	}
	f.mutex.Lock()
	about := 0
	for _, request := range f.filters {
		if request.GetPods()[0].GetUid() == "uid-heavy" {
			about++
		}
	}
	f.mutex.Unlock()
	if about > 20 || m.Counts().Asked < asked+100 {
		t.Fatalf("%d questions about the pod, %+v", about, m.Counts())
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
