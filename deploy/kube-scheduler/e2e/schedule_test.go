package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// failures are the attempts that have ended without a node, by pod.
type failures struct {
	sync.Mutex
	of map[string]int
}

// run schedules until the test ends, and notes what fails.
func (w *world) run(t testing.TB) *failures {
	noted := &failures{of: map[string]int{}}
	handler := w.scheduler.FailureHandler
	w.scheduler.FailureHandler = func(ctx context.Context, of framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status, nominated *fwk.NominatingInfo, start time.Time) {
		noted.Lock()
		noted.of[fmt.Sprintf("%s: %s", pod.Pod.Name, status.Message())]++
		noted.Unlock()
		handler(ctx, of, pod, status, nominated, start)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		w.scheduler.Run(ctx)
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return noted
}

func (f *failures) all() []string {
	f.Lock()
	defer f.Unlock()
	var all []string
	for text, times := range f.of {
		all = append(all, fmt.Sprintf("%d × %s", times, text))
	}
	return all
}

// counter is the sum of a metric's samples whose labels have these values.
func counter(t testing.TB, name string, values ...string) int {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	check(t, err)
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, sample := range family.Metric {
			matches := 0
			for _, label := range sample.Label {
				for _, value := range values {
					if label.GetValue() == value {
						matches++
					}
				}
			}
			if matches == len(values) {
				total += sample.GetCounter().GetValue()
			}
		}
	}
	return int(total)
}

// evenNodes are nodes in three zones.
func evenNodes(t testing.TB, api *apiServer, count int, cpu string) {
	for i := range count {
		api.put(t, evenNode(i, cpu))
	}
}

func evenNode(i int, cpu string) *corev1.Node {
	name := fmt.Sprintf("node-%03d", i)
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}},
		Status:     corev1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

// bound waits until so many pods have been bound since the last reset of the requests.
func (s *apiServer) bound(t testing.TB, count int) {
	t.Helper()
	until(t, fmt.Sprintf("%d pods are bound", count), func() bool {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.requests.bound >= count
	})
}

// judge fails the test for what a recount finds.
func (s *apiServer) judge(t testing.TB) {
	t.Helper()
	nodes, pods := each[corev1.Node](t, s, "nodes"), each[corev1.Pod](t, s, "pods")
	for _, problem := range append(recount(t, nodes, pods), skews(t, nodes, pods)...) {
		t.Error(problem)
	}
}

// batchNodes have room for one pod each, so that the next pod of a batch goes to the next best node.
const batchNodes = 300

