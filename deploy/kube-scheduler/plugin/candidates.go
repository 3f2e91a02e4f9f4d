package plugin

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
)

// candidates are the nodes about which parties are asked, in the order of the scheduler: those that fit, and those that the parties alone
// keep from it, since they may have changed their minds. The node that the pod is nominated to is the first.
func (c *cycle) candidates(of []string) []string {
	candidates := make([]string, 0, min(len(of), maxOrder))
	for _, node := range of {
		if len(candidates) == maxOrder {
			break
		}
		if c.mayBeAsked(node) {
			candidates = append(candidates, node)
		}
	}
	if at := slices.Index(candidates, c.pod.Status.NominatedNodeName); at > 0 {
		nominated := candidates[at]
		copy(candidates[1:at+1], candidates[:at])
		candidates[0] = nominated
	}
	return candidates
}

func (c *cycle) mayBeAsked(node string) bool {
	if c.set.Fits(node) {
		return true
	}
	predicate, _, _ := c.set.Why(node)
	return predicate == partiesPredicate
}

// open are the nodes that take a pod by the filters that the profile has enabled beside the sidecar's, as far as these can be asked before
// they run: parties are not asked about a node that is full.
func (p *Plugin) open(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo) []string {
	hasRoom := func(fwk.NodeInfo) bool { return true }
	if slices.Contains(p.profile().filter, names.NodeResourcesFit) {
		options := noderesources.ResourceRequestsOptions{
			EnablePodLevelResources: utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources),
		}
		// Of other resources the filter's arguments, or claims, can say that they do not count.
		lacks := func(of noderesources.InsufficientResource) bool {
			switch of.ResourceName {
			case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods:
				return true
			default:
				return false
			}
		}
		hasRoom = func(node fwk.NodeInfo) bool {
			return !slices.ContainsFunc(noderesources.Fits(pod, node, nil, options), lacks)
		}
	}
	open, closed := make([]string, 0, len(nodes)), p.closed(ctx, pod)
	for _, node := range nodes {
		if closed(node.Node()) == "" && hasRoom(node) {
			open = append(open, node.Node().Name)
		}
	}
	return open
}

// closed is why a node takes no pods such as this one, by those filters of kube-scheduler that the profile has enabled and that need
// nothing but the node. What is the same for all nodes is looked up once.
func (p *Plugin) closed(ctx context.Context, pod *v1.Pod) func(*v1.Node) string {
	logger, filters := klog.FromContext(ctx), p.profile().filter
	operators := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	cordons, taints := slices.Contains(filters, names.NodeUnschedulable), slices.Contains(filters, names.TaintToleration)
	cordon := v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}
	return func(node *v1.Node) string {
		if cordons && node.Spec.Unschedulable && !corev1.TolerationsTolerateTaint(logger, pod.Spec.Tolerations, &cordon, operators) {
			return nodeunschedulable.ErrReasonUnschedulable
		}
		if taints {
			_, untolerated := corev1.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, pod.Spec.Tolerations,
				helper.DoNotScheduleTaintsFilterFunc(), operators)
			if untolerated {
				return "the node has an untolerated taint"
			}
		}
		return ""
	}
}
