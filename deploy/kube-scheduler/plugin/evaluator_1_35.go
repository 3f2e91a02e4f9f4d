//go:build kubernetes_1_35

package plugin

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// newEvaluator searches victims by a dry run. In this version an evaluator itself knows the preemptions that are under way, and each dry run
// has its own: victims are evicted before PostFilter returns, so that none is under way.
func newEvaluator(handle fwk.Handle, _ *defaultpreemption.DefaultPreemption, run *dryRun) *preemption.Evaluator {
	return preemption.NewEvaluator(defaultpreemption.Name, handle, run, false)
}
