package nodesift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// NegotiationEvent is what has happened to a negotiation. Of the fields behind Version, one is set.
type NegotiationEvent struct {
	// The negotiation, for [Client.Selection], [Client.Release] and [Supersedes].
	ID uint64
	// From 1 on; 0 before the first.
	Round int
	// The version of the last evaluation.
	Version Version

	// A round has begun: the parties that are heard, and about how many nodes.
	Asked *AskedParties
	// The nodes that suit all parties, in the order of the request; those outside of it last.
	Viable []string
	// The node on which the pod is assumed, and for which the parties allocate.
	Selected string
	// All parties have finished: the node to bind the pod to.
	Allocated string
	// The pod cannot have what was selected.
	Failed *NotAllocatedError
	// The negotiation has ended without an agreement.
	NoAgreement *NoAgreementError
	// The parties have agreed on the nodes of Viable, which came before.
	Agreed bool
}

// AskedParties are the parties of a round.
type AskedParties struct {
	// The number of its candidates.
	Nodes int
	// By their names in the policy. None: no party decides about the pod.
	Parties []string
	// The time that they may take to allocate by the policy; 0 where it does not say.
	Allocate time.Duration
}

// Err is the [NotAllocatedError] or [NoAgreementError] with which a negotiation ends, if this is such an end.
func (e *NegotiationEvent) Err() error {
	switch {
	case e.Failed != nil:
		return e.Failed
	case e.NoAgreement != nil:
		return e.NoAgreement
	default:
		return nil
	}
}

// isLast tells whether no event follows on the stream of the call.
func (e *NegotiationEvent) isLast(selecting bool) bool {
	return e.Err() != nil || e.Agreed || e.Allocated != "" || !selecting && e.Selected != ""
}

// Negotiation looks for nodes that predicates allow and that suit all parties of the pod, and tells what happens: the last event has
// Agreed, or an error by [NegotiationEvent.Err], or Selected where the pod is selected before. Another error ends it, too. Whoever
// leaves the loop before gives the negotiation up.
func (c *Client) Negotiation(ctx context.Context, pod Pod, options ...NegotiateOption) iter.Seq2[NegotiationEvent, error] {
	return func(yield func(NegotiationEvent, error) bool) {
		encoded, err := pod.encode()
		if err != nil {
			yield(NegotiationEvent{}, err)
			return
		}
		request := &nodesiftv1.NegotiateRequest{Pod: encoded}
		for _, option := range options {
			option.negotiate(request)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events, err := c.negotiation.Negotiate(ctx, request)
		follow(events, err, false, yield)
	}
}

// Selection assumes the pod on the first of the nodes that predicates still allow, has all parties allocate, and tells what happens:
// the last event has Allocated, or an error by [NegotiationEvent.Err]. Another error ends it, too: release the negotiation then, and
// where the loop is left before.
func (c *Client) Selection(ctx context.Context, id uint64, nodes []string, options ...SelectOption) iter.Seq2[NegotiationEvent, error] {
	return func(yield func(NegotiationEvent, error) bool) {
		request := &nodesiftv1.SelectRequest{Id: id, Nodes: nodes}
		for _, option := range options {
			option(request)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events, err := c.negotiation.Select(ctx, request)
		follow(events, err, true, yield)
	}
}

// follow reads a stream to its last event.
func follow(
	events grpc.ServerStreamingClient[nodesiftv1.NegotiationEvent], err error, selecting bool, yield func(NegotiationEvent, error) bool,
) {
	for err == nil {
		var message *nodesiftv1.NegotiationEvent
		if message, err = events.Recv(); err != nil {
			break
		}
		event := negotiationEventOf(message)
		if !yield(event, nil) || event.isLast(selecting) {
			return
		}
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: the stream has ended without an end of the negotiation", ErrUnavailable)
	} else {
		err = failure(err)
	}
	yield(NegotiationEvent{}, err)
}

func negotiationEventOf(message *nodesiftv1.NegotiationEvent) NegotiationEvent {
	event := NegotiationEvent{ID: message.GetId(), Round: int(message.GetRound()), Version: versionOf(message.GetVersion())}
	switch of := message.GetEvent().(type) {
	case *nodesiftv1.NegotiationEvent_Asked_:
		allocate := time.Duration(of.Asked.GetAllocateMs()) * time.Millisecond
		event.Asked = &AskedParties{Nodes: int(of.Asked.GetNodes()), Parties: of.Asked.GetParties(), Allocate: allocate}
	case *nodesiftv1.NegotiationEvent_Viable_:
		event.Viable = of.Viable.GetNodes()
	case *nodesiftv1.NegotiationEvent_Selected_:
		event.Selected = of.Selected.GetNode()
	case *nodesiftv1.NegotiationEvent_Allocated_:
		event.Allocated = of.Allocated.GetNode()
	case *nodesiftv1.NegotiationEvent_Failed_:
		event.Failed = &NotAllocatedError{of.Failed.GetParty(), of.Failed.GetClaim(), of.Failed.GetReason()}
	case *nodesiftv1.NegotiationEvent_Ended_:
		if event.Agreed = of.Ended.GetEnd() == nodesiftv1.End_END_VIABLE; !event.Agreed {
			event.NoAgreement = &NoAgreementError{ID: event.ID, End: of.Ended.GetEnd(), Parties: of.Ended.GetParties(), Claim: of.Ended.GetClaim()}
			for _, refusal := range of.Ended.GetRefusals() {
				event.NoAgreement.Refusals = append(event.NoAgreement.Refusals,
					PartyRefusal{refusal.GetParty(), refusal.GetReason(), int(refusal.GetNodes())})
			}
		}
	}
	return event
}

// Negotiating is the negotiation that a pod has already, where that is why [Client.Negotiation] fails, for [Supersedes]; 0 otherwise,
// and where the sidecar does not name it.
func Negotiating(err error) uint64 {
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != codes.AlreadyExists {
		return 0
	}
	for word := range strings.FieldsSeq(refused.Message) {
		if id, err := strconv.ParseUint(strings.Trim(word, ",;:."), 10, 64); err == nil {
			return id
		}
	}
	return 0
}

// PartyWord says that a party may say something else by now about pods.
type PartyWord struct {
	Party string
	// metadata.uid of the pods.
	Pods []string
}

// PartyWords follows what parties say of pods whose negotiations, by this client, ended without an agreement or an allocation: each word
// names pods that can be negotiated about again at once. Words of before the call are lost, so that a core keeps a pause of its own. It ends
// with an error. Once this client has followed, it has to go on: 30 s after its last stream, what it has selected and not bound is given back.
func (c *Client) PartyWords(ctx context.Context) iter.Seq2[PartyWord, error] {
	return func(yield func(PartyWord, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		words, err := c.negotiation.Follow(ctx, &nodesiftv1.FollowRequest{})
		for err == nil {
			var word *nodesiftv1.PartyWord
			if word, err = words.Recv(); err == nil && !yield(PartyWord{word.GetParty(), word.GetPods()}, nil) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: the stream of what parties say has ended", ErrUnavailable)
		} else {
			err = failure(err)
		}
		yield(PartyWord{}, err)
	}
}
