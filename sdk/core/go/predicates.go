package nodesift

import (
	"context"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Predicates returns the names of the predicates of the policy of this generation, which an answer of the process of this epoch has
// named ([Set.Epoch], Version.PolicyGeneration), in the order of the policy. The API names predicates in explanations alone, so this
// asks for that of a pod on one node: pod is a Kubernetes Pod as JSON, of a scheduler whose pods the policy is for, and need not exist.
// The error is [ErrChanged] where another process or policy has answered.
func (c *Client) Predicates(ctx context.Context, pod string, epoch, generation uint64) ([]string, error) {
	index, err := c.Index().Wait(ctx)
	if err != nil {
		return nil, err
	}
	request := &nodesiftv1.ExplainRequest{Pods: []*nodesiftv1.Pod{{Pod: &nodesiftv1.Pod_Json{Json: pod}}}}
	for row := range index.Len() {
		// A row without a node has no name.
		if name := index.Name(uint32(row)); name != "" {
			request.Nodes = &nodesiftv1.NodeSubset{Names: []string{name}}
			break
		}
	}
	response, err := c.Stub().Explain(ctx, request)
	if err != nil {
		return nil, err
	}
	if index.Known().GetEpoch() != epoch || response.GetVersion().GetPolicyGeneration() != generation {
		return nil, ErrChanged
	}
	var predicates []string
	for _, explanation := range response.GetPods() {
		for _, predicate := range explanation.GetPredicates() {
			predicates = append(predicates, predicate.GetPredicate())
		}
	}
	return predicates, nil
}
