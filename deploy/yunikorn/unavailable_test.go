package yunikorn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

const (
	noPod    = "predicates were not run because pod was not found in cache"
	noNode   = "predicates were not run because node was not found in cache"
	noAnswer = "predicates were not run because nodesift gave no answer"
	noClaims = "predicates were not run because no predicate evaluates what the pod needs"
)

var unsupported = []*nodesiftv1.Fault{{Predicate: "DynamicResources", Fault: "Unsupported", Effect: "Rejected"}}

func TestWhereTheSidecarHasNoVerdictTheOwnManagerDecides(t *testing.T) {
	for name, test := range map[string]struct {
		node   string
		text   string
		change func(f *fake)
	}{
		"not ready":       {"node-0001", noAnswer, func(f *fake) { f.filterError = unavailable }},
		"overloaded":      {"node-0001", noAnswer, func(f *fake) { f.filterError = status.Error(codes.ResourceExhausted, "") }},
		"behind":          {"node-0001", noAnswer, func(f *fake) { f.filterError = status.Error(codes.DeadlineExceeded, "") }},
		"broken":          {"node-0001", noAnswer, func(f *fake) { f.filterError = status.Error(codes.Internal, "") }},
		"stale":           {"node-0001", noAnswer, func(f *fake) { f.stale = true }},
		"slow":            {"node-0001", noAnswer, func(f *fake) { f.delay = func(context.Context) { <-f.ended } }},
		"unknown pod":     {"node-0001", noPod, func(f *fake) { f.filterError = status.Error(codes.NotFound, "") }},
		"unusable pod":    {"node-0001", noPod, func(f *fake) { f.filterError = status.Error(codes.InvalidArgument, "") }},
		"unknown node":    {"node-9999", noNode, func(*fake) {}},
		"resource claims": {"node-0001", noClaims, func(f *fake) { f.faults = unsupported }},
		"placement lost":  {"node-0001", noAnswer, func(f *fake) { f.assumeError = unavailable }},
	} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			f.change(func() { test.change(f) })
			timeout := time.Duration(0)
			if f.delay != nil {
				timeout = 20 * time.Millisecond
			}
			of := &own{}
			m := newManager(client, of, yunikorn.Options{Timeout: timeout, Unavailable: yunikorn.Own})
			if f.assumeError != nil {
				m.AssumePod(pod("b", "5"), "node-0003")
			}
			if plugin, err := m.Predicates(pod("a", "5"), info(test.node, "900"), true); plugin != "" || err != nil {
				t.Fatal(plugin, err)
			}
			expectCalls(t, of, "Predicates "+test.node)

			reject := newManager(client, of, yunikorn.Options{Timeout: timeout, Unavailable: yunikorn.Reject})
			if f.assumeError != nil {
				reject.AssumePod(pod("b", "5"), "node-0003")
			}
			plugin, err := reject.Predicates(pod("a", "5"), info(test.node, "900"), true)
			if err == nil || plugin != "nodesift" {
				t.Fatal(plugin, err)
			}
			// The core counts equal texts.
			expect(t, "the text", err.Error(), test.text)
			expectCalls(t, of)
		})
	}
}

func TestASidecarThatFailsIsAskedInTheBackgroundAlone(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	ask(t, m, pod("a", "5"), info("node-0001", "900"), true, 2)
	f.change(func() { f.filterError = unavailable })
	for at := range 1000 {
		ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0000", "900"), true, 0)
	}
	expect(t, "questions", m.Counts(), yunikorn.Counts{Asked: 2, Own: 1000})
	tries := func() int {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.tries
	}
	before := tries()
	until(t, "it is tried again and again", func() bool { return tries() > before+2 })
	f.change(func() { f.filterError = nil })
	until(t, "it answers again", func() bool { return m.Health().Answers })
	ask(t, m, pod("a", "5"), info("node-0001", "900"), true, 2)
	expect(t, "questions", m.Counts(), yunikorn.Counts{Asked: 3, Own: 1000})
}

func TestAPodWithoutAVerdictIsNotAskedAboutPerNode(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	untilAnswered(t, m)
	f.change(func() { f.filterError = status.Error(codes.NotFound, "") })
	for range 100 {
		ask(t, m, pod("a", "5"), info("node-0000", "900"), true, 0)
	}
	expect(t, "questions", m.Counts(), yunikorn.Counts{Asked: 1, Own: 100})
	// It is about that pod alone.
	f.change(func() { f.filterError = nil })
	ask(t, m, pod("b", "5"), info("node-0001", "900"), true, 2)
}

func TestPodsAndNodesThatAreNoneAreLeftToTheShim(t *testing.T) {
	_, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	untilAnswered(t, m)
	unnamed := pod("a", "5")
	unnamed.UID = ""
	ask(t, m, unnamed, info("node-0001", "900"), true, 0)
	expectCalls(t, of, "Predicates node-0001")
	expect(t, "the own manager's", m.PreemptionPredicates(unnamed, info("node-0001", "900"), nil, 0), ownIndex)
	expect(t, "questions", m.Counts().Asked, 0)
}
