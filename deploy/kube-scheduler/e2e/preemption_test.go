package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A case of preemption is a pending pod that does not fit in a random cluster. A sidecar and a Scheduler for each case would take
// most of the time, so each cluster has some.
const (
	preemptionCases = 200
	casesInCluster  = 20
)

// seeded prints the seed, which NODESIFT_SEED repeats.
func seeded(t testing.TB) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestPreemption compares the dry runs of random preemptions: every candidate node with its victims, in order, and the number of
// budgets they violate; the pods that are deleted; and the message where no node helps. An extender learns the candidates, because
// kube-scheduler chooses at random among equal ones.
func TestPreemption(t *testing.T) {
	random := seeded(t)
	cases, candidates, victims, helpless := 0, 0, 0, 0
	for cases < preemptionCases {
		api := startAPIServer(t)
		preemptors := randomCluster(t, random, api, casesInCluster)
		api.dry = true
		w := startWorld(t, api, worldOptions{percentage: allNodes, extender: true})
		for _, pod := range preemptors {
			want, got := w.preempt(t, stock, pod), w.preempt(t, nodesift, pod)
			if want.fits && got.fits {
				continue
			}
			cases++
			for _, of := range want.candidates {
				candidates++
				victims += len(of.Pods)
			}
			if len(want.candidates) == 0 {
				helpless++
			}
			if !reflect.DeepEqual(want.candidates, got.candidates) {
				t.Errorf("%s: candidates\nstock    %s\nnodesift %s", pod.Name, text(want.candidates), text(got.candidates))
			}
			if want.filtered != got.filtered || want.message != got.message {
				t.Errorf("%s: messages\nstock    %s / %s\nnodesift %s / %s", pod.Name, want.filtered, want.message, got.filtered, got.message)
			}
			for _, of := range []preemption{want, got} {
				chosen := of.candidates[of.node]
				if (of.node == "") != (chosen == nil) || chosen != nil && len(chosen.Pods) != len(of.deleted) {
					t.Errorf("%s: node %q was chosen, and %v deleted", pod.Name, of.node, of.deleted)
				}
			}
		}
	}
	fmt.Printf("%s: %d cases with %d candidate nodes and %d victims compared; in %d no node helps\n", t.Name(), cases, candidates, victims, helpless)
	if cases == helpless || helpless == 0 {
		t.Errorf("the cases are all of one kind")
	}
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

// preemption is what became of one.
type preemption struct {
	filtered, message, node string
	candidates              map[string]*extenderv1.MetaVictims
	deleted                 []string
	// Nothing was preempted, because it fits.
	fits bool
}

// preempt runs a cycle that fails, and PostFilter.
func (w *world) preempt(t testing.TB, profile string, pod *corev1.Pod) preemption {
	t.Helper()
	w.api.mutex.Lock()
	w.api.candidates, w.api.requests = nil, requests{}
	w.api.mutex.Unlock()
	info, err := framework.NewPodInfo(pod)
	check(t, err)
	of, state := w.scheduler.Profiles[profile], framework.NewCycleState()
	_, err = w.scheduler.SchedulePod(w.ctx, of, state, &framework.QueuedPodInfo{PodInfo: info})
	var failed *framework.FitError
	if !errors.As(err, &failed) {
		return preemption{fits: err == nil, filtered: fmt.Sprintf("no preemption: %v", err)}
	}
	said := preemption{filtered: err.Error()}
	result, status := of.RunPostFilterPlugins(w.ctx, state, pod, failed.Diagnosis.NodeToStatus)
	said.message = status.Message()
	if result != nil && result.NominatingInfo != nil {
		said.node = result.NominatedNodeName
	}
	if said.node != "" {
		// No case may see the nomination of the one before. It ends where the pod is placed, and placing it is undone.
		if status := of.RunReservePluginsReserve(w.ctx, state, pod, said.node); !status.IsSuccess() {
			t.Fatalf("Reserve: %v", status)
		}
		of.RunReservePluginsUnreserve(w.ctx, state, pod, said.node)
	}
	w.api.mutex.Lock()
	found := w.api.candidates
	w.api.mutex.Unlock()
	if found != nil {
		check(t, json.Unmarshal(found, &said.candidates))
	}
	// Victims are deleted in the background.
	if chosen := said.candidates[said.node]; chosen != nil {
		until(t, "all victims are deleted", func() bool {
			w.api.mutex.Lock()
			defer w.api.mutex.Unlock()
			said.deleted = slices.Clone(w.api.requests.deleted)
			return len(said.deleted) >= len(chosen.Pods)
		})
		var uids []string
		for _, victim := range chosen.Pods {
			uids = append(uids, victim.UID)
		}
		slices.Sort(uids)
		slices.Sort(said.deleted)
		if !slices.Equal(uids, said.deleted) {
			t.Errorf("%s of %s: victims %v, deleted %v", pod.Name, profile, uids, said.deleted)
		}
	}
	return said
}

// randomCluster is a full cluster with budgets, and pods that do not fit.
func randomCluster(t testing.TB, random *rand.Rand, api *apiServer, pending int) []*corev1.Pod {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	quantity := func(cpu, memory int) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(memory)<<20, resource.BinarySI),
		}
	}
	zones := []string{"a", "b", "c"}
	var nodes []string
	for i := range 10 + random.IntN(25) {
		name := fmt.Sprintf("node-%d", i)
		nodes = append(nodes, name)
		allocatable := quantity(4000+2000*random.IntN(3), 8192)
		allocatable[corev1.ResourcePods] = *resource.NewQuantity(int64(8+random.IntN(30)), resource.DecimalSI)
		node := &corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zones[i%len(zones)], "disk": pick("ssd", "hdd")}},
			Status:     corev1.NodeStatus{Allocatable: allocatable, Capacity: allocatable},
		}
		if random.IntN(8) == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "infra", Effect: corev1.TaintEffectNoSchedule}}
		}
		api.put(t, node)
	}
	pod := func(name string, priority, cpu int) *corev1.Pod {
		value := int32(priority)
		return &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "", Labels: map[string]string{"app": pick("web", "db", "cache")}},
			Spec: corev1.PodSpec{
				SchedulerName: nodesift, Priority: &value,
				Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: quantity(cpu, 128*random.IntN(8))}}},
			},
		}
	}
	hostPort := func(of *corev1.Pod, port int32) {
		of.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port, ContainerPort: port, Protocol: corev1.ProtocolTCP}}
	}
	apart := func(of *corev1.Pod, key string) {
		of.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick("web", "db", "cache")}}, TopologyKey: key,
		}}}}
	}
	now := time.Now().Truncate(time.Second)
	for at, name := range nodes {
		// No two pods of a node have the same port, as anywhere where a scheduler has placed them.
		ports := random.Perm(3)
		for i := range 3 + random.IntN(8) {
			running := pod(fmt.Sprintf("running-%d-%d", at, i), 100*random.IntN(4), 300+200*random.IntN(6))
			running.Spec.NodeName = name
			running.Status.Phase = corev1.PodRunning
			started := metav1.NewTime(now.Add(-time.Duration(random.IntN(6)) * time.Minute))
			running.Status.StartTime = &started
			switch random.IntN(8) {
			case 0:
				if len(ports) > 0 {
					hostPort(running, int32(8000+ports[0]))
					ports = ports[1:]
				}
			case 1:
				apart(running, corev1.LabelHostname)
			}
			api.put(t, running)
		}
	}
	for _, app := range []string{"web", "db"} {
		least := intstr.FromInt32(1)
		api.put(t, &policyv1.PodDisruptionBudget{
			TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(random.IntN(3))},
		})
	}
	var preemptors []*corev1.Pod
	for i := range pending {
		waiting := pod(fmt.Sprintf("waiting-%d", i), 100*(1+random.IntN(5)), 1500+500*random.IntN(8))
		for range 1 + random.IntN(2) {
			switch random.IntN(6) {
			case 0:
				hostPort(waiting, int32(8000+random.IntN(3)))
			case 1:
				apart(waiting, pick(corev1.LabelHostname, corev1.LabelTopologyZone))
			case 2:
				waiting.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: int32(1 + random.IntN(3)), TopologyKey: pick(corev1.LabelHostname, corev1.LabelTopologyZone), WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": waiting.Labels["app"]}},
				}}
			case 3:
				waiting.Spec.NodeSelector = map[string]string{"disk": pick("ssd", "hdd")}
			case 4:
				waiting.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			}
		}
		api.put(t, waiting)
		preemptors = append(preemptors, waiting)
	}
	// With the versions that the API server has given them.
	for i := range preemptors {
		preemptors[i] = apiPod(t, api, preemptors[i].Name)
	}
	return preemptors
}

