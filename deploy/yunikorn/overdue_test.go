package yunikorn_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

// howOneFails are the ways in which a placement does not come through while others do.
var howOneFails = map[string]func(ctx context.Context) error{
	"a panic":              func(context.Context) error { return status.Error(codes.Internal, "a panic") },
	"overloaded":           func(context.Context) error { return ofWholeCall{status.Error(codes.ResourceExhausted, "too many")} },
	"overloaded by itself": func(context.Context) error { return status.Error(codes.ResourceExhausted, "too many") },
	"refused":              func(context.Context) error { return status.Error(codes.InvalidArgument, "a bad name") },
	"no answer":            func(ctx context.Context) error { <-ctx.Done(); return ofWholeCall{ctx.Err()} },
}

// failing makes placements of some pods fail, and counts how often each is told.
func (f *fake) failing(fails func(context.Context) error, uids ...string) (told func() int) {
	var mutex sync.Mutex
	count := 0
	f.change(func() {
		f.delivered = func(ctx context.Context, uid string) error {
			if !slices.Contains(uids, uid) {
				return nil
			}
			mutex.Lock()
			count++
			mutex.Unlock()
			return fails(ctx)
		}
	})
	return func() int {
		mutex.Lock()
		defer mutex.Unlock()
		return count
	}
}

// overdue are the lines about placements that are overdue.
func (l *log) overdue() []yunikorn.Outage {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(l.outages), func(of yunikorn.Outage) bool { return of.Stage != yunikorn.Overdue })
}

// It keeps questions from being asked for five seconds. Then they are asked, also while it is told again and again.
func TestAPlacementForWhichCallsFailKeepsNoOtherFromBeingDeliveredAndNothingFromBeingAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	var names []string
	for name := range maps.Keys(howOneFails) {
		names = append(names, name, name+", its end")
	}
	sideBySide(t, names, len(names), func(t *testing.T, name string) {
		fails, isEnd := howOneFails[name], false
		if fails == nil {
			fails, isEnd = howOneFails[name[:len(name)-len(", its end")]], true
		}
		f, client := startFake(t, 6)
		logged := &log{}
		m := newManager(client, &own{}, logged.options())
		ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
		const pods = 100
		place := func(name string) { m.AssumePod(pod(name, "5"), "node-0003") }
		if isEnd {
			for at := range pods {
				place(fmt.Sprint(at))
			}
			untilDelivered(t, m)
			place = func(name string) { m.ForgetPod(string(pod(name, "5").UID)) }
		}
		told := f.failing(fails, "uid-7")
		for at := range pods {
			place(fmt.Sprint(at))
		}
		until(t, "only that one waits", func() bool { return m.Health().Waiting == 1 })
		// Until it is overdue, questions are asked, not asked and asked again, so that an answer alone shows nothing.
		until(t, "it is overdue, and questions are asked", func() bool {
			health := m.Health()
			return health.Overdue == 1 && health.Answers
		})
		ask(t, m, pod("other", "5"), info("node-0001", "900"), true, 2)
		outages, before := m.Health().Outages, told()
		for more := 0; told() < before+3; more++ {
			place(fmt.Sprint("more-", more%pods))
			until(t, "further ones are delivered", func() bool { return m.Health().Waiting == 1 })
			ask(t, m, pod(fmt.Sprint("another-", more), "5"), info("node-0001", "900"), true, 2)
		}
		expect(t, "outages", m.Health().Outages, outages)
		overdue := logged.overdue()
		expect(t, "lines about it", len(overdue), 1)
		what := "default/7 on node-0003 ("
		if isEnd {
			what = "the end of uid-7 ("
		}
		if !contains(overdue[0].String(), "does not take in 1 placements") || !contains(overdue[0].String(), what) {
			t.Fatal(overdue[0])
		}
		f.change(func() { f.delivered = nil })
		untilDelivered(t, m)
		expect(t, "placed", f.placements()["uid-7"], map[bool]string{false: "node-0003"}[isEnd])
		expect(t, "overdue", m.Health().Overdue, 0)
	})
}

