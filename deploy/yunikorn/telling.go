package yunikorn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// delivery is one change that is being sent.
type delivery struct {
	uid    types.UID
	at     *placement
	change uint64
}

// outcome is what became of a delivery.
type outcome struct {
	// The sidecar sees the pod bound or gone, and needs no placement of it.
	bound bool
	err   error
	// The error is this placement's: that of its part of the answer, or of a call that has told no other.
	own bool
	// The sidecar has refused this placement, which is an answer about it.
	refused bool
	// The call had no answer.
	unanswered bool
}

// tell delivers placements in one call. Pods that the sidecar does not have are told once more, whole.
func tell(client *nodesift.Client, batch []delivery, ttl time.Duration) []outcome {
	of := &telling{client, nodesift.TimeToLive(ttl), batch, make([]outcome, len(batch))}
	byUID := make([]told, len(batch))
	for at, one := range batch {
		byUID[at] = told{at, nodesift.PodUID(string(one.uid))}
	}
	of.call(byUID)
	var whole []told
	size := 0
	for at, one := range batch {
		if !of.notFound(at) {
			continue
		}
		text, err := json.Marshal(one.at.pod)
		if err != nil {
			of.outcomes[at].err = err
			continue
		}
		if len(whole) > 0 && size+len(text) > wholeBytes {
			of.call(whole)
			whole, size = nil, 0
		}
		whole, size = append(whole, told{at, nodesift.PodJSON(text)}), size+len(text)
	}
	if len(whole) > 0 {
		of.call(whole)
	}
	for at, one := range batch {
		if !of.notFound(at) {
			continue
		}
		if _, known := client.Index().Names().Row(one.at.node); known {
			// A whole pod is refused only where the sidecar has seen its end.
			of.outcomes[at] = outcome{bound: true}
		}
	}
	return of.outcomes
}

// telling is a batch that is being told.
type telling struct {
	client   *nodesift.Client
	ttl      nodesift.AssumeOption
	batch    []delivery
	outcomes []outcome
}

// told is one of a batch, by its place there, and how its pod is named.
type told struct {
	at  int
	pod nodesift.Pod
}

// call is one call, in a time of its own.
func (t *telling) call(all []told) {
	changes := make([]nodesift.ChangeOption, len(all))
	for number, one := range all {
		if to := t.batch[one.at].at; to != nil {
			changes[number] = nodesift.AssumeFirst(one.pod, to.node, t.ttl)
		} else {
			changes[number] = nodesift.ForgetFirst(one.pod)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), deliveryTimeout)
	defer cancel()
	made, err := t.client.Place(ctx, changes...)
	for _, one := range all {
		next := outcome{err: err}
		switch {
		case err != nil:
		case t.batch[one.at].at != nil:
			next = outcome{bound: made.Assumed[0].Assumed.Placed == nodesift.PlacedAlreadyBound, err: made.Assumed[0].Err}
			made.Assumed = made.Assumed[1:]
		default:
			next.err, made.Forgotten = made.Forgotten[0].Err, made.Forgotten[1:]
		}
		// The error of a call is that of a placement only where it is the only one.
		next.own = err == nil || len(all) == 1
		next.refused = next.own && refusal(next.err)
		next.unanswered = err != nil && !next.refused
		t.outcomes[one.at] = next
	}
}

// notFound tells whether the sidecar lacks the pod or the node of a placement.
func (t *telling) notFound(at int) bool {
	outcome := t.outcomes[at]
	return t.batch[at].at != nil && outcome.refused && errors.Is(outcome.err, nodesift.ErrNotFound)
}

// refusal tells whether an error is an answer about a placement.
func refusal(err error) bool {
	return errors.Is(err, nodesift.ErrNotFound) || errors.Is(err, nodesift.ErrInvalid) ||
		errors.Is(err, nodesift.ErrDoesNotFit) || errors.Is(err, nodesift.ErrChanged)
}
