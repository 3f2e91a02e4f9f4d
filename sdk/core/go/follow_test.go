package nodesift_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Each table is a state of the cluster after some nodes came, went, opened or closed. The answers are read with bitmaps, and
// compared with the cluster at the version that they name.
const (
	tables       = 1000
	cutEvery     = 20
	killEvery    = 125
	mostNodes    = 150
	mostChanges  = 12
	setsRetained = 30
)

func TestAThousandRandomTablesAreFollowedWithoutAWrongName(t *testing.T) {
	needBinary(t)
	random := seeded(t)
	server := startAPIServer(t)
	server.edit(func(_ map[string]bool, set func(string, bool), _ func(string)) {
		for number := range 40 {
			set(fmt.Sprintf("first-%d", number), number%2 == 0)
		}
	})
	sidecar := sidecarFor(t, "--kubeconfig", server.kubeconfig(t), "--predicates", "NodeUnschedulable")
	proxy := startProxy(t, sidecar.socket)
	client := dial(t, "unix://"+proxy.socket, nodesift.WaitForReady())
	pod := nodesift.PodUID(pendingUID)

	// Somebody else asks all the time, and is told the truth or nothing.
	background, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	var asked, failed atomic.Int64
	defer asking.Wait()
	defer stop()
	asking.Go(func() {
		for background.Err() == nil {
			set, err := client.Feasible(background, pod)
			if err != nil {
				if errors.Is(err, nodesift.ErrTable) || errors.Is(err, nodesift.ErrInvalid) {
					t.Errorf("in the background: %v", err)
				}
				failed.Add(1)
				continue
			}
			asked.Add(1)
			compare(t, set, server.at(set.Version().NodesResourceVersion))
		}
	})

	type retained struct {
		set  nodesift.Set
		open map[string]bool
	}
	var before []retained
	names, kills, cuts, compared, newNames := 0, 0, 0, 0, 0
	epochs := map[uint64]bool{}
	seen := map[[2]uint64]bool{}
	for table := range tables {
		var version string
		var open map[string]bool
		newNames, version, open = change(server, random, newNames)
		var killed uint64
		switch {
		case table%killEvery == killEvery-1:
			killed = client.Index().Names().Known().GetEpoch()
			sidecar.kill()
			if err := sidecar.run(); err != nil {
				t.Fatal(err)
			}
			kills++
		case table%cutEvery == cutEvery-1:
			proxy.cut()
			cuts++
		}
		set := ask(t, client, pod, version)
		if got := set.Version().NodesResourceVersion; got != version {
			t.Fatalf("the answer is of version %s, not of %s", got, version)
		}
		compare(t, set, open)
		names += len(open)
		if before = append(before, retained{set, open}); len(before) > setsRetained {
			before = before[1:]
		}
		if old := before[random.IntN(len(before))]; true {
			compare(t, old.set, old.open)
		}
		// The stream comes to the same table, row by row as one who asks for the first time is told it. The table of a process
		// that is killed may have the same names as the next one.
		until(t, "the index has the nodes of the cluster", func() bool {
			index := client.Index().Names()
			return index.Len() == len(open) && index.Known().GetEpoch() != killed && !slices.ContainsFunc(slices.Collect(maps.Keys(open)), func(name string) bool {
				_, ok := index.Row(name)
				return !ok
			})
		})
		index := client.Index().Names()
		known := index.Known()
		epochs[known.GetEpoch()] = true
		seen[[2]uint64{known.GetEpoch(), known.GetGeneration()}] = true
		compared += compareRows(t, client, index)
		if t.Failed() {
			t.Fatalf("table %d of %d", table+1, tables)
		}
	}
	stop()
	asking.Wait()
	if len(epochs) != kills+1 {
		t.Errorf("%d epochs were seen, of %d processes", len(epochs), kills+1)
	}
	if asked.Load() < tables/10 || compared < tables*9/10 {
		t.Errorf("only %d answers in the background and %d whole tables were compared", asked.Load(), compared)
	}
	fmt.Printf("%d tables (%d of them with other rows), %d names compared, %d whole tables, %d kills and %d cuts survived; in the background %d answers, %d calls failed\n",
		tables, len(seen), names, compared, kills, cuts, asked.Load(), failed.Load())
}

