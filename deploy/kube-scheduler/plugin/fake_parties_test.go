package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// fakeParties is the half of a fake sidecar that negotiates: parties that say what a test wants. Which of them decide about a pod, its
// label "party" says.
type fakeParties struct {
	nodesiftv1.UnimplementedNegotiationServer

	mutex sync.Mutex
	next  uint64
	// Negotiations that are not over, with the UID of their pod.
	open     map[uint64]string
	asked    []*nodesiftv1.NegotiateRequest
	selected []*nodesiftv1.SelectRequest
	released []uint64
	// How many of the next releases are not answered.
	hangs int
	// Words of parties, for those who follow them.
	words chan *nodesiftv1.PartyWord
	// Why parties refuse nodes, where they do.
	refusals []*nodesiftv1.PartyRefusal
	// What becomes of a negotiation and of a selection: all nodes of the order, and the first node, where it is nil. They may wait.
	agree    func(context.Context, *nodesiftv1.NegotiateRequest) ([]string, nodesiftv1.End, error)
	allocate func(context.Context, *nodesiftv1.SelectRequest) (*nodesiftv1.NegotiationEvent, error)
	// Whether the stream of a negotiation ends by a selection, as one does whose pod somebody else selects a node for.
	selects bool
}

// has tells whether the sidecar evaluates a predicate, as far as is known.
func (p *policy) has(predicate string) bool {
	predicates, _ := p.evaluates()
	return slices.Contains(predicates, predicate)
}

// restart begins as another process, which knows of no negotiation.
func (f *fakeParties) restart() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.open = map[uint64]string{}
}

func (f *fakeParties) set(change func(*fakeParties)) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change(f)
}

// counts are the negotiations, selections and releases so far, and the negotiations that are open.
func (f *fakeParties) counts() (asked, selected, released, open int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return len(f.asked), len(f.selected), len(f.released), len(f.open)
}

func (f *fakeParties) lastAsked() *nodesiftv1.NegotiateRequest {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.asked[len(f.asked)-1]
}

// needed are the parties that decide about a pod.
func (f *fakeParties) needed(pod *nodesiftv1.Pod) []*nodesiftv1.NeededParty {
	var whole v1.Pod
	if json.Unmarshal([]byte(pod.GetJson()), &whole) != nil {
		// By UID: one that the API server of the test has.
		whole.Labels = map[string]string{"party": map[bool]string{true: "licences"}[strings.HasPrefix(pod.GetUid(), "uid-web")]}
	}
	var all []*nodesiftv1.NeededParty
	for _, party := range strings.Split(whole.Labels["party"], ".") {
		if party != "" {
			all = append(all, &nodesiftv1.NeededParty{Party: party})
		}
	}
	return all
}

func ended(id uint64, end nodesiftv1.End) *nodesiftv1.NegotiationEvent {
	return &nodesiftv1.NegotiationEvent{Id: id, Event: &nodesiftv1.NegotiationEvent_Ended_{
		Ended: &nodesiftv1.NegotiationEvent_Ended{End: end}}}
}

func allocatedOn(node string) *nodesiftv1.NegotiationEvent {
	return &nodesiftv1.NegotiationEvent{Event: &nodesiftv1.NegotiationEvent_Allocated_{
		Allocated: &nodesiftv1.NegotiationEvent_Allocated{Node: node}}}
}

func failedBy(party, reason string) *nodesiftv1.NegotiationEvent {
	return &nodesiftv1.NegotiationEvent{Event: &nodesiftv1.NegotiationEvent_Failed_{
		Failed: &nodesiftv1.NegotiationEvent_Failed{Party: party, Reason: reason}}}
}

