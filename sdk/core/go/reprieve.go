package nodesift

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// MaxReprieveNodes is the most nodes of one [Client.Reprieve].
const MaxReprieveNodes = 500

// ReprieveOption is an option of [Client.Reprieve].
type ReprieveOption interface{ reprieve(*reprieve) }

type reprieve struct {
	request nodesiftv1.ReprieveRequest
	err     error
}

func (f consistencyFunc) reprieve(to *reprieve) {
	if to.request.Consistency == nil {
		to.request.Consistency = &nodesiftv1.Consistency{}
	}
	f(to.request.Consistency)
}

// NodeVictims is a node and the pods that preemption may evict there.
type NodeVictims struct {
	Node string
	// By metadata.uid, in the order in which they are given back: the most important first, in kube-scheduler those whose
	// eviction violates a PodDisruptionBudget before all others.
	Victims []string
}

// Reprieved is what preemption on one node needs.
type Reprieved struct {
	// Whether the pod fits with all victims removed.
	Fits bool
	// The victims that may stay, as places in Victims, ascending. All others have to be evicted.
	Kept []int
	// Where the pod does not fit: the first predicate that rejects the node with all victims removed. It counts no nodes.
	Failure Failure
	// Why there is no answer for this node, such as [ErrNotFound].
	Err error
}

// Reprieve tells which pods a preemption on each node has to evict, as kube-scheduler's dry run: all victims are removed, then
// given back one at a time wherever the pod still fits. It takes [MaxReprieveNodes] at most. Faults and stale answers are errors
// beside the answer, as with [Client.Feasible].
func (c *Client) Reprieve(ctx context.Context, pod Pod, nodes []NodeVictims, options ...ReprieveOption) ([]Reprieved, error) {
	of := &reprieve{}
	for _, option := range options {
		option.reprieve(of)
	}
	encoded, err := pod.encode()
	if err := errors.Join(err, of.err); err != nil {
		return nil, err
	}
	of.request.Pod = encoded
	for _, node := range nodes {
		of.request.Nodes = append(of.request.Nodes, &nodesiftv1.NodeVictims{Node: node.Node, Victims: node.Victims})
	}
	ctx, cancel := c.deadline(ctx, waits(of.request.GetConsistency()))
	defer cancel()
	response, err := c.stub.Reprieve(ctx, &of.request)
	if err != nil {
		return nil, failure(err)
	}
	if len(response.GetNodes()) != len(nodes) {
		return nil, &Error{Code: codes.Internal, Message: fmt.Sprintf("%d answers about %d nodes", len(response.GetNodes()), len(nodes))}
	}
	all := make([]Reprieved, len(nodes))
	for at, node := range response.GetNodes() {
		all[at].Fits, all[at].Failure = node.GetFits(), failureOf(node.GetFailure())
		if node.GetError() != nil {
			all[at].Err = errorOf(node.GetError())
		}
		for _, kept := range node.GetKept() {
			if int(kept) >= len(nodes[at].Victims) {
				return nil, &Error{Code: codes.Internal, Message: fmt.Sprintf("victim %d of %d is kept", kept, len(nodes[at].Victims))}
			}
			all[at].Kept = append(all[at].Kept, int(kept))
		}
	}
	result := &answer{faults: faultsOf(response.GetFaults()), version: versionOf(response.GetVersion())}
	return all, (&feasible{}).judge(result)
}