func TestAPlacementThatIsRefusedForLongKeepsNothingFromBeingAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	t.Parallel()
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	f.change(func() { f.assumeError = status.Error(codes.NotFound, "node gone is not in the cache") })
	m.AssumePod(pod("b", "5"), "gone")
	until(t, "questions are held back", func() bool { return !m.Health().Answers })
	until(t, "questions are asked again", func() bool { return m.Health().Answers })
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 2)
	expect(t, "waiting", m.Health().Waiting, 1)
	f.change(func() { f.assumeError = nil })
	untilDelivered(t, m)
	expect(t, "placed", f.placements()["uid-b"], "gone")
}

// Calls with one of them fail for all that they tell, and further placements come all the time.
func TestPlacementsForWhichCallsFailAreFoundAmongThoseThatKeepComing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	t.Parallel()
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.failing(howOneFails["a panic"], "uid-20", "uid-40", "uid-60")
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	number := 0
	until(t, "questions are asked, without three placements", func() bool {
		<-pace.C
		m.AssumePod(pod(fmt.Sprint(number), "5"), "node-0003")
		number++
		return m.Health().Overdue == 3 && m.Health().Answers
	})
	until(t, "only those wait", func() bool { return m.Health().Waiting == 3 })
	expect(t, "placed", len(f.placements()), number-3)
}

// What the shim tells of an overdue pod is told at once. Where that does not come through either, it keeps nothing from being asked.
func TestAnOverduePodThatChangesKeepsNothingFromBeingAskedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	t.Parallel()
	f, client := startFake(t, 6)
	logged := &log{}
	m := newManager(client, &own{}, logged.options())
	told := f.failing(howOneFails["a panic"], "uid-7")
	m.AssumePod(pod("7", "5"), "node-0003")
	until(t, "it is overdue", func() bool { return m.Health().Overdue == 1 && m.Health().Answers })
	outages := m.Health().Outages
	for range 100 {
		before := told()
		m.ForgetPod("uid-7")
		until(t, "it is told", func() bool { return told() > before })
		m.AssumePod(pod("7", "5"), "node-0000")
		ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 2)
	}
	expect(t, "outages", m.Health().Outages, outages)
	expect(t, "lines about it", len(logged.overdue()), 1)
	f.change(func() { f.delivered = nil })
	m.AssumePod(pod("7", "5"), "node-0003")
	ask(t, m, pod("web", "6"), info("node-0003", "900"), true, 3)
}

// It counts for as long as the sidecar would have counted it, so it is owed no longer.
func TestAnOverduePlacementThatHasExpiredIsDropped(t *testing.T) {
	if testing.Short() {
		t.Skip("takes five seconds")
	}
	t.Parallel()
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{TimeToLive: 100 * time.Millisecond})
	f.failing(howOneFails["no answer"], "uid-7", "uid-8")
	m.AssumePod(pod("7", "5"), "node-0003")
	m.ForgetPod("uid-8")
	until(t, "both are overdue", func() bool { return m.Health().Overdue == 2 })
	untilDelivered(t, m)
	expect(t, "placed", len(f.placements()), 0)
}

// The sidecar is away for longer than a placement may keep questions from being asked, or takes in nothing at all, or answers no
// question. What it would answer afterwards is about a cluster without the placements.
func TestNoPlacementIsOverdueWhileTheSidecarIsAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	sideBySide(t, []string{"nothing is ready", "no placement is taken in", "no question is answered"}, 3, func(t *testing.T, name string) {
		f, client := startFake(t, 6)
		m := newManager(client, &own{}, yunikorn.Options{})
		ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
		node := "node-0003"
		f.change(func() {
			if name != "no question is answered" {
				f.assumeError = unavailable
			} else {
				node = "late"
				f.unknown = map[string]bool{node: true}
			}
			if name != "no placement is taken in" {
				f.filterError = unavailable
			}
		})
		// Five seconds are as long as these questions.
		const enough = 30
		placed := 0
		until(t, "more than five seconds have passed", func() bool {
			m.AssumePod(pod(fmt.Sprint(placed), "5"), node)
			placed++
			f.mutex.Lock()
			defer f.mutex.Unlock()
			return f.tries > enough
		})
		expect(t, "overdue, and answers", fmt.Sprint(m.Health().Overdue, m.Health().Answers), "0 false")
		f.change(func() { f.assumeError, f.filterError, f.unknown = nil, nil, nil })
		until(t, "questions are asked again", func() bool { return m.Health().Answers })
		expect(t, "placed", len(f.placements()), placed)
	})
}