func (f *fakeParties) Negotiate(request *nodesiftv1.NegotiateRequest, stream nodesiftv1.Negotiation_NegotiateServer) error {
	uid := uidOf(request.GetPod())
	f.mutex.Lock()
	for id, other := range f.open {
		if other == uid && request.GetSupersedes() != id {
			f.mutex.Unlock()
			return status.Errorf(codes.AlreadyExists, "the pod has negotiation %d already; name it in `supersedes` to take its place", id)
		}
	}
	delete(f.open, request.GetSupersedes())
	f.next++
	id, agree, selects := f.next, f.agree, f.selects
	f.open[id] = uid
	f.asked = append(f.asked, request)
	f.mutex.Unlock()
	if selects {
		f.set(func(f *fakeParties) { delete(f.open, id) })
		return stream.Send(&nodesiftv1.NegotiationEvent{Id: id, Event: &nodesiftv1.NegotiationEvent_Selected_{
			Selected: &nodesiftv1.NegotiationEvent_Selected{Node: request.GetOrder()[0]}}})
	}
	viable, end, err := request.GetOrder(), nodesiftv1.End_END_VIABLE, error(nil)
	if agree != nil {
		viable, end, err = agree(stream.Context(), request)
	}
	if err != nil || stream.Context().Err() != nil {
		f.set(func(f *fakeParties) { delete(f.open, id) })
		return err
	}
	send := []*nodesiftv1.NegotiationEvent{{Id: id, Round: 1, Event: &nodesiftv1.NegotiationEvent_Asked_{
		Asked: &nodesiftv1.NegotiationEvent_Asked{Nodes: uint32(len(request.GetOrder())), Parties: []string{"licences"}}}}}
	if end == nodesiftv1.End_END_VIABLE {
		send = append(send, &nodesiftv1.NegotiationEvent{Id: id, Event: &nodesiftv1.NegotiationEvent_Viable_{
			Viable: &nodesiftv1.NegotiationEvent_Viable{Nodes: viable}}})
	} else {
		f.set(func(f *fakeParties) { delete(f.open, id) })
	}
	last := ended(id, end)
	f.set(func(f *fakeParties) { last.GetEnded().Refusals = f.refusals })
	for _, event := range append(send, last) {
		if err := stream.Send(event); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeParties) Select(request *nodesiftv1.SelectRequest, stream nodesiftv1.Negotiation_SelectServer) error {
	f.mutex.Lock()
	_, known := f.open[request.GetId()]
	f.selected = append(f.selected, request)
	allocate := f.allocate
	f.mutex.Unlock()
	if !known {
		return status.Errorf(codes.NotFound, "there is no negotiation %d; negotiate again", request.GetId())
	}
	selected := &nodesiftv1.NegotiationEvent{Id: request.GetId(), Event: &nodesiftv1.NegotiationEvent_Selected_{
		Selected: &nodesiftv1.NegotiationEvent_Selected{Node: request.GetNodes()[0]}}}
	if err := stream.Send(selected); err != nil {
		return err
	}
	event, err := allocatedOn(request.GetNodes()[0]), error(nil)
	if allocate != nil {
		event, err = allocate(stream.Context(), request)
	}
	if err != nil || event == nil {
		return err
	}
	if event.GetAllocated() == nil {
		f.set(func(f *fakeParties) { delete(f.open, request.GetId()) })
	}
	return stream.Send(event)
}

func (f *fakeParties) Release(ctx context.Context, request *nodesiftv1.ReleaseRequest) (*nodesiftv1.ReleaseResponse, error) {
	f.mutex.Lock()
	f.released = append(f.released, request.GetId())
	if f.hangs > 0 {
		f.hangs--
		f.mutex.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	defer f.mutex.Unlock()
	if _, known := f.open[request.GetId()]; !known {
		return nil, status.Error(codes.NotFound, fmt.Sprint("there is no negotiation ", request.GetId()))
	}
	delete(f.open, request.GetId())
	return &nodesiftv1.ReleaseResponse{}, nil
}

// nodesSelected are the nodes of the last selection.
func (f *fakeParties) nodesSelected() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.selected) == 0 {
		return nil
	}
	return slices.Clone(f.selected[len(f.selected)-1].GetNodes())
}

func (f *fakeParties) Follow(_ *nodesiftv1.FollowRequest, stream nodesiftv1.Negotiation_FollowServer) error {
	for {
		select {
		case word := <-f.words:
			if err := stream.Send(word); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}
