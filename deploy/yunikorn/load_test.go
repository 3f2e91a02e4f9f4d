package yunikorn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

// shim asks and places as YuniKorn's does: questions under its lock for reading, placements under it for writing.
type shim struct {
	lock    sync.RWMutex
	manager *manager
	own     *own
	nodes   []string
	// Where it counts pods.
	placed map[string]string
	// How many pods each has decided about, and the longest time for which a call has held the lock.
	bySidecar, byOwn atomic.Int64
	held             longest
}

// schedule places a pod on the first node from a row on that it fits, whoever says so.
func (s *shim) schedule(name string, from int) {
	of := pod(name, "5")
	for at := range s.nodes {
		node := s.nodes[(from+at)%len(s.nodes)]
		s.lock.RLock()
		before, began := s.manager.Counts().Own, time.Now()
		plugin, err := s.manager.Predicates(of, info(node, "900"), true)
		s.held.note(began)
		byOwn := s.manager.Counts().Own > before
		s.lock.RUnlock()
		if plugin != "" || err != nil {
			continue
		}
		s.lock.Lock()
		began = time.Now()
		s.manager.AssumePod(of, node)
		s.placed[string(of.UID)] = node
		s.held.note(began)
		s.lock.Unlock()
		if byOwn {
			s.byOwn.Add(1)
		} else {
			s.bySidecar.Add(1)
		}
		return
	}
}

// forget takes a placement back.
func (s *shim) forget(name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	uid := string(pod(name, "5").UID)
	delete(s.placed, uid)
	began := time.Now()
	s.manager.ForgetPod(uid)
	s.held.note(began)
}

// trouble makes the sidecar give no answers until it is let go.
// With it, the sidecar may have been restarted.
func trouble(f *fake, kind int, restarts bool) (name string, end func()) {
	let := make(chan struct{})
	hang := func(ctx context.Context) {
		select {
		case <-let:
		case <-ctx.Done():
		}
	}
	switch kind {
	case 0:
		f.change(func() { f.filterError, f.assumeError, f.forgetError = unavailable, unavailable, unavailable })
		name = "nothing is ready"
	case 1:
		f.change(func() { f.filterError = unavailable })
		name = "questions fail"
	case 2:
		f.change(func() { f.delay = hang })
		name = "questions hang"
	case 3:
		f.change(func() { f.delivered = func(ctx context.Context, _ string) error { hang(ctx); return ctx.Err() } })
		name = "placements hang"
	default:
		f.change(func() {
			f.delay = hang
			f.delivered = func(ctx context.Context, _ string) error { hang(ctx); return ctx.Err() }
		})
		name = "everything hangs"
	}
	if restarts {
		name += ", then a restart"
	}
	return name, func() {
		close(let)
		f.change(func() {
			f.filterError, f.assumeError, f.forgetError, f.delay, f.delivered = nil, nil, nil, nil, nil
			if restarts {
				f.epoch, f.generation, f.placed = f.epoch+1, 1, map[string]string{}
			}
		})
	}
}

// runs is how often a test with drawn timings runs: a hundred times, or NODESIFT_RUNS.
func runs() int {
	if asked, err := strconv.Atoi(os.Getenv("NODESIFT_RUNS")); err == nil {
		return asked
	}
	return 100
}

// Runs at once. Each is a shim and a sidecar of its own and waits most of the time; the others are further load for it. Four take no
// longer to answer again than one alone (0.3 s at most on two cores, one of them busy); eight have to wait for a core (0.9 s).
const mostRunsAtOnce = 4

// runsAtOnce are fewer on a slow machine, where limits are longer as well, but never one: the other core is kept busy until the last has
// ended, and most of a run is waiting.
func runsAtOnce() int { return max(2, int(mostRunsAtOnce*time.Second/scaled(time.Second))) }

// spin keeps a core busy until it is told to stop.
func spin(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
	}
}

// comebacks are what became of all runs.
type comebacks struct {
	mutex sync.Mutex
	// Those that answered again in time, the longest time, and in which run that was.
	inTime  int
	longest time.Duration
	of      string
	held    longest
}

