package nodesift

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// AssumeOption is an option of [Client.Assume].
type AssumeOption func(*nodesiftv1.AssumeRequest)

// TimeToLive is how long the pod is assumed if the watch does not show it; 30 s unless given or configured.
func TimeToLive(ttl time.Duration) AssumeOption {
	return func(request *nodesiftv1.AssumeRequest) { request.TtlMs = proto.Uint32(milliseconds(ttl)) }
}

// IfGeneration assumes the pod only if the cluster has not changed since that generation, and else fails with [ErrChanged].
func IfGeneration(generation uint64) AssumeOption {
	return func(request *nodesiftv1.AssumeRequest) { request.IfGeneration = proto.Uint64(generation) }
}

// Check assumes the pod only if it fits, in one step, and else fails with [ErrDoesNotFit].
func Check() AssumeOption {
	return func(request *nodesiftv1.AssumeRequest) { request.Check = true }
}

// Allocate gives devices of the node to the claims of the pod in the same step, as [Check] does that the pod fits: see
// [Assumed.Allocations]. They are in use until their claims show them or the assumption ends. Where there are none the call fails with
// [ErrDoesNotFit].
func Allocate() AssumeOption {
	return func(request *nodesiftv1.AssumeRequest) { request.Allocate = true }
}

// Placed is what Assume has done; the numbers are those of the proto.
type Placed int32

const (
	// PlacedAssumed: the pod is assumed on the node.
	PlacedAssumed Placed = 1
	// PlacedRenewed: it was already. Its time to live starts again.
	PlacedRenewed Placed = 2
	// PlacedMoved: it was assumed on another node.
	PlacedMoved Placed = 3
	// PlacedAlreadyBound: the watch has shown it bound to the node. Nothing changes.
	PlacedAlreadyBound Placed = 4
)

// Assumed is a pod on a node.
type Assumed struct {
	// namespace/name.
	Pod string
	// metadata.uid, for [Client.Forget].
	UID    string
	Placed Placed
	// The first version with the pod on the node.
	Version Version
	// After [Allocate], what the claims of the pod get that had no devices, in its order. To be written to the status of each claim
	// before the pod is bound.
	Allocations []ClaimAllocation
}

// ClaimAllocation is what a ResourceClaim gets. The documents are JSON of resource.k8s.io/v1.
type ClaimAllocation struct {
	// namespace/name and metadata.uid of the claim. Both are empty for the one that serves the extended resources of the pod, which
	// the core has to create.
	Claim, UID string
	// The AllocationResult for status.allocation.
	Allocation []byte
	// Only where the claim has to be created: its ResourceClaimSpec, and status.extendedResourceClaimStatus.requestMappings of the pod.
	Spec, RequestMappings []byte
}

// Assume counts a pod on a node from the next call on, until the watch shows what has become of it, [Client.Forget] ends it, or
// its time to live expires. A call that has failed with [ErrDeadline] or [ErrUnavailable] may have been carried out all the same:
// forget the pod, or assume it again.
func (c *Client) Assume(ctx context.Context, pod Pod, node string, options ...AssumeOption) (Assumed, error) {
	request, err := assumeRequest(pod, node, options)
	if err != nil {
		return Assumed{}, err
	}
	ctx, cancel := c.deadline(ctx, 0)
	defer cancel()
	response, err := c.stub.Assume(ctx, request)
	if err != nil {
		return Assumed{}, failure(err)
	}
	return assumedIn(response), nil
}

func assumeRequest(pod Pod, node string, options []AssumeOption) (*nodesiftv1.AssumeRequest, error) {
	encoded, err := pod.encode()
	if err != nil {
		return nil, err
	}
	request := &nodesiftv1.AssumeRequest{Pod: encoded, Node: node}
	for _, option := range options {
		option(request)
	}
	return request, nil
}

func assumedIn(response *nodesiftv1.AssumeResponse) Assumed {
	return Assumed{
		Pod:         response.GetPod(),
		UID:         response.GetUid(),
		Placed:      Placed(response.GetPlaced()),
		Version:     versionOf(response.GetVersion()),
		Allocations: allocationsOf(response.GetAllocations()),
	}
}

func allocationsOf(allocations []*nodesiftv1.ClaimAllocation) []ClaimAllocation {
	var all []ClaimAllocation
	for _, given := range allocations {
		all = append(all, ClaimAllocation{
			Claim:           given.GetClaim(),
			UID:             given.GetUid(),
			Allocation:      []byte(given.GetAllocation()),
			Spec:            []byte(given.GetSpec()),
			RequestMappings: []byte(given.GetRequestMappings()),
		})
	}
	return all
}

// Forget ends the assumption of a pod, and tells whether there was one.
func (c *Client) Forget(ctx context.Context, pod Pod) (wasAssumed bool, err error) {
	encoded, err := pod.encode()
	if err != nil {
		return false, err
	}
	ctx, cancel := c.deadline(ctx, 0)
	defer cancel()
	response, err := c.stub.Forget(ctx, &nodesiftv1.ForgetRequest{Pod: encoded})
	return response.GetWasAssumed(), failure(err)
}

// AssumeOutcome is what became of [AssumeFirst]: the error is that of [Client.Assume].
type AssumeOutcome struct {
	Assumed Assumed
	Err     error
}

// ForgetOutcome is what became of [ForgetFirst]: the error is that of [Client.Forget].
type ForgetOutcome struct {
	WasAssumed bool
	Err        error
}

func assumedOf(outcomes []*nodesiftv1.AssumeOutcome) []AssumeOutcome {
	var all []AssumeOutcome
	for _, outcome := range outcomes {
		if outcome.GetError() != nil {
			all = append(all, AssumeOutcome{Err: errorOf(outcome.GetError())})
		} else {
			all = append(all, AssumeOutcome{Assumed: assumedIn(outcome.GetAnswer())})
		}
	}
	return all
}

func forgottenOf(outcomes []*nodesiftv1.ForgetOutcome) []ForgetOutcome {
	var all []ForgetOutcome
	for _, outcome := range outcomes {
		if outcome.GetError() != nil {
			all = append(all, ForgetOutcome{Err: errorOf(outcome.GetError())})
		} else {
			all = append(all, ForgetOutcome{WasAssumed: outcome.GetAnswer().GetWasAssumed()})
		}
	}
	return all
}
