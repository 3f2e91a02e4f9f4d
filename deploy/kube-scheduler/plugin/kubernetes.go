//go:build !kubernetes_1_37

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

var _ preemption.Interface = &dryRun{}

// firstFilters are the two whose order depends on the version.
var firstFilters = []string{names.NodeUnschedulable, names.NodeName}

// stopsAtViolation is whether a pod is counted against no further budget once one is violated.
const stopsAtViolation = false

// SelectVictimsOnNode takes the answer for a node from its batch.
func (r *dryRun) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	return r.selectVictims(ctx, state, pod, node, budgets, func() ([]*v1.Pod, int, *fwk.Status) {
		return r.DefaultPreemption.SelectVictimsOnNode(ctx, state, pod, node, budgets)
	})
}

// evicted is what is evicted at once: a pod.
type evicted = fwk.PodInfo

func podsOf(victim evicted) []fwk.PodInfo { return []fwk.PodInfo{victim} }

// isEligible tells whether kube-scheduler's configuration lets a pod evict another one.
func (r *dryRun) isEligible(node fwk.NodeInfo, victim fwk.PodInfo, pod *v1.Pod) bool {
	return r.IsEligiblePod(node, victim, pod)
}

// isMoreImportant orders pods as kube-scheduler evicts them: the least important first.
func (r *dryRun) isMoreImportant(a, b *v1.Pod) bool { return r.MoreImportantPod(a, b) }
