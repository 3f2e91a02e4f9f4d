package plugin

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// preemptionPlugin is kube-scheduler's DefaultPreemption, whose dry run asks the sidecar about many nodes at once.
type preemptionPlugin struct {
	*defaultpreemption.DefaultPreemption
}

func newPreemption(ctx context.Context, p *Plugin) (*preemptionPlugin, error) {
	own, err := defaultpreemption.New(ctx, &config.DefaultPreemptionArgs{
		TypeMeta:                    metav1.TypeMeta{},
		MinCandidateNodesPercentage: *p.args.Preemption.MinCandidateNodesPercentage,
		MinCandidateNodesAbsolute:   *p.args.Preemption.MinCandidateNodesAbsolute,
	}, p.handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, err
	}
	return &preemptionPlugin{own}, nil
}

// eligible tells which pods may be victims: those that DefaultPreemption takes, and of these no static pod where the policy that the
// sidecar had when it was connected lets static pods stay. Their kubelet would start them again.
func (p *Plugin) eligible(taken defaultpreemption.IsEligiblePodFunc) defaultpreemption.IsEligiblePodFunc {
	if known := p.sidecar.client.Supported(); known == nil || !known.Policy.StaticPodsStay {
		return taken
	}
	return func(node fwk.NodeInfo, victim evicted, preemptor *v1.Pod) bool {
		isNode := func(owner metav1.OwnerReference) bool { return owner.Kind == "Node" }
		isStatic := func(pod fwk.PodInfo) bool { return slices.ContainsFunc(pod.GetPod().OwnerReferences, isNode) }
		return !slices.ContainsFunc(podsOf(victim), isStatic) && taken(node, victim, preemptor)
	}
}

// PreEnqueue keeps a pod out of the queue while its preemption is under way, as DefaultPreemption does.
func (p *Plugin) PreEnqueue(ctx context.Context, pod *v1.Pod) *fwk.Status {
	if p.preemption == nil {
		return nil
	}
	return p.preemption.PreEnqueue(ctx, pod)
}

// PostFilter is DefaultPreemption's, in mode Full and where DefaultPreemption itself is disabled.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if p.preemption == nil || p.profile().defaultPreemption {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if s, err := stateOf(state); err == nil && s.waits {
		// Where it has preempted already, that stays: an empty nomination would have its victims die for others.
		return nil, fwk.NewStatus(fwk.Unschedulable, s.standing.waiting())
	}
	own := *p.preemption.DefaultPreemption
	own.IsEligiblePod = p.eligible(own.IsEligiblePod)
	run := &dryRun{DefaultPreemption: &own, plugin: p, statuses: statuses}
	own.Evaluator = newEvaluator(p.handle, &own, run)
	result, status := own.PostFilter(ctx, state, pod, run)
	if result != nil && result.Mode() == fwk.ModeOverride {
		p.nominations.set(pod, result.NominatedNodeName)
	}
	return result, status
}
