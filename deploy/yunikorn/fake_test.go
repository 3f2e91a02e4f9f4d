package yunikorn_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
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
	// What Filter, Assume and PreemptionPredicates fail with.
	filterError, assumeError, preemptionError error
	// Called in Filter without the mutex.
	delay func(context.Context)
	// Closed at the end of the test.
	ended chan struct{}
}

const nodesVersion = "1000"

func startFake(t testing.TB, nodes int) (*fake, *nodesift.Client) {
	t.Helper()
	f := &fake{
		changed: make(chan struct{}), ended: make(chan struct{}), epoch: 7, table: 1, generation: 10,
		nodesVersion: nodesVersion, placed: map[string]string{}, outcome: nodesiftv1.Placed_PLACED_ASSUMED,
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
	f.mutex.Lock()
	delay := f.delay
	f.mutex.Unlock()
	if delay != nil {
		delay(ctx)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.filters = append(f.filters, request)
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
		of := verdict(row, occupied[node], allocate)
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
	version := &nodesiftv1.Version{Generation: f.generation, NodesResourceVersion: f.nodesVersion, Stale: f.stale}
	return &nodesiftv1.FilterResponse{Version: version, Pods: []*nodesiftv1.PodAnswer{answer}, Rows: f.rows()}, nil
}

func (f *fake) Assume(_ context.Context, request *nodesiftv1.AssumeRequest) (*nodesiftv1.AssumeResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.assumeError != nil {
		return nil, f.assumeError
	}
	uid := request.GetPod().GetUid()
	f.placed[uid] = request.GetNode()
	f.generation++
	return &nodesiftv1.AssumeResponse{Uid: uid, Placed: f.outcome}, nil
}

func (f *fake) Forget(_ context.Context, request *nodesiftv1.ForgetRequest) (*nodesiftv1.ForgetResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.placed, request.GetPod().GetUid())
	f.forgotten = append(f.forgotten, request.GetPod().GetUid())
	f.generation++
	return &nodesiftv1.ForgetResponse{}, nil
}

// PreemptionPredicates needs two victims.
func (f *fake) PreemptionPredicates(_ context.Context, request *nodesiftv1.PreemptionPredicatesRequest) (*nodesiftv1.PreemptionPredicatesResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.preemptions = append(f.preemptions, request)
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

// nodeInfo, hint, event and cycleState stand for the types that the shim takes from Kubernetes' scheduler.
type nodeInfo struct{ node *v1.Node }

func (n *nodeInfo) Node() *v1.Node { return n.node }

type (
	hint       func(pod *v1.Pod) error
	event      struct{ hint hint }
	cycleState struct{ of types.UID }
	empty      struct{}
)

// released is the shim's interface up to YuniKorn 1.8, and newest the one after it.
type (
	released interface {
		EventsToRegister(queueingHintFn hint) []event
		Predicates(pod *v1.Pod, node *nodeInfo, allocate bool) (plugin string, error error)
		PreemptionPredicates(pod *v1.Pod, node *nodeInfo, victims []*v1.Pod, startIndex int) (index int)
	}
	newest interface {
		EventsToRegister(queueingHintFn hint) []event
		PreFilter(pod *v1.Pod, allocate bool) (map[string]*empty, *cycleState, error)
		Filter(pod *v1.Pod, node *nodeInfo, state *cycleState, allocate bool) (string, error)
		PreemptionFilter(pod *v1.Pod, node *nodeInfo, state *cycleState, victims []*v1.Pod, startIndex int) int
	}
)

// own is the shim's own manager: everything fits, and it notes who asked.
type own struct {
	mutex sync.Mutex
	calls []string
}

const ownIndex = 5

func (o *own) note(call string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.calls = append(o.calls, call)
}

// taken returns the calls since the last time.
func (o *own) taken() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	calls := o.calls
	o.calls = nil
	return calls
}

func (o *own) EventsToRegister(of hint) []event { return []event{{of}} }

func (o *own) Predicates(_ *v1.Pod, node *nodeInfo, _ bool) (string, error) {
	o.note("Predicates " + node.node.Name)
	return "", nil
}

func (o *own) PreemptionPredicates(_ *v1.Pod, node *nodeInfo, _ []*v1.Pod, _ int) int {
	o.note("PreemptionPredicates " + node.node.Name)
	return ownIndex
}

func (o *own) PreFilter(pod *v1.Pod, _ bool) (map[string]*empty, *cycleState, error) {
	o.note("PreFilter")
	return map[string]*empty{"named": {}}, &cycleState{pod.UID}, nil
}

func (o *own) Filter(_ *v1.Pod, node *nodeInfo, state *cycleState, _ bool) (string, error) {
	o.note("Filter " + node.node.Name + " " + string(state.of))
	return "", nil
}

func (o *own) PreemptionFilter(_ *v1.Pod, node *nodeInfo, state *cycleState, _ []*v1.Pod, _ int) int {
	o.note("PreemptionFilter " + node.node.Name + " " + string(state.of))
	return ownIndex
}

type manager = yunikorn.Manager[*nodeInfo, hint, event]

// The compiler infers the types from the interface, as it does in the shim.
func newManager(client *nodesift.Client, of released, options yunikorn.Options) *manager {
	if options.Timeout == 0 {
		options.Timeout = scaled(5 * time.Second)
	}
	return yunikorn.New(client, of, options)
}

var (
	_ released = (*manager)(nil)
	_ newest   = (*yunikorn.Staged[*nodeInfo, *cycleState, *empty, hint, event])(nil)
)

// aLongTime is an age that no answer of a test reaches.
const aLongTime = time.Hour

func pod(name, version string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), ResourceVersion: version}}
}

func info(name, version string) *nodeInfo {
	return &nodeInfo{&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}}
}

// ask asks about a pod on a node and expects a failure, or that it fits (0).
func ask(t testing.TB, m *manager, of *v1.Pod, node *nodeInfo, allocate bool, failure int) {
	t.Helper()
	plugin, err := m.Predicates(of, node, allocate)
	switch {
	case failure == 0 && (plugin != "" || err != nil):
		t.Fatalf("%s does not fit %s: %q %v", of.Name, node.node.Name, plugin, err)
	case failure > 0 && (plugin != failures[failure-1].Predicate || err == nil || err.Error() != texts[failure-1]):
		t.Fatalf("%s on %s: %q %v, expected %q", of.Name, node.node.Name, plugin, err, texts[failure-1])
	}
}

func expect[T comparable](t testing.TB, what string, is, expected T) {
	t.Helper()
	if is != expected {
		t.Fatalf("%s: %v, expected %v", what, is, expected)
	}
}

func expectCalls(t testing.TB, o *own, expected ...string) {
	t.Helper()
	if calls := o.taken(); !slices.Equal(calls, expected) {
		t.Fatalf("the own manager was asked %q, expected %q", calls, expected)
	}
}
