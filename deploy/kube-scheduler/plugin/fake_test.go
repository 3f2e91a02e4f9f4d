package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// fakeSidecar answers what a test wants.
type fakeSidecar struct {
	nodesiftv1.UnimplementedNodesiftServer
	socket string
	server *grpc.Server

	mutex sync.Mutex
	epoch uint64
	nodes []string
	// Requests about pods, and the changes of all requests.
	requests []*nodesiftv1.FilterRequest
	placed   map[string]string
	// Why a node does not fit.
	rejects map[string]*nodesiftv1.Failure
	// Changes an answer, or fails it.
	edit func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error
	// Why an assumption is refused.
	refuses map[string]string
	// What requests with a pod to assume fail with; OK is that they have no answer.
	fails map[string]codes.Code
	// Placements of a request above which it fails; 0 is any number. And those that requests have had of each pod.
	takes      int
	told       map[string]int
	predicates []string
	// Whether it fails to explain itself, so that its policy cannot be learned.
	unexplained bool
	// Placements of the largest request that was taken in, and of the largest one with a question.
	most, mostWithQuestion int
	// Requests that have no answer, and how many there were.
	hangs     func(*nodesiftv1.FilterRequest) bool
	hanging   atomic.Int64
	reprieve  func(*nodesiftv1.ReprieveRequest) *nodesiftv1.ReprieveResponse
	reprieves int
	// What it says that it supports; nil where it is too old to know.
	capabilities *nodesiftv1.CapabilitiesResponse
	// Its other half, and the explanations that it was asked for.
	parties  *fakeParties
	explains atomic.Int64
	// Calls that have begun, answered or not.
	begun  atomic.Int64
	paused atomic.Bool
	// Time that it takes for each placement, in nanoseconds.
	perPlacement atomic.Int64
}

func startFake(t testing.TB, nodes ...string) *fakeSidecar {
	t.Helper()
	folder, err := os.MkdirTemp("", "ns")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	f := &fakeSidecar{socket: filepath.Join(folder, "n.sock"), nodes: nodes, rejects: map[string]*nodesiftv1.Failure{},
		refuses: map[string]string{}, fails: map[string]codes.Code{},
		told: map[string]int{}, predicates: []string{"NodeName"}, parties: &fakeParties{words: make(chan *nodesiftv1.PartyWord)}}
	f.start(t)
	t.Cleanup(func() { f.server.Stop() })
	return f
}

// start begins as another process, which knows nothing of placements.
func (f *fakeSidecar) start(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	f.mutex.Lock()
	f.epoch++
	f.placed = map[string]string{}
	f.mutex.Unlock()
	f.server = grpc.NewServer()
	nodesiftv1.RegisterNodesiftServer(f.server, f)
	f.parties.restart()
	nodesiftv1.RegisterNegotiationServer(f.server, f.parties)
	server := f.server
	go func() { _ = server.Serve(listener) }()
}

func (f *fakeSidecar) address() string { return "unix://" + f.socket }

func (f *fakeSidecar) set(change func(*fakeSidecar)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(f)
}

// asked are the requests about pods so far.
func (f *fakeSidecar) asked() []*nodesiftv1.FilterRequest {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return slices.Clone(f.requests)
}

func (f *fakeSidecar) placements() map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	all := map[string]string{}
	for pod, node := range f.placed {
		all[pod] = node
	}
	return all
}

func (f *fakeSidecar) table() *nodesiftv1.RowTable {
	table := &nodesiftv1.RowTable{Epoch: f.epoch, Generation: 1, Count: uint32(len(f.nodes)), Whole: true}
	for row, node := range f.nodes {
		table.Changes = append(table.Changes, &nodesiftv1.RowName{Row: uint32(row), Node: node})
	}
	return table
}

// uidOf is the UID of a pod in a request.
func uidOf(pod *nodesiftv1.Pod) string {
	if pod.GetUid() != "" {
		return pod.GetUid()
	}
	var whole v1.Pod
	if err := json.Unmarshal([]byte(pod.GetJson()), &whole); err != nil {
		panic(err)
	}
	return string(whole.UID)
}

// failure is what a request fails with as a whole, because of a pod in it.
func (f *fakeSidecar) failure(ctx context.Context, request *nodesiftv1.FilterRequest) error {
	f.mutex.Lock()
	takes, hangs := f.takes, f.hangs
	f.mutex.Unlock()
	if hangs != nil && hangs(request) {
		f.hanging.Add(1)
		<-ctx.Done()
		return ctx.Err()
	}
	if takes > 0 && len(request.GetAssume()) > takes {
		return status.Error(codes.ResourceExhausted, "too many")
	}
	for _, assume := range request.GetAssume() {
		uid := uidOf(assume.GetPod())
		f.mutex.Lock()
		f.told[uid]++
		code, ok := f.fails[uid]
		f.mutex.Unlock()
		if !ok {
			continue
		}
		if code == codes.OK {
			<-ctx.Done()
			return ctx.Err()
		}
		return status.Error(code, "failed by the test")
	}
	return nil
}

