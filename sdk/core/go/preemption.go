package nodesift

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// PreemptionPredicates tells how many victims have to leave a node until a pod fits there. The victims before start go first,
// together, then the others, one at a time. The answer is the place of the last victim that has to go, and -1 where all of them
// are not enough. Pod and victims are given by UID; victims that the cache does not have are skipped, as are static pods.
// Faults and stale answers are errors beside the answer, as with [Client.Feasible].
func (c *Client) PreemptionPredicates(
	ctx context.Context, uid, node string, victims []string, start int, options ...ConsistencyOption,
) (last int, err error) {
	if start < 0 || start > len(victims) {
		return -1, fmt.Errorf("%w: start is %d, and there are %d victims", ErrInvalid, start, len(victims))
	}
	request := &nodesiftv1.PreemptionPredicatesRequest{
		AllocationKey: uid, NodeId: node, PreemptAllocationKeys: victims, StartIndex: int32(start),
	}
	if len(options) > 0 {
		request.Consistency = &nodesiftv1.Consistency{}
	}
	for _, option := range options {
		option.require(request.Consistency)
	}
	ctx, cancel := c.deadline(ctx, waits(request.GetConsistency()))
	defer cancel()
	response, err := c.stub.PreemptionPredicates(ctx, request)
	if err != nil {
		return -1, failure(err)
	}
	if response.GetError() != "" {
		// The only reason for which this call is not evaluated.
		return -1, &Error{Code: codes.NotFound, Message: response.GetError()}
	}
	last = -1
	if response.GetSuccess() {
		last = int(response.GetIndex())
	}
	var fault, stale error
	if faults := faultsOf(response.GetFaults()); len(faults) > 0 {
		fault = &FaultError{faults}
	}
	if version := versionOf(response.GetVersion()); version.Stale {
		stale = fmt.Errorf("%w: the API server has confirmed nothing for %s", ErrStale, version.Staleness)
	}
	return last, errors.Join(fault, stale)
}
