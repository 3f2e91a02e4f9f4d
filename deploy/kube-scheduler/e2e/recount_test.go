package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// recount looks at the final state, with code of its own: requests against what nodes have, host ports, required anti-affinity by
// host name, taints, node selectors, and spread constraints by host name and zone. It returns what is wrong.
func recount(t testing.TB, nodes []corev1.Node, pods []corev1.Pod) []string {
	t.Helper()
	var wrong []string
	report := func(format string, values ...any) { wrong = append(wrong, fmt.Sprintf(format, values...)) }
	byNode := map[string][]*corev1.Pod{}
	for i := range pods {
		if pod := &pods[i]; pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], pod)
		}
	}
	selector := func(of *metav1.LabelSelector) labels.Selector {
		selects, err := metav1.LabelSelectorAsSelector(of)
		check(t, err)
		return selects
	}
	for i := range nodes {
		node := &nodes[i]
		there := byNode[node.Name]
		delete(byNode, node.Name)
		if room := node.Status.Allocatable[corev1.ResourcePods]; int64(len(there)) > room.Value() {
			report("%s has %d pods of %s", node.Name, len(there), room.String())
		}
		used := corev1.ResourceList{}
		ports := map[int32]string{}
		for _, pod := range there {
			for _, container := range pod.Spec.Containers {
				for name, request := range container.Resources.Requests {
					sum := used[name]
					sum.Add(request)
					used[name] = sum
				}
				for _, port := range container.Ports {
					if other, taken := ports[port.HostPort]; taken && port.HostPort != 0 {
						report("%s: port %d of %s and %s", node.Name, port.HostPort, pod.Name, other)
					}
					ports[port.HostPort] = pod.Name
				}
			}
			for key, value := range pod.Spec.NodeSelector {
				if node.Labels[key] != value {
					report("%s is on %s, which has not %s=%s", pod.Name, node.Name, key, value)
				}
			}
			for i := range node.Spec.Taints {
				taint := &node.Spec.Taints[i]
				tolerated := taint.Effect != corev1.TaintEffectNoSchedule
				for _, toleration := range pod.Spec.Tolerations {
					tolerated = tolerated || toleration.Key == taint.Key
				}
				if !tolerated {
					report("%s is on %s in spite of taint %s", pod.Name, node.Name, taint.Key)
				}
			}
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
				continue
			}
			for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				selects := selector(term.LabelSelector)
				for _, other := range there {
					if term.TopologyKey == corev1.LabelHostname && other != pod && selects.Matches(labels.Set(other.Labels)) {
						report("%s: %s is with %s", node.Name, pod.Name, other.Name)
					}
				}
			}
		}
		for name, sum := range used {
			if room := node.Status.Allocatable[name]; sum.Cmp(room) > 0 {
				report("%s: %s of %s, of which it has %s", node.Name, text(sum), name, text(room))
			}
		}
	}
	for name, there := range byNode {
		report("%d pods are on %s, which is not there", len(there), name)
	}
	return wrong
}

// skews reports where pods that only ever were added are spread more unevenly than their constraints allow.
func skews(t testing.TB, nodes []corev1.Node, pods []corev1.Pod) []string {
	t.Helper()
	var wrong []string
	seen := map[string]bool{}
	for i := range pods {
		for _, constraint := range pods[i].Spec.TopologySpreadConstraints {
			selects, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
			check(t, err)
			id := constraint.TopologyKey + " " + selects.String()
			if seen[id] || constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
				continue
			}
			seen[id] = true
			counts, domain := map[string]int32{}, map[string]string{}
			for i := range nodes {
				domain[nodes[i].Name] = nodes[i].Labels[constraint.TopologyKey]
				counts[domain[nodes[i].Name]] += 0
			}
			for i := range pods {
				if pods[i].Spec.NodeName != "" && selects.Matches(labels.Set(pods[i].Labels)) {
					counts[domain[pods[i].Spec.NodeName]]++
				}
			}
			least, most := int32(1<<30), int32(0)
			for _, count := range counts {
				least, most = min(least, count), max(most, count)
			}
			if most-least > constraint.MaxSkew {
				wrong = append(wrong, fmt.Sprintf("%s: between %d and %d pods, more than %d apart", id, least, most, constraint.MaxSkew))
			}
		}
	}
	return wrong
}
