package plugin

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// SignPod signs a pod as the filters of kube-scheduler do that the sidecar answers for: they refuse pods with claims, spread
// constraints or inter-pod affinity. What else the profile has enabled signs for itself. Where the policy has predicates that
// kube-scheduler does not have, nobody knows what they read, so no pod is signed.
func (p *Plugin) SignPod(ctx context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	predicates, known := p.policy.evaluates()
	if !known {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the policy of nodesift is not known yet")
	}
	var all []fwk.SignFragment
	for _, name := range predicates {
		if slices.Contains(p.args.Skip, name) {
			continue
		}
		signer, ok := p.inTree.named(name).(fwk.SignPlugin)
		if !ok {
			return nil, fwk.NewStatus(fwk.Unschedulable, "pods that "+name+" judges are not signable")
		}
		fragments, status := signer.SignPod(ctx, pod)
		if !status.IsSuccess() {
			return nil, status
		}
		all = append(all, fragments...)
	}
	if p.args.Scores == Replace {
		fragments, status := p.signScores(ctx, pod)
		if !status.IsSuccess() {
			return nil, status
		}
		all = append(all, fragments...)
	}
	return all, nil
}