// change makes the next random state of the cluster.
func change(server *apiServer, random *rand.Rand, names int) (int, string, map[string]bool) {
	version, open := server.edit(func(open map[string]bool, set func(string, bool), remove func(string)) {
		for range 1 + random.IntN(mostChanges) {
			present := slices.Sorted(maps.Keys(open))
			switch pick := random.IntN(10); {
			case pick < 3 && len(present) > 5:
				remove(present[random.IntN(len(present))])
			case pick < 8 && len(present) < mostNodes:
				// Half of the names come back, in another row.
				name := fmt.Sprintf("node-%d", random.IntN(2*mostNodes))
				if random.IntN(2) == 0 {
					names++
					name = fmt.Sprintf("new-%d", names)
				}
				set(name, random.IntN(2) == 0)
			default:
				name := present[random.IntN(len(present))]
				set(name, !open[name])
			}
		}
	})
	return names, version, open
}

// ask asks until there is an answer: what is cut or killed meanwhile is asked again, as a core would.
func ask(t testing.TB, client *nodesift.Client, pod nodesift.Pod, version string) nodesift.Set {
	t.Helper()
	for deadline := time.Now().Add(scaled(20 * time.Second)); ; {
		set, err := client.Feasible(t.Context(), pod, nodesift.AtLeast(version, ""), nodesift.Patience(scaled(5*time.Second)))
		if err == nil {
			return set
		}
		if !errors.Is(err, nodesift.ErrUnavailable) && !errors.Is(err, context.Canceled) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// compare compares an answer with the cluster that it is about, in both directions.
func compare(t testing.TB, set nodesift.Set, open map[string]bool) {
	t.Helper()
	feasible := 0
	for name, isOpen := range open {
		predicate, code, reasons := set.Why(name)
		if set.Fits(name) != isOpen || !set.Has(name) {
			t.Errorf("%s: fits %t, and the node is open: %t", name, set.Fits(name), isOpen)
		}
		if isOpen != (predicate == "") || !isOpen && (predicate != "NodeUnschedulable" ||
			code != nodesift.CodeUnresolvable || !slices.Equal(reasons, []string{"node(s) were unschedulable"})) {
			t.Errorf("%s, open: %t, has %q %s %q", name, isOpen, predicate, code, reasons)
		}
		if isOpen {
			feasible++
		}
	}
	for name := range set.Feasible() {
		if !open[name] {
			t.Errorf("%q fits, which is not an open node", name)
		}
	}
	if set.Len() != feasible || set.Evaluated() != len(open) || set.Fits("nobody") || set.Has("nobody") {
		t.Errorf("%d of %d nodes, not %d of %d", set.Len(), set.Evaluated(), feasible, len(open))
	}
}

// compareRows compares a table with the one that a client without any is given, where both are of the same generation.
func compareRows(t testing.TB, client *nodesift.Client, index *nodesift.RowNames) int {
	t.Helper()
	request := &nodesiftv1.FilterRequest{
		Pods:    []*nodesiftv1.Pod{{Pod: &nodesiftv1.Pod_Uid{Uid: pendingUID}}},
		Bitmaps: &nodesiftv1.Bitmaps{},
	}
	response, err := client.Stub().Filter(t.Context(), request)
	if err != nil {
		return 0
	}
	whole := response.GetRows()
	if whole.GetEpoch() != index.Known().GetEpoch() || whole.GetGeneration() != index.Known().GetGeneration() {
		return 0
	}
	for _, row := range whole.GetChanges() {
		if index.Name(row.GetRow()) != row.GetNode() {
			t.Errorf("row %d is %q, not %q", row.GetRow(), row.GetNode(), index.Name(row.GetRow()))
		}
	}
	return 1
}
