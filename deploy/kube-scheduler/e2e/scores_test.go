package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// What is shipped for a scheduler whose scores are the sidecar's as well.
const (
	scoresConfig = "../scores.yaml"
	scoresPolicy = "../scores-policy.yaml"
)

// defaultScored is how many pods are placed; NODESIFT_SCORED sets another number.
const defaultScored = 300

// scoredNodes is the number of nodes: fewer than the sidecar gives scores of.
const scoredNodes = 300

// totals is a framework that keeps the nodes that it scores and the total of each.
type totals struct {
	framework.Framework
	nodes []fwk.NodeInfo
	of    map[string]int64
}

func (f *totals) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scored, status := f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	f.nodes, f.of = nodes, make(map[string]int64, len(scored))
	for _, node := range scored {
		f.of[node.Name] = node.TotalScore
	}
	return scored, status
}

// TestScores has two profiles schedule the same pods on the same snapshots, in one scheduler: the stock one, and the one whose scores are
// the sidecar's. All nodes are looked at, by one thread, so that their order is the same too, which decides among equal totals. Each pod
// is then placed where both have put it, and counts for the next one.
func TestScores(t *testing.T) {
	w, pods := startScored(t, allNodes, scoredPods(t))
	all := comparison{before: scorings(t)}
	for range pods {
		next, err := w.scheduler.NextPod(logr.Discard())
		check(t, err)
		w.update(t)
		of, wantNode, wantErr, _ := w.scoredBy(t, stock, next)
		got, gotNode, gotErr, finish := w.scoredBy(t, nodesift, next)
		if wantErr != nil && gotErr != nil {
			// What fits nowhere is for other tests.
			w.scheduler.SchedulingQueue.Done(next.Pod.UID)
			continue
		}
		if wantErr != nil || gotErr != nil {
			t.Fatalf("%s: stock %v, nodesift %v", next.Pod.Name, wantErr, gotErr)
		}
		all.add(t, next.Pod.Name, of.of, got.of)
		if gotNode != wantNode {
			t.Errorf("%s: stock takes %s, nodesift %s", next.Pod.Name, wantNode, gotNode)
		}
		finish()
	}
	all.judge(t, pods, "answer")
}

// TestScoresOfASample has the one whose scores are the sidecar's look at the part of the nodes that kube-scheduler looks at unless told
// otherwise, and the stock one score the same nodes.
func TestScoresOfASample(t *testing.T) {
	w, pods := startScored(t, 0, defaultScored/3)
	all := comparison{before: scorings(t)}
	for range pods {
		next, err := w.scheduler.NextPod(logr.Discard())
		check(t, err)
		w.update(t)
		got, _, err, finish := w.scoredBy(t, nodesift, next)
		if err != nil {
			w.scheduler.SchedulingQueue.Done(next.Pod.UID)
			continue
		}
		of, state := w.scheduler.Profiles[stock], framework.NewCycleState()
		if _, status, _ := of.RunPreFilterPlugins(w.ctx, state, next.Pod); !status.IsSuccess() {
			t.Fatalf("%s: %v", next.Pod.Name, status)
		}
		if status := of.RunPreScorePlugins(w.ctx, state, next.Pod, got.nodes); !status.IsSuccess() {
			t.Fatalf("%s: %v", next.Pod.Name, status)
		}
		want := &totals{Framework: of}
		if _, status := want.RunScorePlugins(w.ctx, state, next.Pod, got.nodes); !status.IsSuccess() {
			t.Fatalf("%s: %v", next.Pod.Name, status)
		}
		all.add(t, next.Pod.Name, want.of, got.of)
		finish()
	}
	all.judge(t, pods, "own_call")
}

// scoredPods is the number of pods that are placed.
func scoredPods(t testing.TB) int {
	text := os.Getenv("NODESIFT_SCORED")
	if text == "" {
		return defaultScored
	}
	pods, err := strconv.Atoi(text)
	check(t, err)
	return pods
}

// startScored starts both profiles over a random cluster with so many pods to place.
func startScored(t testing.TB, percentage int32, pods int) (*world, int) {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	random := rand.New(rand.NewPCG(seed, 0))
	api := startAPIServer(t)
	for i := range scoredNodes {
		api.put(t, scoredNode(random, i))
	}
	for app := range 4 {
		// Their pods are spread by default, unless they have constraints of their own.
		labels := map[string]string{"app": fmt.Sprint("app-", app)}
		api.put(t, &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: labels["app"]}, Spec: corev1.ServiceSpec{Selector: labels}})
	}
	w := startWorld(t, api, worldOptions{percentage: percentage, threads: 1, config: scoresConfig, policy: scoresPolicy})
	for i := range pods {
		api.put(t, scoredPod(random, i))
	}
	w.settle(t)
	return w, pods
}

// comparison counts totals that were compared.
type comparison struct {
	placed, scored, compared, unequal, distinct int
	// The cycles before it, by where scores were from.
	before map[string]int
}

// scorings are the cycles so far in which the plugin had scores, by where these were from.
func scorings(t testing.TB) map[string]int {
	of := map[string]int{}
	for _, result := range []string{"answer", "own_call", "in_tree", "none", "failed"} {
		of[result] = counter(t, "scheduler_nodesift_scorings_total", result)
	}
	return of
}

