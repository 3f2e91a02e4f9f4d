package nodesift

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// MaxPlacements is the most changes of one [Client.Place].
const MaxPlacements = 1000

// ChangeOption is a change of placements: [AssumeFirst] or [ForgetFirst].
type ChangeOption interface {
	FeasibleOption
	place(*placing)
}

type placing struct {
	request nodesiftv1.FilterRequest
	// One for each change. What has an error already is not sent.
	changes Changes
}

type assumeFirst struct {
	request *nodesiftv1.AssumeRequest
	err     error
}

func (a assumeFirst) feasible(to *feasible) {
	if a.err != nil {
		to.err = errors.Join(to.err, a.err)
		return
	}
	to.request.Assume = append(to.request.Assume, a.request)
}

func (a assumeFirst) place(to *placing) {
	to.changes.Assumed = append(to.changes.Assumed, AssumeOutcome{Err: a.err})
	if a.err == nil {
		to.request.Assume = append(to.request.Assume, a.request)
	}
}

type forgetFirst struct {
	request *nodesiftv1.ForgetRequest
	err     error
}

func (f forgetFirst) feasible(to *feasible) {
	if f.err != nil {
		to.err = errors.Join(to.err, f.err)
		return
	}
	to.request.Forget = append(to.request.Forget, f.request)
}

func (f forgetFirst) place(to *placing) {
	to.changes.Forgotten = append(to.changes.Forgotten, ForgetOutcome{Err: f.err})
	if f.err == nil {
		to.request.Forget = append(to.request.Forget, f.request)
	}
}

// Place makes many changes of placements in one call, for which the sidecar publishes one snapshot: pods that are assumed on nodes
// ([AssumeFirst], with the options of [Client.Assume]) and assumptions that end ([ForgetFirst]). They count from the next call on.
// It evaluates no pod, unless [Check] or [Allocate] is asked for.
//
// It takes [MaxPlacements] at most, and requests of 4 MiB, so of pods that are sent whole fewer fit in. Whatever their order among the
// arguments, all assumptions end first, then pods are assumed, each in the order given. Of a pod that is to be assumed and then
// forgotten, tell only that it is forgotten.
//
// The answer has what became of each change, in the order given: [Changes.Assumed] as from [Client.Assume], and [Changes.Forgotten] as
// from [Client.Forget]. A change that is refused, such as one with [ErrNotFound] or [ErrDoesNotFit], has its error there and stops no
// other; the call does not fail for it. Without changes there is nothing to call for, and no error.
//
// The error of Place is that of the whole call, and there are no outcomes with it. Nothing has changed where it is [ErrInvalid],
// [ErrDenied], or [ErrOverloaded] for too many changes or too large a request. After any other, such as [ErrDeadline] and
// [ErrUnavailable], some or all may have been made: tell them again. To assume once more, and to forget, does no harm.
func (c *Client) Place(ctx context.Context, changes ...ChangeOption) (Changes, error) {
	of := &placing{}
	for _, change := range changes {
		change.place(of)
	}
	if len(of.request.Assume)+len(of.request.Forget) == 0 {
		return of.changes, nil
	}
	ctx, cancel := c.deadline(ctx, 0)
	defer cancel()
	response, err := c.stub.Filter(ctx, &of.request)
	if err != nil {
		return Changes{}, failure(err)
	}
	return of.read(response)
}

// read adds the outcomes of what was sent.
func (p *placing) read(response *nodesiftv1.FilterResponse) (Changes, error) {
	assumed, forgotten := assumedOf(response.GetAssumed()), forgottenOf(response.GetForgotten())
	if len(assumed) != len(p.request.Assume) || len(forgotten) != len(p.request.Forget) {
		return Changes{}, &Error{Code: codes.Internal, Message: fmt.Sprintf("%d and %d answers about %d pods to assume and %d to forget",
			len(assumed), len(forgotten), len(p.request.Assume), len(p.request.Forget))}
	}
	for at := range p.changes.Assumed {
		if outcome := &p.changes.Assumed[at]; outcome.Err == nil {
			*outcome, assumed = assumed[0], assumed[1:]
		}
	}
	for at := range p.changes.Forgotten {
		if outcome := &p.changes.Forgotten[at]; outcome.Err == nil {
			*outcome, forgotten = forgotten[0], forgotten[1:]
		}
	}
	return p.changes, nil
}
