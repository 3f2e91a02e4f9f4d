package yunikorn_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// log has what a manager has logged.
type log struct {
	mutex   sync.Mutex
	outages []yunikorn.Outage
	reasons []error
}

func (l *log) options() yunikorn.Options {
	return yunikorn.Options{
		MaxAge: aLongTime,
		Outages: func(outage yunikorn.Outage) {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.outages = append(l.outages, outage)
		},
		Log: func(reason error) {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.reasons = append(l.reasons, reason)
		},
	}
}

// untilLogged waits for so many lines.
func (l *log) untilLogged(t *testing.T, lines int) []yunikorn.Outage {
	t.Helper()
	until(t, fmt.Sprintf("%d lines are logged", lines), func() bool {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return len(l.outages) >= lines
	})
	l.mutex.Lock()
	defer l.mutex.Unlock()
	expect(t, "lines", len(l.outages), lines)
	return l.outages
}

func TestAnOutageIsLoggedWhenItBeginsAndWhenItEnds(t *testing.T) {
	f, client := startFake(t, 6)
	of, logged := &own{}, &log{}
	m := newManager(client, of, logged.options())
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.filterError = unavailable })
	for at := range 50 {
		ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0001", "900"), true, 0)
	}
	logged.untilLogged(t, 1)
	f.change(func() { f.filterError, f.assumeError = status.Error(codes.ResourceExhausted, "too many"), unavailable })
	const pods = 30
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint("placed-", at), "5"), "node-0003")
	}
	m.ForgetPod("uid-placed-0")
	m.ForgetPod("uid-other")
	until(t, "a delivery has failed", func() bool { return m.Health().Waiting == pods+1 })
	f.change(func() { f.assumeError = nil })
	untilDelivered(t, m)
	f.mutex.Lock()
	tries := f.tries
	f.mutex.Unlock()
	until(t, "a question has failed for the last reason", func() bool {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.tries > tries+1
	})
	health := m.Health()
	expect(t, "health", fmt.Sprint(health.Answers, health.Outages, health.Away > 0, health.Waiting), "false 1 true 0")
	f.change(func() { f.filterError = nil })
	// Begun, ended, and what became of the pods.
	outages := logged.untilLogged(t, 3)
	began, ended := outages[0], outages[1]
	if began.Stage != yunikorn.Began || !errors.Is(began.First, nodesift.ErrUnavailable) || began.Waited != 0 {
		t.Fatalf("%+v", began)
	}
	if ended.Stage != yunikorn.Ended || !errors.Is(ended.First, nodesift.ErrUnavailable) || !errors.Is(ended.Last, nodesift.ErrOverloaded) ||
		ended.Length <= 0 || ended.Waited != pods+1 || ended.Placed != pods-1 || len(ended.Names) != 20 {
		t.Fatalf("%+v", ended)
	}
	for _, part := range []string{"answers again after", "not ready", "too many", "31 placements waited", "29 pods were placed meanwhile: default/placed-1, ", "and 9 more"} {
		if !contains(ended.String(), part) {
			t.Errorf("%q does not say %q", ended, part)
		}
	}
	if len(logged.reasons) != 2 || !errors.Is(logged.reasons[0], nodesift.ErrUnavailable) || logged.reasons[1] != nil {
		t.Fatal(logged.reasons)
	}
	health = m.Health()
	expect(t, "health", fmt.Sprint(health.Answers, health.Outages, health.Away == ended.Length, health.Placed, health.Misfits), "true 1 true 29 0")
}

func TestPodsThatWerePlacedInAnOutageAreJudgedAfterIt(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	options := logged.options()
	var misfits []string
	options.Misfit = func(pod *v1.Pod, node, why string) { misfits = append(misfits, pod.Name+" on "+node+" "+why) }
	m := newManager(client, &own{}, options)
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.filterError, f.misfits["uid-b"] = unavailable, true })
	ask(t, m, pod("web2", "5"), info("node-0000", "900"), true, 0)
	for _, name := range []string{"a", "b", "c"} {
		m.AssumePod(pod(name, "5"), "node-0003")
	}
	m.ForgetPod("uid-c")
	f.change(func() { f.filterError = nil })
	judged := logged.untilLogged(t, 3)[2]
	expect(t, "judged", fmt.Sprint(judged.Stage, judged.Placed, judged.Judged, judged.Misfits), fmt.Sprint(yunikorn.Judged, 2, 2, 1))
	expect(t, "the line", judged.String(), "of 2 pods that were placed while nodesift gave no answers, 2 were judged since, and 1 do not fit: "+
		"default/b on node-0003 (InterPodAffinity: "+texts[2]+")")
	expect(t, "misfits", m.Health().Misfits, 1)
	expect(t, "told for an event", fmt.Sprint(misfits), "[b on node-0003 InterPodAffinity: "+texts[2]+"]")
}

func TestOfManyPodsThatWerePlacedInAnOutageABoundedNumberIsJudged(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.filterError = unavailable })
	ask(t, m, pod("web2", "5"), info("node-0000", "900"), true, 0)
	const pods, most = 1100, 1000
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
	}
	f.change(func() { f.filterError = nil })
	judged := logged.untilLogged(t, 3)[2]
	expect(t, "judged", fmt.Sprint(judged.Placed, judged.Judged, judged.Misfits), fmt.Sprint(pods, most, 0))
}

func TestWhoAnswersInAnOutageFollowsThePolicy(t *testing.T) {
	shims := []string{"NodeName", "NodeResourcesFit", "DynamicResources"}
	custom := append([]string{"TeamIsolation"}, shims...)
	for name, test := range map[string]struct {
		predicates  []string
		unavailable yunikorn.Unavailable
		own         bool
	}{
		"predicates of the shim":               {shims, yunikorn.ByPolicy, true},
		"a custom predicate":                   {custom, yunikorn.ByPolicy, false},
		"a custom predicate, by choice":        {custom, yunikorn.Own, true},
		"predicates of the shim, and patience": {shims, yunikorn.Reject, false},
		"no predicates":                        {nil, yunikorn.ByPolicy, true},
	} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			f.change(func() { f.predicates = test.predicates })
			of := &own{}
			m := newManager(client, of, yunikorn.Options{Unavailable: test.unavailable})
			ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 2)
			f.change(func() { f.filterError = unavailable })
			ask := func() bool {
				plugin, err := m.Predicates(pod("web2", "5"), info("node-0001", "900"), true)
				if err != nil && (plugin != "nodesift" || err.Error() != noAnswer) {
					t.Fatal(plugin, err)
				}
				index := m.PreemptionPredicates(pod("web2", "5"), info("node-0001", "900"), []*v1.Pod{pod("v", "5")}, 0)
				expect(t, "preemption", index, map[bool]int{true: -1, false: ownIndex}[err != nil])
				return err == nil
			}
			expect(t, "the own manager answers", ask(), test.own)
			if test.unavailable != yunikorn.ByPolicy {
				return
			}
			// Another policy becomes known by the next answer.
			f.change(func() { f.filterError, f.policy = nil, 2 })
			until(t, "the sidecar answers", func() bool { return m.Health().Answers })
			f.change(func() { f.predicates = append(f.predicates, "Other"); f.policy = 3 })
			explained := f.explained
			until(t, "the policy is asked for", func() bool {
				_, _ = m.Predicates(pod("web3", "6"), info("node-0001", "900"), true)
				f.mutex.Lock()
				defer f.mutex.Unlock()
				f.generation++
				return f.explained > explained
			})
			f.change(func() { f.filterError = unavailable })
			until(t, "nobody answers", func() bool { return !ask() })
		})
	}
}
