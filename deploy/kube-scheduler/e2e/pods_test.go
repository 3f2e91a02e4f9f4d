package e2e

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runPod is a pod that is deleted at once, since no kubelet would confirm it.
func runPod(name, cpu, priority string) *corev1.Pod {
	pod := sizedPod(name, nodesift, 0, cpu, map[string]string{"app": "plain"})
	pod.Spec.Priority = nil
	pod.Spec.PriorityClassName = priority
	none := int64(0)
	pod.Spec.TerminationGracePeriodSeconds = &none
	return pod
}

// mixed is the i-th pod of all kinds; some fit nowhere.
func (r *runState) mixed(i int) *corev1.Pod {
	pod := runPod(fmt.Sprintf("pod-%d", i), "200m", "low")
	name, group := &pod.Spec, fmt.Sprint(i/1000)
	affine := func() *corev1.Affinity {
		name.Affinity = &corev1.Affinity{}
		return name.Affinity
	}
	term := func(app, key string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	}
	port := func(number int) {
		name.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: int32(number), HostPort: int32(number), Protocol: corev1.ProtocolTCP}}
	}
	request := func(cpu string) { name.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu) }
	switch i % 10 {
	case 1:
		name.NodeSelector = map[string]string{"disk": "ssd"}
	case 2:
		affine().NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"general", "batch"}}, {Key: "generation", Operator: corev1.NodeSelectorOpGt, Values: []string{"1"}},
			},
		}}}}
	case 3:
		name.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	case 4:
		spread := spreadPod("", nodesift, "200m", "spread-"+group)
		pod.Labels, name.TopologySpreadConstraints = spread.Labels, spread.Spec.TopologySpreadConstraints
	case 5:
		pod.Labels = map[string]string{"app": "apart-" + group}
		affine().PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("apart-"+group, corev1.LabelHostname)}
	case 6:
		affine().PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("plain", corev1.LabelTopologyZone)}
	case 7:
		port(8000 + i/1000)
	case 8:
		request("5")
	case 9:
		switch i / 10 % 6 {
		case 0:
			name.NodeSelector = map[string]string{"disk": "tape"}
		case 1:
			request("100")
		case 2:
			affine().PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("nowhere", corev1.LabelHostname)}
		case 3:
			affine().PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("group", corev1.LabelTopologyZone)}
		case 4:
			name.NodeSelector = map[string]string{corev1.LabelHostname: "node-000"}
		case 5:
			name.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "plain"}},
			}}
		}
	}
	return pod
}
