package yunikorn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// unanswered are the lines about pods that were placed without an answer.
func (l *log) unanswered() (lines []yunikorn.Outage) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, of := range l.outages {
		if of.Stage == yunikorn.Unanswered {
			lines = append(lines, of)
		}
	}
	return lines
}

// untilUnanswered waits for so many lines about such pods.
func (l *log) untilUnanswered(t *testing.T, lines int) []yunikorn.Outage {
	t.Helper()
	until(t, fmt.Sprintf("%d lines about pods placed without an answer", lines), func() bool { return len(l.unanswered()) >= lines })
	expect(t, "lines about them", len(l.unanswered()), lines)
	return l.unanswered()
}

// decideByOwn asks about a pod on a node, which the own manager has to decide about.
func decideByOwn(t *testing.T, m *manager, of *v1.Pod, node *nodeInfo) {
	t.Helper()
	before := m.Counts().Own
	ask(t, m, of, node, true, 0)
	expect(t, "decided by the own manager", m.Counts().Own, before+1)
}

// The sidecar answers all the while, but not about this pod.
func TestPodsThatTheOwnManagerDecidesAboutAreJudgedOnceTheyArePlaced(t *testing.T) {
	for name, test := range map[string]struct {
		node       string
		begin, end func(f *fake)
		aside      bool
	}{
		"resource claims": {"node-0003", func(f *fake) { f.faults = unsupported }, func(*fake) {}, false},
		"unknown pod": {
			"node-0003", func(f *fake) { f.filterError = status.Error(codes.NotFound, "") }, func(f *fake) { f.filterError = nil }, false,
		},
		"unknown node": {"late", func(*fake) {}, func(f *fake) { f.table, f.nodes = f.table+1, append(f.nodes, "late") }, false},
		"set aside": {"node-0003", func(f *fake) {
			f.about = func(_ context.Context, uid string) error {
				if uid == "uid-web" {
					return status.Error(codes.Internal, "a panic")
				}
				return nil
			}
		}, func(f *fake) { f.about = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			logged := &log{}
			options := logged.options()
			told := make(chan string, 1)
			options.Misfit = func(pod *v1.Pod, node, why string) { told <- pod.Name + " on " + node + " " + why }
			m := newManager(client, &own{}, options)
			untilAnswered(t, m)
			f.change(func() { test.begin(f); f.misfits["uid-web"] = true })
			web, node := pod("web", "5"), info(test.node, "900")
			if test.aside {
				until(t, "it is set aside", func() bool {
					asked, outages := m.Counts().Asked, m.Health().Outages
					ask(t, m, web, node, true, 0)
					until(t, "others are asked about", func() bool { return m.Health().Answers })
					return m.Counts().Asked == asked && m.Health().Outages == outages
				})
			}
			outages := m.Health().Outages
			decideByOwn(t, m, web, node)
			f.change(func() { test.end(f) })
			m.AssumePod(web, test.node)
			line := logged.untilUnanswered(t, 1)[0]
			expect(t, "judged", fmt.Sprint(line.Placed, line.Judged, line.Misfits), "1 1 1")
			expect(t, "the line", line.String(), "1 pods about which nodesift gave no answer were placed by the shim's own manager: default/web; "+
				"1 were judged since, and 1 do not fit: default/web on "+test.node+" (InterPodAffinity: "+texts[2]+")")
			expect(t, "told for an event", <-told, "web on "+test.node+" InterPodAffinity: "+texts[2])
			health := m.Health()
			expect(t, "placed and misfits", fmt.Sprint(health.Placed, health.Misfits), "1 1")
			expect(t, "outages", health.Outages, outages)
		})
	}
}

func TestAStagedManagersOwnDecisionsAreJudgedToo(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := yunikorn.NewStaged(client, newest(&own{}), logged.options())
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.change(func() { f.faults = unsupported })
	web := pod("web", "5")
	if _, err := m.Filter(web, info("node-0003", "900"), &cycleState{}, true); err != nil {
		t.Fatal(err)
	}
	m.AssumePod(web, "node-0003")
	expect(t, "placed", logged.untilUnanswered(t, 1)[0].Placed, 1)
}

