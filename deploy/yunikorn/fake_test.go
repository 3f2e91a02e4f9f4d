package yunikorn_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fake is a sidecar whose verdicts follow from the row of a node (see verdict), and which notes what it is told.
type fake struct {
	nodesiftv1.UnimplementedNodesiftServer
	mutex   sync.Mutex
	changed chan struct{}
	epoch   uint64
	// Generations of the table and of the cache.
	table, generation uint64
	nodes             []string
	nodesVersion      string
	placed            map[string]string
	forgotten         []string
	filters           []*nodesiftv1.FilterRequest
	preemptions       []*nodesiftv1.PreemptionPredicatesRequest
	faults            []*nodesiftv1.Fault
	stale             bool
	outcome           nodesiftv1.Placed
	// The predicates of the policy, its generation, and what explanations of it fail with.
	predicates   []string
	policy       uint64
	explainError error
	// Pods that fit no node on which they are asked about alone, by UID.
	misfits map[string]bool
	// What questions, placements, ends of placements and PreemptionPredicates fail with. Where a placement fails for want of an answer,
	// the whole call does.
	filterError, assumeError, forgetError, preemptionError error
	// Pods that are placed only where they are sent whole, and nodes that are not in the cache.
	unseen, unknown map[string]bool
	// Time that a call that places takes, and that each placement in it takes.
	perCall, perPlacement time.Duration
	// Calls that place, how many there are at present and the most at once, the most placements of one, in how many calls each pod is at
	// present, and those that were in two.
	calls              int
	atOnce, mostAtOnce int
	most               int
	telling            map[string]int
	overlaps           []string
	// Called without the mutex: in questions and PreemptionPredicates, those about a pod, and for each placement. The last two end with
	// its error.
	delay     func(context.Context)
	about     func(ctx context.Context, uid string) error
	delivered func(ctx context.Context, uid string) error
	// Questions that the manager has asked in the background, which are not among the filters, and how many wanted the version of a pod
	// that never comes.
	tries, explained int
	never            string
	triedNever       int
	// Closed at the end of the test.
	ended chan struct{}
}

const nodesVersion = "1000"

func startFake(t testing.TB, nodes int) (*fake, *nodesift.Client) {
	t.Helper()
	f := &fake{
		changed: make(chan struct{}), ended: make(chan struct{}), epoch: 7, table: 1, generation: 10,
		nodesVersion: nodesVersion, placed: map[string]string{}, outcome: nodesiftv1.Placed_PLACED_ASSUMED,
		policy: 1, predicates: []string{"NodeName", "NodeResourcesFit"}, misfits: map[string]bool{},
		telling: map[string]int{},
	}
	for at := range nodes {
		f.nodes = append(f.nodes, fmt.Sprintf("node-%04d", at))
	}
	folder, err := os.MkdirTemp("", "ny")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "n.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodesiftv1.RegisterNodesiftServer(server, f)
	go func() { _ = server.Serve(listener) }()
	client, err := nodesift.Dial("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(f.ended)
		_ = client.Close()
		server.Stop()
		_ = os.RemoveAll(folder)
	})
	ctx, cancel := context.WithTimeout(context.Background(), scaled(20*time.Second))
	defer cancel()
	if _, err := client.Index().Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return f, client
}

// change changes the sidecar.
func (f *fake) change(change func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) rows() *nodesiftv1.RowTable {
	rows := &nodesiftv1.RowTable{Epoch: f.epoch, Generation: f.table, Count: uint32(len(f.nodes)), Whole: true}
	for row, node := range f.nodes {
		rows.Changes = append(rows.Changes, &nodesiftv1.RowName{Row: uint32(row), Node: node})
	}
	return rows
}