// TestBatching compares how many pods are placed by the results of the pod before: with default constraints of topology spread, as
// they are unless configured, no pod is; with defaultingType: List and none, all that no filter forbids. kube-scheduler uses no result
// that is older than 500 ms: a pod that comes after such a one counts as if it had used it.
func TestBatching(t *testing.T) {
	shipped, err := os.ReadFile(shippedPolicy)
	check(t, err)
	const spread = "- name: PodTopologySpread\n"
	if !strings.Contains(string(shipped), spread) {
		t.Fatalf("%s has no %s", shippedPolicy, spread)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	check(t, os.WriteFile(policy, []byte(strings.Replace(string(shipped), spread, spread+"    args: {defaultingType: List}\n", 1)), 0o600))
	hints := map[string]int{}
	for _, profile := range []string{stock, nodesift} {
		api := startAPIServer(t)
		evenNodes(t, api, batchNodes, "4")
		w := startWorld(t, api, worldOptions{percentage: allNodes, policy: policy, profiles: func(stock, nodesift config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
			for _, of := range []config.KubeSchedulerProfile{stock, nodesift} {
				for i := range of.PluginConfig {
					if args, ok := of.PluginConfig[i].Args.(*config.PodTopologySpreadArgs); ok {
						args.DefaultingType = config.ListDefaulting
					}
				}
			}
			setArgs(t, &nodesift, func(args map[string]any) {
				args["inTreeConfig"] = []any{map[string]any{"name": "PodTopologySpread", "args": map[string]any{
					"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "PodTopologySpreadArgs", "defaultingType": "List",
				}}}
			})
			return []config.KubeSchedulerProfile{stock, nodesift}
		}})
		// The plugin signs pods from when it knows the policy, of which the first answer tells it.
		first := sizedPod("first", profile, 0, "3", map[string]string{"app": "first"})
		api.put(t, first)
		noted := w.run(t)
		api.bound(t, 1)
		until(t, "pods are signed", func() bool { return w.scheduler.Profiles[profile].SignPod(w.ctx, first) != nil })
		used := func() int {
			return counter(t, "scheduler_batch_attempts_total", profile, "hint_used") +
				counter(t, "scheduler_batch_cache_flushed_total", profile, "expired")
		}
		before := used()
		for i := range batchNodes - 1 {
			api.put(t, sizedPod(fmt.Sprintf("batch-%d", i), profile, 0, "3", map[string]string{"app": "batch"}))
		}
		api.bound(t, batchNodes)
		hints[profile] = used() - before
		if all := noted.all(); len(all) > 0 {
			t.Errorf("%s: %v", profile, all)
		}
	}
	fmt.Printf("%s: scheduler_batch_attempts_total{result=\"hint_used\"}, and those expired, of %d pods: stock %d, nodesift %d\n", t.Name(), batchNodes-1, hints[stock], hints[nodesift])
	if hints[stock] == 0 || hints[nodesift] < hints[stock] {
		t.Errorf("hints used: stock %d, nodesift %d", hints[stock], hints[nodesift])
	}
}

// TestSpreadGroup places a group of 500 pods that must be spread over nodes and zones, one after the other while the ones before are
// still being bound: none may fail, because there is room for all of them at any time.
func TestSpreadGroup(t *testing.T) {
	// The same number in each zone, or else both constraints cannot be met at the same time.
	const group, nodes = 500, 15
	api := startAPIServer(t)
	evenNodes(t, api, nodes, "64")
	w := startWorld(t, api, worldOptions{})
	noted := w.run(t)
	for i := range group {
		api.put(t, spreadPod(fmt.Sprintf("group-%d", i), nodesift, "100m", "group"))
	}
	api.bound(t, group)
	if all := noted.all(); len(all) > 0 {
		t.Errorf("attempts that failed: %v", all)
	}
	api.judge(t)
	fmt.Printf("%s: %d pods with maxSkew 1 on %d nodes, %d failed attempts\n", t.Name(), group, nodes, len(noted.all()))
}

// spreadPod has to be spread over nodes and zones with the other pods of its app.
func spreadPod(name, scheduler, cpu, app string) *corev1.Pod {
	pod := sizedPod(name, scheduler, 0, cpu, map[string]string{"app": app})
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		})
	}
	return pod
}

// outage is how long the sidecar stands still.
const outage = 5 * time.Second

// askAgain is the time between pods that find out whether the sidecar is asked again.
const askAgain = 100 * time.Millisecond