func (f *fakeSidecar) answer(ctx context.Context, request *nodesiftv1.FilterRequest) (*nodesiftv1.FilterResponse, error) {
	f.begun.Add(1)
	for f.paused.Load() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(f.perPlacement.Load()) * time.Duration(len(request.GetAssume())))
	if err := f.failure(ctx, request); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.most = max(f.most, len(request.GetAssume()))
	if len(request.GetPods()) > 0 {
		f.mostWithQuestion = max(f.mostWithQuestion, len(request.GetAssume()))
	}
	response := &nodesiftv1.FilterResponse{Version: &nodesiftv1.Version{Generation: 1, PolicyGeneration: 1, PodsResourceVersion: "100"}}
	for _, forget := range request.GetForget() {
		uid := uidOf(forget.GetPod())
		_, was := f.placed[uid]
		delete(f.placed, uid)
		response.Forgotten = append(response.Forgotten, &nodesiftv1.ForgetOutcome{Outcome: &nodesiftv1.ForgetOutcome_Answer{
			Answer: &nodesiftv1.ForgetResponse{WasAssumed: was}}})
	}
	for _, assume := range request.GetAssume() {
		uid := uidOf(assume.GetPod())
		if code := f.refuses[uid]; code != "" {
			response.Assumed = append(response.Assumed, &nodesiftv1.AssumeOutcome{Outcome: &nodesiftv1.AssumeOutcome_Error{
				Error: &nodesiftv1.CallError{Code: code, Message: "refused by the test"}}})
			continue
		}
		f.placed[uid] = assume.GetNode()
		response.Assumed = append(response.Assumed, &nodesiftv1.AssumeOutcome{Outcome: &nodesiftv1.AssumeOutcome_Answer{
			Answer: &nodesiftv1.AssumeResponse{Uid: uid, Placed: nodesiftv1.Placed_PLACED_ASSUMED}}})
	}
	if len(request.GetPods()) == 0 {
		return response, nil
	}
	f.requests = append(f.requests, request)
	wanted := f.nodes
	if request.GetNodes() != nil {
		wanted = request.GetNodes().GetNames()
	}
	about := &nodesiftv1.PodAnswer{Pod: "default/pod", Nodes: uint32(len(wanted)), Cycle: nodesiftv1.Cycle_CYCLE_EACH_NODE}
	about.FeasibleRows = make([]byte, (len(f.nodes)+7)/8)
	for row, node := range f.nodes {
		if !slices.Contains(wanted, node) {
			continue
		}
		failure := f.rejects[node]
		if failure == nil {
			about.FeasibleRows[row/8] |= 1 << (row % 8)
			about.FeasibleCount++
			continue
		}
		rows := make([]byte, len(about.FeasibleRows))
		rows[row/8] |= 1 << (row % 8)
		group := proto.Clone(failure).(*nodesiftv1.Failure)
		group.Count, group.NodeRows = 1, rows
		about.Failures = append(about.Failures, group)
	}
	if slices.Contains(f.predicates, partiesPredicate) {
		about.Parties = f.parties.needed(request.GetPods()[0])
	}
	response.Pods, response.Rows = []*nodesiftv1.PodAnswer{about}, f.table()
	if f.edit != nil {
		if err := f.edit(request, response); err != nil {
			return nil, err
		}
	}
	return response, nil
}

func (f *fakeSidecar) Filter(ctx context.Context, request *nodesiftv1.FilterRequest) (*nodesiftv1.FilterResponse, error) {
	return f.answer(ctx, request)
}

func (f *fakeSidecar) FilterStream(stream nodesiftv1.Nodesift_FilterStreamServer) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil
		}
		response := &nodesiftv1.FilterStreamResponse{Id: message.GetId()}
		answer, err := f.answer(stream.Context(), message.GetFilter())
		if err != nil {
			code := status.Code(err)
			name := map[codes.Code]string{codes.Aborted: "ABORTED", codes.NotFound: "NOT_FOUND", codes.InvalidArgument: "INVALID_ARGUMENT",
				codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.Internal: "INTERNAL", codes.ResourceExhausted: "RESOURCE_EXHAUSTED"}[code]
			response.Outcome = &nodesiftv1.FilterStreamResponse_Error{Error: &nodesiftv1.CallError{Code: name, Message: err.Error()}}
		} else {
			response.Outcome = &nodesiftv1.FilterStreamResponse_Answer{Answer: answer}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (f *fakeSidecar) NodeIndex(_ *nodesiftv1.NodeIndexRequest, stream nodesiftv1.Nodesift_NodeIndexServer) error {
	f.mutex.Lock()
	table := f.table()
	f.mutex.Unlock()
	if err := stream.Send(&nodesiftv1.NodeIndexResponse{Rows: table, Complete: true}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (f *fakeSidecar) Explain(_ context.Context, request *nodesiftv1.ExplainRequest) (*nodesiftv1.ExplainResponse, error) {
	f.explains.Add(1)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.unexplained {
		return nil, status.Error(codes.Unavailable, "not explained in the test")
	}
	explanation := &nodesiftv1.PodExplanation{}
	for _, name := range f.predicates {
		explanation.Predicates = append(explanation.Predicates, &nodesiftv1.PredicateAnswer{Predicate: name})
	}
	return &nodesiftv1.ExplainResponse{Version: &nodesiftv1.Version{PolicyGeneration: 1}, Pods: []*nodesiftv1.PodExplanation{explanation}}, nil
}

func (f *fakeSidecar) Capabilities(context.Context, *nodesiftv1.CapabilitiesRequest) (*nodesiftv1.CapabilitiesResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.capabilities == nil {
		return nil, status.Error(codes.Unimplemented, "unknown method Capabilities")
	}
	return f.capabilities, nil
}

func (f *fakeSidecar) Reprieve(_ context.Context, request *nodesiftv1.ReprieveRequest) (*nodesiftv1.ReprieveResponse, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.reprieves++
	if f.reprieve == nil {
		return nil, fmt.Errorf("the test has no answer")
	}
	return f.reprieve(request), nil
}

func failure(predicate string, code nodesiftv1.FailureCode, reasons ...string) *nodesiftv1.Failure {
	return &nodesiftv1.Failure{Predicate: predicate, FailureCode: code, Reasons: reasons}
}

const (
	unschedulable = nodesiftv1.FailureCode_FAILURE_CODE_UNSCHEDULABLE
	unresolvable  = nodesiftv1.FailureCode_FAILURE_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE
)
