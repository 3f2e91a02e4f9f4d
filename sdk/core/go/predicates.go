package nodesift

import (
	"context"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Policy is which predicates a sidecar evaluates.
type Policy struct {
	// Of the process, as in [Set.Epoch], and of its policy, as in Version.PolicyGeneration.
	Epoch, Generation uint64
	// The names of those that decide, in the order of the policy.
	Predicates []string
}

// Predicates returns the names of the predicates of the policy of this generation, which an answer of the process of this epoch has
// named ([Set.Epoch], Version.PolicyGeneration), as [Client.Policy] does. The error is [ErrChanged] where another process or policy has
// answered.
func (c *Client) Predicates(ctx context.Context, pod string, epoch, generation uint64) ([]string, error) {
	policy, err := c.Policy(ctx, pod)
	switch {
	case err != nil:
		return nil, err
	case policy.Epoch != epoch || policy.Generation != generation:
		return nil, ErrChanged
	default:
		return policy.Predicates, nil
	}
}

// Policy returns the policy that is active. The API names predicates in explanations alone, so this asks for that of a pod on one node:
// pod is a Kubernetes Pod as JSON, of a scheduler whose pods the policy is for, and need not exist.
func (c *Client) Policy(ctx context.Context, pod string) (Policy, error) {
	index, response, err := c.explainOnOneNode(ctx, &nodesiftv1.Pod{Pod: &nodesiftv1.Pod_Json{Json: pod}})
	if err != nil {
		return Policy{}, err
	}
	policy := Policy{Epoch: index.Known().GetEpoch(), Generation: response.GetVersion().GetPolicyGeneration()}
	for _, explanation := range response.GetPods() {
		for _, predicate := range explanation.GetPredicates() {
			policy.Predicates = append(policy.Predicates, predicate.GetPredicate())
		}
	}
	return policy, nil
}

// explainOnOneNode asks for the explanation of a pod on the first node that there is, and has the index by which it was named.
func (c *Client) explainOnOneNode(ctx context.Context, pod *nodesiftv1.Pod) (*RowNames, *nodesiftv1.ExplainResponse, error) {
	index, err := c.Index().Wait(ctx)
	if err != nil {
		return nil, nil, err
	}
	request := &nodesiftv1.ExplainRequest{Pods: []*nodesiftv1.Pod{pod}}
	for row := range index.Len() {
		// A row without a node has no name.
		if name := index.Name(uint32(row)); name != "" {
			request.Nodes = &nodesiftv1.NodeSubset{Names: []string{name}}
			break
		}
	}
	response, err := c.Stub().Explain(ctx, request)
	return index, response, failure(err)
}
