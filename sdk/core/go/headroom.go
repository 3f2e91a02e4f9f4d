package nodesift

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// HeadroomOption is an option of [Client.Headroom].
type HeadroomOption interface {
	headroom(*nodesiftv1.HeadroomRequest)
}

func (f consistencyFunc) headroom(to *nodesiftv1.HeadroomRequest) {
	if to.Consistency == nil {
		to.Consistency = &nodesiftv1.Consistency{}
	}
	f(to.Consistency)
}

// Headroom is the room for a pod on the node that it is on.
type Headroom struct {
	// The node.
	Node string
	// By resource, one entry for each increase that was asked for.
	Resources map[string]Room
}

// Room is the room for more of one resource: cpu in millicores, everything else in whole units.
type Room struct {
	// What the node has in status.allocatable.
	Allocatable int64
	// What the pod takes.
	Taken int64
	// What no pod takes; below zero where pods take more than there is.
	Free int64
	// The part of the increase that fits, from 0 to all of it.
	Fits int64
}

// Headroom tells how much of each increase a pod may take of the node that it is on, bound or assumed, by the account by which all
// pods count there: that of the accounting component of the policy, or requests. Nothing is set aside. [ErrNotFound] where the
// pod is on no node; a stale answer is an error beside the answer, as with [Client.Feasible].
func (c *Client) Headroom(ctx context.Context, pod Pod, increases map[string]int64, options ...HeadroomOption) (Headroom, error) {
	encoded, err := pod.encode()
	if err != nil {
		return Headroom{}, err
	}
	request := &nodesiftv1.HeadroomRequest{Pod: encoded}
	for _, option := range options {
		option.headroom(request)
	}
	for _, name := range slices.Sorted(maps.Keys(increases)) {
		request.Amounts = append(request.Amounts, &nodesiftv1.NamedAmount{Name: name, Amount: increases[name]})
	}
	ctx, cancel := c.deadline(ctx, waits(request.GetConsistency()))
	defer cancel()
	response, err := c.stub.Headroom(ctx, request)
	if err != nil {
		return Headroom{}, failure(err)
	}
	room := Headroom{Node: response.GetNode(), Resources: map[string]Room{}}
	for _, of := range response.GetResources() {
		room.Resources[of.GetName()] = Room{Allocatable: of.GetAllocatable(), Taken: of.GetTaken(), Free: of.GetFree(), Fits: of.GetFits()}
	}
	if len(room.Resources) != len(increases) {
		return Headroom{}, &Error{Code: codes.Internal, Message: fmt.Sprintf("%d answers about %d resources", len(room.Resources), len(increases))}
	}
	return room, (&feasible{}).judge(&answer{version: versionOf(response.GetVersion())})
}