// That no predicate evaluates what a pod needs does not say that it does not fit: its own manager has decided about that.
func TestAPodIsNoMisfitForWhatNoPredicateEvaluates(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	untilAnswered(t, m)
	f.change(func() {
		f.faults = []*nodesiftv1.Fault{{Predicate: failures[2].Predicate, Fault: "Unsupported", Effect: "Rejected"}}
		f.misfits["uid-web"] = true
	})
	web := pod("web", "5")
	decideByOwn(t, m, web, info("node-0003", "900"))
	m.AssumePod(web, "node-0003")
	line := logged.untilUnanswered(t, 1)[0]
	expect(t, "judged", fmt.Sprint(line.Placed, line.Judged, line.Misfits), "1 1 0")
}

// heldReview keeps pods from being judged until it is let go, once one is.
func (f *fake) heldReview(uid string) (begun <-chan struct{}, let func()) {
	began, held := make(chan struct{}, 1), make(chan struct{})
	f.change(func() {
		f.about = func(_ context.Context, of string) error {
			if of == uid {
				began <- struct{}{}
				<-held
			}
			return nil
		}
	})
	return began, func() { close(held) }
}

// letByOwn has the own manager let a pod on node-0003. The sidecar answers questions about all others.
func letByOwn(t *testing.T, f *fake, m *manager, name string) *v1.Pod {
	t.Helper()
	f.change(func() { f.faults = unsupported })
	of := pod(name, "5")
	decideByOwn(t, m, of, info("node-0003", "900"))
	f.change(func() { f.faults = nil })
	return of
}

func TestOnlyPodsThatAreWhereTheOwnManagerHasLetThemCountAsUnanswered(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	untilAnswered(t, m)
	m.SetLinePause(time.Nanosecond)
	m.AssumePod(letByOwn(t, f, m, "elsewhere"), "node-0000")
	m.AssumePod(pod("answered", "5"), "node-0003")
	since := letByOwn(t, f, m, "since")
	since.ResourceVersion = "6"
	ask(t, m, since, info("node-0003", "900"), true, 3)
	ask(t, m, since, info("node-0000", "900"), true, 3)
	m.AssumePod(since, "node-0003")
	expect(t, "let and not placed", m.Let(), 0)

	first := letByOwn(t, f, m, "first")
	begun, let := f.heldReview("uid-first")
	m.AssumePod(first, "node-0003")
	<-begun
	for _, name := range []string{"forgotten", "moved", "stays", "told twice"} {
		m.AssumePod(letByOwn(t, f, m, name), "node-0003")
	}
	m.ForgetPod("uid-forgotten")
	m.AssumePod(pod("moved", "5"), "node-0000")
	m.AssumePod(pod("told twice", "5"), "node-0003")
	let()
	expect(t, "placed after the others", fmt.Sprint(logged.untilUnanswered(t, 2)[1].Names), "[default/stays default/told twice]")
	expect(t, "placed before", fmt.Sprint(logged.unanswered()[0].Names), "[default/first]")
}

func TestThereIsALineAboutUnansweredPodsOnceInAWhile(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	untilAnswered(t, m)
	for at := range 50 {
		m.AssumePod(letByOwn(t, f, m, fmt.Sprint(at)), "node-0003")
		logged.untilUnanswered(t, 1)
	}
	expect(t, "placed", m.Health().Placed, 1)
}

// An outage holds them up. The pod whose question had no answer can be at fault, and is left out.
func TestUnansweredPodsAreJudgedAlsoWhereAnOutageComesBetween(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	untilAnswered(t, m)
	m.SetLinePause(time.Nanosecond)
	first := letByOwn(t, f, m, "first")
	begun, let := f.heldReview("uid-first")
	m.AssumePod(first, "node-0003")
	<-begun
	for _, name := range []string{"a", "b", "c"} {
		m.AssumePod(letByOwn(t, f, m, name), "node-0003")
	}
	hang, goOn := f.heldReview("uid-a")
	let()
	<-hang
	f.change(func() { f.filterError = unavailable })
	ask(t, m, pod("other", "5"), info("node-0000", "900"), true, 0)
	expect(t, "outages", m.Health().Outages, 1)
	goOn()
	tries := func() int {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.tries
	}
	before := tries()
	until(t, "the question about it has failed, and others in the background", func() bool { return tries() > before+3 })
	f.change(func() { f.filterError, f.about = nil, nil })
	line := logged.untilUnanswered(t, 2)[1]
	expect(t, "placed and judged", fmt.Sprint(line.Placed, line.Judged), "3 2")
}

func TestOfPodsThatTheOwnManagerLetsABoundedNumberIsRemembered(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	untilAnswered(t, m)
	f.change(func() { f.faults = unsupported })
	const pods, most = 1100, 1024
	for at := range pods {
		ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0003", "900"), true, 0)
	}
	expect(t, "remembered", m.Let(), most)
}