// preemptionVictims are on each node, whose room they fill.
const preemptionVictims = 30

// TestPreemptionSpeed measures PostFilter where all nodes are candidates, stock and nodesift in turns, for the numbers of nodes in
// NODESIFT_SPEED.
func TestPreemptionSpeed(t *testing.T) {
	for _, nodes := range sizes(t) {
		api := startAPIServer(t)
		for i := range nodes {
			name := fmt.Sprintf("node-%d", i)
			allocatable := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("30"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
			api.put(t, &corev1.Node{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprint(i % 3)}},
				Status:     corev1.NodeStatus{Allocatable: allocatable, Capacity: allocatable},
			})
			for j := range preemptionVictims {
				pod := sizedPod(fmt.Sprintf("victim-%d-%d", i, j), stock, 0, "1", map[string]string{"app": fmt.Sprint(j)})
				pod.Spec.NodeName, pod.Status.Phase = name, corev1.PodRunning
				api.put(t, pod)
			}
		}
		spread := sizedPod("spread", nodesift, 1000, "16", map[string]string{"app": "1"})
		spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "1"}},
		}}
		api.put(t, sizedPod("resources", nodesift, 1000, "16", nil), spread)
		api.dry = true
		w := startWorld(t, api, worldOptions{percentage: allNodes, profiles: func(stock, nodesift config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
			for i := range stock.PluginConfig {
				if args, ok := stock.PluginConfig[i].Args.(*config.DefaultPreemptionArgs); ok {
					args.MinCandidateNodesPercentage = 100
				}
			}
			setArgs(t, &nodesift, func(args map[string]any) { args["preemption"] = map[string]any{"minCandidateNodesPercentage": 100} })
			return []config.KubeSchedulerProfile{stock, nodesift}
		}})
		for _, name := range []string{"resources", "spread"} {
			pod := apiPod(t, api, name)
			times := map[string][]phases{}
			for range rounds(t) {
				for _, profile := range []string{stock, nodesift} {
					info, err := framework.NewPodInfo(pod)
					check(t, err)
					of, state := w.scheduler.Profiles[profile], framework.NewCycleState()
					_, err = w.scheduler.SchedulePod(w.ctx, of, state, &framework.QueuedPodInfo{PodInfo: info})
					var failed *framework.FitError
					if !errors.As(err, &failed) {
						t.Fatalf("%s fits: %v", name, err)
					}
					from := time.Now()
					result, status := of.RunPostFilterPlugins(w.ctx, state, pod, failed.Diagnosis.NodeToStatus)
					taken := time.Since(from)
					if result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" {
						t.Fatalf("%s: %s finds no node: %v", profile, name, status)
					}
					times[profile] = append(times[profile], phases{total: taken})
				}
			}
			total := func(p phases) time.Duration { return p.total }
			a, b := median(times[stock], total), median(times[nodesift], total)
			fmt.Printf("preemption, %d nodes × %d victims, pod %s: PostFilter %d → %d ms, stock / nodesift %.2f, medians of %d\n",
				nodes, preemptionVictims, name, a.Milliseconds(), b.Milliseconds(), float64(a)/float64(b), len(times[stock]))
		}
	}
}

// sizedPod is a pod with a request of cpu.
func sizedPod(name, scheduler string, priority int32, cpu string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: corev1.PodSpec{SchedulerName: scheduler, Priority: &priority, Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// apiPod is a pod of the default namespace as the API server has it.
func apiPod(t testing.TB, api *apiServer, name string) *corev1.Pod {
	t.Helper()
	api.mutex.Lock()
	defer api.mutex.Unlock()
	pod := &corev1.Pod{}
	check(t, json.Unmarshal(api.kinds["pods"].objects["default/"+name].text, pod))
	return pod
}
