package nodesift

import (
	"context"
	"fmt"
	"time"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// NegotiateOption is an option of [Client.Negotiate] and of [Client.Negotiation]. Each [ConsistencyOption] is one, too.
type NegotiateOption interface {
	negotiate(*nodesiftv1.NegotiateRequest)
}

type negotiateFunc func(*nodesiftv1.NegotiateRequest)

func (f negotiateFunc) negotiate(request *nodesiftv1.NegotiateRequest) { f(request) }

// Order is the nodes to try, the preferred ones first; without it, all nodes by row.
func Order(nodes ...string) NegotiateOption {
	return negotiateFunc(func(request *nodesiftv1.NegotiateRequest) { request.Order = nodes })
}

// Candidates is the most nodes of a round, 1 to 256; 128 unless given.
func Candidates(count int) NegotiateOption {
	return negotiateFunc(func(request *nodesiftv1.NegotiateRequest) { request.Candidates = uint32(max(count, 0)) })
}

// Within is the time for all rounds, 30 s unless given, and for one of them, 2 s unless given. 0: as without it.
func Within(all, round time.Duration) NegotiateOption {
	return negotiateFunc(func(request *nodesiftv1.NegotiateRequest) {
		request.DeadlineMs, request.RoundMs = milliseconds(all), milliseconds(round)
	})
}

// Supersedes is the negotiation of the same pod that this one takes the place of; see [Negotiating].
func Supersedes(id uint64) NegotiateOption {
	return negotiateFunc(func(request *nodesiftv1.NegotiateRequest) { request.Supersedes = id })
}

// SelectOption is an option of [Client.Selection].
type SelectOption func(*nodesiftv1.SelectRequest)

// Optimistic selects nodes before all parties have been heard. Only for a pod with exactly one claim to allocate.
func Optimistic() SelectOption {
	return func(request *nodesiftv1.SelectRequest) { request.Optimistic = true }
}

// AllocatedWithin is the time for all allocations, 10 minutes at most; 30 s unless given.
func AllocatedWithin(all time.Duration) SelectOption {
	return func(request *nodesiftv1.SelectRequest) { request.DeadlineMs = milliseconds(all) }
}

// Agreement is what parties have agreed on.
type Agreement struct {
	// The negotiation, for [Client.Select] and [Client.Release].
	ID uint64
	// Nodes that suit all parties and that predicates allow, in the order that was asked for. [Client.Select] takes them for 30 s.
	Nodes []string
	// The version of the last evaluation.
	Version Version
}

// NoAgreementError is how a negotiation ended without one.
type NoAgreementError struct {
	ID uint64
	// Why: exhausted, timed out, in progress, gone, superseded.
	End nodesiftv1.End
	// Where it has timed out, the parties that had not answered, or not finished.
	Parties []string
	// metadata.uid of the claim that is in progress.
	Claim string
	// Where it is exhausted or has timed out, why nodes do not suit.
	Refusals []PartyRefusal
}

// PartyRefusal is nodes that a party has refused for one reason.
type PartyRefusal struct {
	Party string
	// For people; empty where the party gives none.
	Reason string
	Nodes  int
}

func (e *NoAgreementError) Error() string {
	switch e.End {
	case nodesiftv1.End_END_TIMED_OUT:
		return fmt.Sprintf("nodesift: the time for the negotiation is over; these parties were not heard: %v", e.Parties)
	case nodesiftv1.End_END_IN_PROGRESS:
		return fmt.Sprintf("nodesift: claim %s is being allocated or deallocated: try again later", e.Claim)
	default:
		return fmt.Sprintf("nodesift: the negotiation has ended with %v", e.End)
	}
}

// Is tells that it is [ErrNoAgreement].
func (e *NoAgreementError) Is(target error) bool { return target == ErrNoAgreement }

// NotAllocatedError is why a pod cannot have what was selected. What was allocated for it alone is given back.
type NotAllocatedError struct {
	// The party; empty where predicates rejected the pod, or the parties have no node in common.
	Party string
	// metadata.uid of the claim, where the party has named one.
	Claim string
	// For people.
	Reason string
}

func (e *NotAllocatedError) Error() string {
	if e.Party == "" {
		return "nodesift: nothing is allocated: " + e.Reason
	}
	return fmt.Sprintf("nodesift: party %s: %s", e.Party, e.Reason)
}

// Is tells that it is [ErrNotAllocated].
func (e *NotAllocatedError) Is(target error) bool { return target == ErrNotAllocated }

// Negotiate looks for nodes that predicates allow and that suit all parties of the pod, until they agree, or it ends with a
// [NoAgreementError]. A context that ends before gives the negotiation up. Without a deadline, the time is that of [Within].
// [Client.Negotiation] tells what happens meanwhile.
func (c *Client) Negotiate(ctx context.Context, pod Pod, options ...NegotiateOption) (Agreement, error) {
	var agreement Agreement
	isAgreed := false
	for event, err := range c.Negotiation(ctx, pod, options...) {
		if err != nil {
			return Agreement{}, err
		}
		isAgreed = event.Agreed
		agreement.ID, agreement.Version = event.ID, event.Version
		if event.Viable != nil {
			agreement.Nodes = event.Viable
		}
		if err := event.Err(); err != nil {
			return Agreement{}, err
		}
	}
	if !isAgreed {
		return Agreement{}, fmt.Errorf("nodesift: the negotiation ended before an agreement, by a selection: %w", ErrUnavailable)
	}
	return agreement, nil
}

// Select assumes the pod on the first of the nodes that predicates still allow, has all parties allocate, and returns the node to
// bind the pod to once they have. All nodes are of the agreement, the preferred one first. Where it fails with a
// [NotAllocatedError] or a [NoAgreementError], the pod is assumed no more; after any other error, release the negotiation.
// [Client.Selection] takes options.
func (c *Client) Select(ctx context.Context, id uint64, nodes ...string) (string, error) {
	node := ""
	for event, err := range c.Selection(ctx, id, nodes) {
		if err != nil {
			return "", err
		}
		if err := event.Err(); err != nil {
			return "", err
		}
		node = event.Allocated
	}
	if node == "" {
		return "", fmt.Errorf("nodesift: the selection ended without an allocation: %w", ErrUnavailable)
	}
	return node, nil
}

// Release gives a negotiation up: what parties have allocated for the pod alone is given back, and the pod is assumed no more.
func (c *Client) Release(ctx context.Context, id uint64) error {
	ctx, cancel := c.deadline(ctx, 0)
	defer cancel()
	_, err := c.negotiation.Release(ctx, &nodesiftv1.ReleaseRequest{Id: id})
	return failure(err)
}
