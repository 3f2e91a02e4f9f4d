package yunikorn

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// preempt is the place of the last victim that has to leave the node, or -1. The error says that there is no verdict.
func (s *sidecar) preempt(pod *v1.Pod, node *v1.Node, victims []*v1.Pod, startIndex int) (int, error) {
	switch {
	case pod == nil || pod.UID == "":
		return -1, errNoPod
	case node == nil:
		return -1, errNoNode
	case startIndex < 0 || startIndex >= len(victims):
		// Nothing is left to remove.
		return -1, nil
	}
	if s.isAside(pod) {
		return -1, errAside
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	required := versions{node.ResourceVersion, pod.ResourceVersion}
	if err := s.ready(ctx); err != nil {
		s.unready(ctx, required, err)
		return -1, err
	}
	// The empty UID is that of no pod, and keeps the place.
	uids := make([]string, len(victims))
	for at, victim := range victims {
		if victim != nil {
			uids[at] = string(victim.UID)
		}
	}
	index, err := s.client.PreemptionPredicates(ctx, string(pod.UID), node.Name, uids, startIndex,
		nodesift.AtLeast(required.node, required.pod), nodesift.Patience(s.options.Timeout/patienceShare))
	var fault *nodesift.FaultError
	switch {
	case errors.As(err, &fault) && undecided(fault.Faults):
		s.answered(pod, "")
		return -1, errUndecided
	case err == nil || errors.Is(err, nodesift.ErrFault) && !errors.Is(err, nodesift.ErrStale):
		s.answered(pod, "")
		return index, nil
	case !errors.Is(err, nodesift.ErrNotFound) && !errors.Is(err, nodesift.ErrInvalid):
		s.failed(ctx, pod, required, err)
	default:
		s.answered(pod, "")
	}
	return -1, err
}
