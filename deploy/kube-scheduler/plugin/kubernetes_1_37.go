//go:build kubernetes_1_37

package plugin

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

var _ preemption.Interface = &dryRun{}

// firstFilters are the two whose order depends on the version.
var firstFilters = []string{names.NodeName, names.NodeUnschedulable}

// stopsAtViolation is whether a pod is counted against no further budget once one is violated.
const stopsAtViolation = true

// SelectVictimsOnNode takes the answer for a node from its batch. Groups of pods that are evicted together, which other nodes may have
// members of, are searched in tree.
func (r *dryRun) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, possible []*preemption.DomainVictim,
	budgets []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	inTree := func() ([]*v1.Pod, int, *fwk.Status) {
		return r.DefaultPreemption.SelectVictimsOnNode(ctx, state, pod, node, possible, budgets)
	}
	if slices.ContainsFunc(possible, isGroup) {
		return inTree()
	}
	return r.selectVictims(ctx, state, pod, node, budgets, inTree)
}

// isGroup tells whether pods are evicted together or not at all.
func isGroup(victim *preemption.DomainVictim) bool { return victim.Type() != fwk.PodKeyType }

// evicted is what is evicted at once: a pod, or a group of pods.
type evicted = preemption.Victim

func podsOf(victim evicted) []fwk.PodInfo { return victim.Pods() }

// isEligible tells whether kube-scheduler's configuration lets a pod evict another one.
func (r *dryRun) isEligible(node fwk.NodeInfo, victim fwk.PodInfo, pod *v1.Pod) bool {
	return r.IsEligiblePod(node, preemption.NewPodVictim(victim, nil, nil), pod)
}

// isMoreImportant orders pods as kube-scheduler evicts them: the least important first.
func (*dryRun) isMoreImportant(a, b *v1.Pod) bool { return util.MoreImportantPod(a, b) }
