package yunikorn_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

const noPolicy = "predicates were not run because nodesift gave no answer, and its policy is not known yet"

// untilAnswered waits for the first answer, with which the policy becomes known.
func untilAnswered(t testing.TB, m *manager) {
	t.Helper()
	if err := m.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// expectNoVerdict expects that nobody decides, or with an empty text that the own manager does.
func expectNoVerdict(t *testing.T, m *manager, of *own, text string) {
	t.Helper()
	victims := []*v1.Pod{pod("v", "5"), pod("w", "5")}
	plugin, err := m.Predicates(pod("web", "5"), info("node-0001", "900"), true)
	index := m.PreemptionPredicates(pod("web", "5"), info("node-0001", "900"), victims, 0)
	if text == "" {
		expect(t, "the own manager's", fmt.Sprint(plugin, err, index), fmt.Sprint("", nil, ownIndex))
		expectCalls(t, of, "Predicates node-0001", "PreemptionPredicates node-0001")
		return
	}
	expect(t, "rejected", fmt.Sprint(plugin, ": ", err, " ", index), fmt.Sprint("nodesift: ", text, " ", -1))
	expectCalls(t, of)
}

// The shim can start before the sidecar. What its policy evaluates is not known then.
func TestUntilThePolicyIsKnownPodsWait(t *testing.T) {
	for name, test := range map[string]struct {
		unavailable yunikorn.Unavailable
		text, line  string
	}{
		"by policy": {yunikorn.ByPolicy, noPolicy, "; pods wait, because its policy is not known yet"},
		"own":       {yunikorn.Own, "", "; the shim's own manager decides"},
		"reject":    {yunikorn.Reject, noAnswer, "; pods wait, because Options.Unavailable is Reject"},
	} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			f.change(func() { f.filterError = unavailable })
			of, logged := &own{}, &log{}
			options := logged.options()
			options.Unavailable = test.unavailable
			m := newManager(client, of, options)
			began := logged.untilLogged(t, 1)[0]
			expect(t, "the stage", began.Stage, yunikorn.Began)
			if !contains(began.String(), "not ready") || !contains(began.String(), test.line) {
				t.Fatal(began)
			}
			expectNoVerdict(t, m, of, test.text)
			f.change(func() { f.filterError = nil })
			untilAnswered(t, m)
			f.change(func() { f.filterError = unavailable })
			// Its predicates are the shim's.
			expectNoVerdict(t, m, of, map[bool]string{true: noAnswer}[test.unavailable == yunikorn.Reject])
		})
	}
}

func TestAStagedManagerWaitsForThePolicyToo(t *testing.T) {
	f, client := startFake(t, 6)
	f.change(func() { f.filterError = unavailable })
	of := &own{}
	var m newest = yunikorn.NewStaged(client, newest(of), yunikorn.Options{Timeout: scaled(5 * time.Second)})
	web, node, state := pod("web", "5"), info("node-0000", "900"), &cycleState{}
	plugin, err := m.Filter(web, node, state, true)
	expect(t, "rejected", fmt.Sprint(plugin, ": ", err), "nodesift: "+noPolicy)
	expect(t, "rejected", m.PreemptionFilter(web, node, state, []*v1.Pod{pod("v", "5")}, 0), -1)
	expectCalls(t, of)
}

// The sidecar answers, and does not explain: an answer about whichever pod has it asked again.
func TestAPolicyThatCouldNotBeLearnedIsAskedForAgain(t *testing.T) {
	f, client := startFake(t, 6)
	f.change(func() { f.explainError, f.faults = unavailable, unsupported })
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: -1})
	untilAnswered(t, m)
	claims, node := pod("claims", "5"), info("node-0001", "900")
	plugin, err := m.Predicates(claims, node, true)
	expect(t, "rejected", fmt.Sprint(plugin, ": ", err), "nodesift: "+noClaims)
	expectCalls(t, of)
	f.change(func() { f.explainError = nil })
	until(t, "the own manager decides", func() bool {
		plugin, err := m.Predicates(claims, node, true)
		return plugin == "" && err == nil
	})
}

func TestThatPodsWaitIsLoggedAgainAndAgain(t *testing.T) {
	f, client := startFake(t, 6)
	f.change(func() { f.filterError = unavailable })
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	m.SetLinePause(time.Nanosecond)
	lines := func() int {
		logged.mutex.Lock()
		defer logged.mutex.Unlock()
		return len(logged.outages)
	}
	until(t, "three lines are logged", func() bool { return lines() > 2 })
	logged.mutex.Lock()
	goesOn := logged.outages[1]
	logged.mutex.Unlock()
	if goesOn.Stage != yunikorn.GoesOn || goesOn.Length <= 0 || !errors.Is(goesOn.Last, nodesift.ErrUnavailable) ||
		!contains(goesOn.String(), "nodesift has given no answers for ") ||
		!contains(goesOn.String(), "pods wait, because its policy is not known yet") {
		t.Fatal(goesOn)
	}
	f.change(func() { f.filterError = nil })
	untilAnswered(t, m)
	// Of an outage in which the own manager decides there are two lines, and of any no more than one in the pause.
	for pause, unavailability := range map[time.Duration]yunikorn.Unavailable{time.Nanosecond: yunikorn.Own, time.Hour: yunikorn.Reject} {
		f.change(func() { f.filterError = unavailable })
		logged := &log{}
		options := logged.options()
		options.Unavailable = unavailability
		m := newManager(client, &own{}, options)
		m.SetLinePause(pause)
		logged.untilLogged(t, 1)
		f.mutex.Lock()
		tries := f.tries
		f.mutex.Unlock()
		until(t, "it is tried again and again", func() bool {
			f.mutex.Lock()
			defer f.mutex.Unlock()
			return f.tries > tries+3
		})
		f.change(func() { f.filterError = nil })
		logged.untilLogged(t, 2)
	}
}