func (f *fake) NodeIndex(_ *nodesiftv1.NodeIndexRequest, stream grpc.ServerStreamingServer[nodesiftv1.NodeIndexResponse]) error {
	for {
		f.mutex.Lock()
		rows, changed := f.rows(), f.changed
		f.mutex.Unlock()
		if err := stream.Send(&nodesiftv1.NodeIndexResponse{Rows: rows, Complete: true}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// verdict is the failure of a pod on the node of a row: 0 where it fits.
func verdict(row int, occupied, allocate bool) int {
	switch {
	case row%3 == 2:
		return 1
	case allocate && row%3 == 1:
		return 2
	case occupied:
		return 3
	}
	return 0
}

var failures = []*nodesiftv1.Failure{
	{Predicate: "NodeAffinity", Code: "UnschedulableAndUnresolvable", Reasons: []string{"node(s) didn't match Pod's node affinity/selector"}},
	{Predicate: "NodeResourcesFit", Code: "Unschedulable", Reasons: []string{"Insufficient cpu", "Insufficient memory"}},
	{Predicate: "InterPodAffinity", Code: "Unschedulable", Reasons: []string{"node(s) didn't match pod anti-affinity rules"}},
}

// texts are those of the failures.
var texts = []string{
	"node(s) didn't match Pod's node affinity/selector",
	"Insufficient cpu, Insufficient memory",
	"node(s) didn't match pod anti-affinity rules",
}

func (f *fake) Filter(ctx context.Context, request *nodesiftv1.FilterRequest) (*nodesiftv1.FilterResponse, error) {
	if len(request.GetPods()) == 0 {
		return f.place(ctx, request)
	}
	f.mutex.Lock()
	delay, about := f.delay, f.about
	f.mutex.Unlock()
	if delay != nil {
		delay(ctx)
	}
	var failure error
	if about != nil {
		failure = about(ctx, request.GetPods()[0].GetUid())
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	tooNew := f.never != "" && request.GetConsistency().GetMinPodsResourceVersion() == f.never
	if inBackground(request) {
		f.tries++
		if tooNew {
			f.triedNever++
		}
	} else {
		f.filters = append(f.filters, request)
	}
	if tooNew {
		return nil, status.Error(codes.DeadlineExceeded, "no such version yet")
	}
	if failure != nil {
		return nil, failure
	}
	if f.filterError != nil {
		return nil, f.filterError
	}
	allocate := request.GetPhase() != nodesiftv1.Phase_PHASE_RESERVE
	bitmaps := [4][]byte{}
	counts := [4]uint32{}
	for at := range bitmaps {
		bitmaps[at] = make([]byte, (len(f.nodes)+7)/8)
	}
	occupied := map[string]bool{}
	for _, node := range f.placed {
		occupied[node] = true
	}
	for row, node := range f.nodes {
		if named := request.GetNodes().GetNames(); len(named) > 0 && !slices.Contains(named, node) {
			continue
		}
		of := verdict(row, occupied[node], allocate)
		if len(request.GetOverlay().GetRemovedPods()) > 0 {
			// A pod that is placed is judged without itself.
			of = 0
			if f.misfits[request.GetPods()[0].GetUid()] {
				of = 3
			}
		}
		bitmaps[of][row/8] |= 1 << (row % 8)
		counts[of]++
	}
	answer := &nodesiftv1.PodAnswer{
		Nodes: uint32(len(f.nodes)), Cycle: nodesiftv1.Cycle_CYCLE_EACH_NODE,
		FeasibleRows: bitmaps[0], FeasibleCount: counts[0], Faults: f.faults,
	}
	for at, failure := range failures {
		if counts[at+1] > 0 {
			answer.Failures = append(answer.Failures, &nodesiftv1.Failure{
				Predicate: failure.Predicate, Code: failure.Code, Reasons: failure.Reasons, Count: counts[at+1], NodeRows: bitmaps[at+1],
			})
		}
	}
	version := &nodesiftv1.Version{Generation: f.generation, PolicyGeneration: f.policy, NodesResourceVersion: f.nodesVersion, Stale: f.stale}
	return &nodesiftv1.FilterResponse{Version: version, Pods: []*nodesiftv1.PodAnswer{answer}, Rows: f.rows()}, nil
}

// inBackground tells whether no caller under the lock of the shim waits for the answer.
func inBackground(request *nodesiftv1.FilterRequest) bool {
	return strings.Contains(request.GetPods()[0].GetJson(), "nodesift-question") || len(request.GetOverlay().GetRemovedPods()) > 0
}

func (f *fake) Explain(context.Context, *nodesiftv1.ExplainRequest) (*nodesiftv1.ExplainResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.explained++
	if f.explainError != nil {
		return nil, f.explainError
	}
	explanation := &nodesiftv1.PodExplanation{}
	for _, name := range f.predicates {
		explanation.Predicates = append(explanation.Predicates, &nodesiftv1.PredicateAnswer{Predicate: name})
	}
	version := &nodesiftv1.Version{PolicyGeneration: f.policy}
	return &nodesiftv1.ExplainResponse{Version: version, Pods: []*nodesiftv1.PodExplanation{explanation}}, nil
}

// PreemptionPredicates needs two victims.
func (f *fake) PreemptionPredicates(ctx context.Context, request *nodesiftv1.PreemptionPredicatesRequest) (*nodesiftv1.PreemptionPredicatesResponse, error) {
	f.mutex.Lock()
	delay, about := f.delay, f.about
	f.mutex.Unlock()
	if delay != nil {
		delay(ctx)
	}
	var failure error
	if about != nil {
		failure = about(ctx, request.GetAllocationKey())
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.preemptions = append(f.preemptions, request)
	if failure != nil {
		return nil, failure
	}
	if f.preemptionError != nil {
		return nil, f.preemptionError
	}
	index := max(1, request.GetStartIndex())
	if int(index) >= len(request.GetPreemptAllocationKeys()) {
		return &nodesiftv1.PreemptionPredicatesResponse{Index: -1}, nil
	}
	return &nodesiftv1.PreemptionPredicatesResponse{
		Success: true, Index: index, Faults: f.faults, Version: &nodesiftv1.Version{Stale: f.stale},
	}, nil
}

var unavailable = status.Error(codes.Unavailable, "not ready")