// TestFaults schedules while the sidecar is paused, killed and restarted, with onUnavailable: InTree. Each time, pods of all kinds
// are bound meanwhile; in the end none is lost, none is bound twice, and a recount finds no node with more than it can have.
func TestFaults(t *testing.T) {
	const nodes, batch = 99, 200
	api := startAPIServer(t)
	evenNodes(t, api, nodes, "16")
	w := startWorld(t, api, worldOptions{profiles: func(_, nodesift config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
		setArgs(t, &nodesift, func(args map[string]any) {
			args["callTimeout"] = runCallTimeout.String()
			delete(args, "consistencyTimeout")
			args["onUnavailable"] = "InTree"
		})
		return []config.KubeSchedulerProfile{nodesift}
	}})
	noted := w.run(t)
	created := 0
	place := func(phase string) {
		inTree, answered := counter(t, "scheduler_nodesift_in_tree_cycles_total"), counter(t, "scheduler_nodesift_calls_total", "ok")
		from := time.Now()
		for range batch {
			api.put(t, kindOfPod(created))
			created++
		}
		api.bound(t, created)
		taken := time.Since(from)
		inTree = counter(t, "scheduler_nodesift_in_tree_cycles_total") - inTree
		answered = counter(t, "scheduler_nodesift_calls_total", "ok") - answered
		fmt.Printf("%s: sidecar %-9s %d pods bound in %4d ms (%4.0f a second), %d cycles in tree, %d answered by the sidecar\n",
			t.Name(), phase+":", batch, taken.Milliseconds(), batch/taken.Seconds(), inTree, answered)
		switch phase {
		case "paused", "killed":
			if inTree == 0 {
				t.Errorf("%s: no cycle was in tree", phase)
			}
		default:
			if answered == 0 {
				t.Errorf("%s: the sidecar has answered nothing", phase)
			}
		}
	}
	const judged = "scheduler_nodesift_judged_placements_total"
	answers := func(after string, judgedBefore int) {
		// One pod at a time until the sidecar is asked again, as the plugin pauses after failures, and pods of the outage are judged, which
		// waits for no pod.
		answered := counter(t, "scheduler_nodesift_calls_total", "ok")
		waits := func() bool {
			return counter(t, "scheduler_nodesift_calls_total", "ok") == answered || counter(t, judged) == judgedBefore
		}
		for tick := time.NewTicker(askAgain); waits(); <-tick.C {
			if created > 5*batch {
				t.Fatalf("the sidecar is not asked again, or judges nothing, after it was %s", after)
			}
			api.put(t, kindOfPod(created))
			created++
			api.bound(t, created)
		}
		fmt.Printf("%s: after it was %s, %d pods were placed without an answer so far, %d are judged, and %d do not fit\n", t.Name(), after,
			counter(t, "scheduler_nodesift_unanswered_placements_total"), counter(t, judged), counter(t, judged, "misfit"))
	}
	place("running")
	w.sidecar.pause(t)
	paused := time.Now()
	place("paused")
	if during := time.Since(paused); during > outage {
		t.Errorf("%d pods took %s, longer than the pause", batch, during)
	}
	time.Sleep(time.Until(paused.Add(outage)))
	judgedBefore := counter(t, judged)
	w.sidecar.resume(t)
	answers("paused", judgedBefore)
	place("resumed")
	w.sidecar.kill()
	place("killed")
	judgedBefore = counter(t, judged)
	w.sidecar.start(t)
	w.sidecar.ready(t)
	answers("killed", judgedBefore)
	place("restarted")
	api.judge(t)
	api.mutex.Lock()
	defer api.mutex.Unlock()
	if api.requests.bound != created || len(api.requests.boundTwice) > 0 {
		t.Errorf("%d of %d pods are bound; bound twice: %v", api.requests.bound, created, api.requests.boundTwice)
	}
	fmt.Printf("%s: %d pods, all bound once, nothing overcommitted; failed attempts: %v\n", t.Name(), created, noted.all())
}

// kindOfPod is the i-th pod of a mix that fits in the cluster.
func kindOfPod(i int) *corev1.Pod {
	name := fmt.Sprintf("pod-%d", i)
	switch i % 5 {
	case 0:
		return spreadPod(name, nodesift, "100m", "spread")
	case 1:
		pod := sizedPod(name, nodesift, 0, "100m", map[string]string{"app": fmt.Sprintf("apart-%d", i/100)})
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}}}
		return pod
	case 2:
		pod := sizedPod(name, nodesift, 0, "100m", map[string]string{"app": "port"})
		port := int32(8000 + i/100)
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}}
		return pod
	default:
		return sizedPod(name, nodesift, 0, "200m", map[string]string{"app": "plain"})
	}
}