func (c *comebacks) note(took, most time.Duration, of string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if took <= most {
		c.inTime++
	}
	if took > c.longest {
		c.longest, c.of = took, of
	}
}

// The shim goes on placing by its own manager while the sidecar gives no answers, and what waits to be delivered grows. Beside it
// a core is busy, and the sidecar takes 2 ms for a call that places, or for each placement. Once the sidecar could answer again, it
// does within a second, and goes on doing so.
func TestASidecarAnswersAgainWhileTheShimGoesOnPlacing(t *testing.T) {
	seed, began := seedOf(t), time.Now()
	stop := make(chan struct{})
	defer close(stop)
	go spin(stop)
	var all comebacks
	names := make([]string, runs())
	for run := range names {
		names[run] = fmt.Sprint(run)
	}
	sideBySide(t, names, runsAtOnce(), func(t *testing.T, name string) {
		run, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		placeThroughAnOutage(t, rand.New(rand.NewPCG(seed, run)), &all)
	})
	fmt.Printf("%s: %d of %d answered again within %s; longest %s (run %s); the lock was held for %s at most; seed %d; %s for all\n",
		t.Name(), all.inTime, len(names), scaled(time.Second), all.longest.Round(time.Millisecond), all.of,
		all.held.get().Round(100*time.Microsecond), seed, time.Since(began).Round(100*time.Millisecond))
}

// placeThroughAnOutage draws all that it does from a seed of its own, so that a run is the same whatever the others do.
func placeThroughAnOutage(t *testing.T, random *rand.Rand, all *comebacks) {
	f, client := startFake(t, 12)
	takes := f.takes(random)
	of := &own{}
	// The options are those of a shim, not those of other tests.
	s := &shim{manager: yunikorn.New(client, released(of), yunikorn.Options{Unavailable: yunikorn.Own}), own: of, nodes: f.nodes, placed: map[string]string{}}
	if err := s.manager.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rate, kind := 50+random.IntN(151), random.IntN(5)
	restarts := random.IntN(4) == 0
	before, outage := time.Duration(random.IntN(100))*time.Millisecond, time.Duration(20+random.IntN(400))*time.Millisecond
	stop := make(chan struct{})
	var beside sync.WaitGroup
	starts := make([]int, 64)
	for at := range starts {
		starts[at] = random.IntN(len(f.nodes))
	}
	beside.Go(func() {
		pace := time.NewTicker(time.Second / time.Duration(rate))
		defer pace.Stop()
		for number := 0; ; number++ {
			select {
			case <-stop:
				return
			case <-pace.C:
				s.schedule(fmt.Sprint("p", number), starts[number%len(starts)])
				if number >= 6 {
					s.forget(fmt.Sprint("p", number-6))
				}
			}
		}
	})
	defer func() {
		close(stop)
		beside.Wait()
		untilDelivered(t, s.manager)
		expect(t, "placed", fmt.Sprint(f.placements()), fmt.Sprint(s.placed))
		all.held.add(s.held.get())
	}()
	until(t, "the sidecar decides", func() bool { return s.bySidecar.Load() > 0 })
	time.Sleep(before)
	name, end := trouble(f, kind, restarts)
	time.Sleep(outage)
	until(t, "the shim's own manager decides", func() bool { return s.byOwn.Load() > 0 })
	waited := s.manager.Health().Waiting
	end()
	ended, decided := time.Now(), s.bySidecar.Load()
	until(t, "the sidecar decides again", func() bool { return s.bySidecar.Load() > decided })
	took := time.Since(ended)
	about := fmt.Sprintf("%d pods/s, %s, %s for %s, %d waited", rate, takes, name, outage, waited)
	all.note(took, scaled(time.Second), about)
	if took > scaled(time.Second) {
		t.Errorf("%s: it took %s until the sidecar decided again", about, took)
	}
	// It stays so. How many pods the own manager decides about meanwhile is a matter of how busy the machine is otherwise.
	decided = s.bySidecar.Load()
	until(t, "it goes on", func() bool { return s.bySidecar.Load() > decided+10 })
}
