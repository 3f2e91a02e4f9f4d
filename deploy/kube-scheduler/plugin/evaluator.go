//go:build !kubernetes_1_35

package plugin

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// newEvaluator searches victims by a dry run. What evicts them is DefaultPreemption's own, which knows the preemptions that are under way.
func newEvaluator(handle fwk.Handle, own *defaultpreemption.DefaultPreemption, run *dryRun) *preemption.Evaluator {
	return preemption.NewEvaluator(defaultpreemption.Name, handle, run, own.Executor)
}
