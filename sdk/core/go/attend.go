package nodesift

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Party answers the calls of a sidecar. Its methods are called one after the other, and answer by the [Attendance], at once or later,
// from any goroutine.
type Party interface {
	// Ask: which nodes do not suit? Answer with [Attendance.Answer].
	Ask(*Attendance, *nodesiftv1.Ask)
	// Allocate for one of the nodes at least. Answer with [Attendance.Allocated] or [Attendance.Failed]. It may come again with the same
	// id.
	Allocate(*Attendance, *nodesiftv1.Allocate)
	// Deallocate what this call has allocated, also where nothing is held any more: the pod is given up, or has ended. Answer with
	// [Attendance.Deallocated].
	Deallocate(*Attendance, *nodesiftv1.Deallocate)
	// Withdraw: nobody waits for the answer to this call any more. Stop, and allocate nothing.
	Withdraw(*Attendance, uint64)
}

// BoundParty is a [Party] that wants to hear of pods that are bound, and so of everything that it holds whenever it attends again.
type BoundParty interface {
	Party
	// Bound: the pod of an Allocate is bound to a node. Keep what is allocated until Deallocate. It may come again with the same id.
	Bound(*Attendance, *nodesiftv1.PartyBound)
}

// Attendance is the stream of a party. Its methods can be called from many goroutines.
type Attendance struct {
	mutex  sync.Mutex
	stream nodesiftv1.Parties_AttendClient
}

// Attend answers calls as a party of the policy until the context or the stream ends, and returns why. Whoever wants to attend for
// longer calls it again, after a while: what was asked meanwhile is asked again.
func (c *Client) Attend(ctx context.Context, name string, party Party) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.parties.Attend(ctx)
	if err != nil {
		return failure(err)
	}
	attendance := &Attendance{stream: stream}
	begin := &nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Attend{Attend: &nodesiftv1.PartyAttend{Party: name}}}
	// Where it fails, the stream says why.
	_ = attendance.send(begin)
	for {
		call, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return failure(err)
		}
		switch call := call.GetCall().(type) {
		case *nodesiftv1.PartyCall_Ask:
			party.Ask(attendance, call.Ask)
		case *nodesiftv1.PartyCall_Allocate:
			party.Allocate(attendance, call.Allocate)
		case *nodesiftv1.PartyCall_Bound:
			if party, ok := party.(BoundParty); ok {
				party.Bound(attendance, call.Bound)
			}
		case *nodesiftv1.PartyCall_Deallocate:
			party.Deallocate(attendance, call.Deallocate)
		case *nodesiftv1.PartyCall_Withdraw:
			party.Withdraw(attendance, call.Withdraw.GetId())
		}
	}
}

// Answer says which of the nodes that were asked about do not suit.
func (a *Attendance) Answer(answer *nodesiftv1.Answer) error {
	return a.send(&nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Answer{Answer: answer}})
}

// Allocated says that all claims of a call are allocated, and on which of its nodes they can be used.
func (a *Attendance) Allocated(call *nodesiftv1.Allocate, nodes ...string) error {
	allocated := &nodesiftv1.PartyAllocated{Id: call.GetId(), Nodes: nodes}
	for _, claim := range call.GetClaims() {
		allocated.Claims = append(allocated.Claims, claim.GetUid())
	}
	return a.send(&nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Allocated{Allocated: allocated}})
}

// Failed says that nothing is allocated for a call, and for which of its nodes that holds: none are the first of them.
func (a *Attendance) Failed(call *nodesiftv1.Allocate, reason string, nodes ...string) error {
	failed := &nodesiftv1.PartyFailed{Id: call.GetId(), Reason: reason, Nodes: nodes}
	return a.send(&nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Failed{Failed: failed}})
}

// Deallocated says that nothing is held of a call any more.
func (a *Attendance) Deallocated(id uint64) error {
	deallocated := &nodesiftv1.PartyDeallocated{Id: id}
	return a.send(&nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Deallocated{Deallocated: deallocated}})
}

// Invalidate says that earlier answers about a subject are not valid any more; without one, all.
func (a *Attendance) Invalidate(subject string) error {
	invalidate := &nodesiftv1.Invalidate{Subject: subject}
	return a.send(&nodesiftv1.PartyMessage{Message: &nodesiftv1.PartyMessage_Invalidate{Invalidate: invalidate}})
}

func (a *Attendance) send(message *nodesiftv1.PartyMessage) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return failure(a.stream.Send(message))
}