// add compares the totals of a pod's nodes. Where one node fits, it has none.
func (c *comparison) add(t testing.TB, pod string, want, got map[string]int64) {
	t.Helper()
	c.placed++
	if len(want) > 0 {
		c.scored++
	}
	c.compared += len(want)
	seen := map[int64]bool{}
	for node, total := range want {
		seen[total] = true
		if of, ok := got[node]; !ok || of != total {
			if c.unequal++; c.unequal <= 20 {
				t.Errorf("%s on %s: the stock total is %d, nodesift's %d, %t", pod, node, total, of, ok)
			}
		}
	}
	c.distinct += len(seen)
	if len(got) != len(want) {
		t.Errorf("%s: stock scores %d nodes, nodesift %d", pod, len(want), len(got))
	}
}

// judge prints what was compared, and fails the test where that is too little, or scores are from elsewhere than expected.
func (c *comparison) judge(t testing.TB, pods int, from string) {
	t.Helper()
	of := scorings(t)
	for result, before := range c.before {
		of[result] -= before
	}
	fmt.Printf("%s: %d of %d pods placed on %d nodes; %d totals compared with the stock scheduler's of %s, of which %d differ; %.0f different ones a pod\n",
		t.Name(), c.placed, pods, scoredNodes, c.compared, schedulerVersion(), c.unequal, float64(c.distinct)/float64(max(c.scored, 1)))
	fmt.Printf("%s: where scores were from, in cycles: %v\n", t.Name(), of)
	if c.scored < pods/2 || of[from] < c.scored*9/10 || of["in_tree"]+of["none"]+of["failed"] > 0 {
		t.Errorf("the test has compared too little")
	}
}

// scoredBy schedules a pod by a profile, as the scheduler does. What it returns last has the pod count on the node, and binds it.
func (w *world) scoredBy(t testing.TB, profile string, next *framework.QueuedPodInfo) (*totals, string, error, func()) {
	t.Helper()
	of := &totals{Framework: w.scheduler.Profiles[profile]}
	state := framework.NewCycleState()
	result, err := w.scheduler.SchedulePod(w.ctx, of, state, next)
	var fits *framework.FitError
	if err != nil && !errors.As(err, &fits) {
		t.Fatalf("%s: %s: %v", profile, next.Pod.Name, err)
	}
	return of, result.SuggestedHost, err, func() {
		assumed := next.Pod.DeepCopy()
		assumed.Spec.NodeName = result.SuggestedHost
		check(t, w.scheduler.Cache.AssumePod(logr.Discard(), assumed))
		if status := of.RunReservePluginsReserve(w.ctx, state, assumed, result.SuggestedHost); !status.IsSuccess() {
			t.Fatalf("Reserve: %v", status)
		}
		w.scheduler.SchedulingQueue.Done(next.Pod.UID)
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: assumed.Namespace, Name: assumed.Name, UID: assumed.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: result.SuggestedHost},
		}
		check(t, w.client.CoreV1().Pods(assumed.Namespace).Bind(w.ctx, binding, metav1.CreateOptions{}))
		of.RunPostBindPlugins(w.ctx, state, assumed, result.SuggestedHost)
	}
}

// scoredNode is a node that differs from others in what kube-scheduler's Score plugins read.
func scoredNode(random *rand.Rand, i int) *corev1.Node {
	node := evenNode(i, fmt.Sprint(4+4*random.IntN(8)))
	node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse(fmt.Sprint(8+8*random.IntN(8)) + "Gi")
	node.Status.Capacity = node.Status.Allocatable
	node.Labels["disk"] = []string{"ssd", "hdd"}[random.IntN(2)]
	node.Labels["rack"] = fmt.Sprint("rack-", random.IntN(12))
	for at, effect := range []corev1.TaintEffect{corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoSchedule} {
		if random.IntN(4) == 0 {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: fmt.Sprint("taint-", at), Effect: effect})
		}
	}
	for image := range 6 {
		if random.IntN(3) == 0 {
			node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{imageName(image)}, SizeBytes: int64(image+1) * 150 << 20})
		}
	}
	return node
}

func imageName(i int) string { return fmt.Sprintf("registry.k8s.io/app-%d:v1", i) }

// scoredPod is a pod with preferences of every kind.
func scoredPod(random *rand.Rand, i int) *corev1.Pod {
	app := map[string]string{"app": fmt.Sprint("app-", random.IntN(8))}
	pod := sizedPod(fmt.Sprint("scored-", i), nodesift, 0, fmt.Sprintf("%dm", 50+random.IntN(400)), app)
	if random.IntN(3) > 0 {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse(fmt.Sprintf("%dMi", 64+random.IntN(1024)))
	}
	pod.Spec.Containers[0].Image = imageName(random.IntN(8))
	if random.IntN(3) == 0 {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: fmt.Sprint("taint-", random.IntN(3)), Operator: corev1.TolerationOpExists}}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("app-", random.IntN(8))}}
	keys := []string{corev1.LabelHostname, corev1.LabelTopologyZone, "rack"}
	if random.IntN(2) == 0 {
		for range 1 + random.IntN(2) {
			key := keys[random.IntN(len(keys))]
			if len(pod.Spec.TopologySpreadConstraints) > 0 && pod.Spec.TopologySpreadConstraints[0].TopologyKey == key {
				continue
			}
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: int32(1 + random.IntN(4)), TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
			})
		}
	}
	weight := func() int32 { return int32(1 + random.IntN(100)) }
	affinity := &corev1.Affinity{}
	if random.IntN(2) == 0 {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
		for _, value := range []string{"ssd", "hdd"}[:1+random.IntN(2)] {
			affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: weight(), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
				}}})
		}
	}
	term := func() corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight(), PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: keys[random.IntN(len(keys))], LabelSelector: selector,
		}}
	}
	if random.IntN(3) == 0 {
		affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term()}}
	}
	if random.IntN(3) == 0 {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{term(), term()}}
	}
	pod.Spec.Affinity = affinity
	return pod
}
