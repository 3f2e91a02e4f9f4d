package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// The size of the run.
const (
	runNodes = 300
	runPods  = 3000
	// A group that is spread over all nodes while the sidecar runs.
	runGroup = 500
	// Pods of high priority that each need almost a whole node.
	runPreemptors = 30
	// Requests at a time.
	runParallel = 16
)

// TestRun runs the programs as in production: etcd, kube-apiserver, kube-scheduler with the shipped configuration, and the sidecar.
// Nodes have no kubelets, so bound pods stay. Pods of all kinds are created and deleted, nodes change, pods of high priority preempt
// others, and the sidecar is paused, killed and restarted meanwhile. Then the API server's objects are counted, and all pods that
// wait are judged again by this scheduler and by the stock one, on the same objects.
func TestRun(t *testing.T) {
	control := startControlPlane(t)
	random := seeded(t)
	r := &runState{T: t, controlPlane: control, random: random, gone: map[string]bool{}, started: time.Now()}
	r.create()
	sidecar := startSidecar(t, control.kubeconfig, "--policy", shippedPolicy)
	scheduler := control.startScheduler(t, "kube-scheduler", sidecar.socket)
	r.scheduler = scheduler

	r.phase("sidecar running, a group of pods spread over all nodes", runGroup, func(i int) *corev1.Pod {
		pod := spreadPod(fmt.Sprintf("group-%d", i), nodesift, "10m", "group")
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		return pod
	})
	r.expectNoFailure("group-")
	quarter := (runPods - runGroup - runPreemptors) / 4
	r.phase("sidecar running", quarter, r.mixed)

	sidecar.pause(t)
	paused := time.Now()
	inTree := scheduler.metric(t, "scheduler_nodesift_in_tree_cycles_total")
	r.phase("sidecar paused", quarter, r.mixed)
	if scheduler.metric(t, "scheduler_nodesift_in_tree_cycles_total") == inTree {
		t.Errorf("no cycle was in tree while the sidecar was paused")
	}
	time.Sleep(time.Until(paused.Add(outage)))
	sidecar.resume(t)
	r.churn()
	r.answers()
	r.phase("sidecar resumed, after churn", quarter, r.mixed)

	sidecar.kill()
	inTree = scheduler.metric(t, "scheduler_nodesift_in_tree_cycles_total")
	r.phase("sidecar killed", quarter, r.mixed)
	if scheduler.metric(t, "scheduler_nodesift_in_tree_cycles_total") == inTree {
		t.Errorf("no cycle was in tree while there was no sidecar")
	}
	sidecar.start(t)
	sidecar.ready(t)
	r.churn()
	r.answers()
	answered := scheduler.metric(t, "scheduler_nodesift_calls_total", "ok")
	r.phase("sidecar restarted, pods that preempt", runPreemptors, func(i int) *corev1.Pod {
		pod := runPod(fmt.Sprintf("preemptor-%d", i), "7500m", "high")
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		return pod
	})
	if scheduler.metric(t, "scheduler_nodesift_calls_total", "ok") == answered {
		t.Errorf("the restarted sidecar was asked nothing")
	}
	r.say("%.0f cycles answered by the sidecar, %.0f in tree, %.0f pods preempted in %.0f attempts", scheduler.metric(t, "scheduler_nodesift_calls_total", "ok"),
		scheduler.metric(t, "scheduler_nodesift_in_tree_cycles_total"), scheduler.metric(t, "scheduler_preemption_victims"), scheduler.metric(t, "scheduler_preemption_attempts_total"))
	r.recount(int(scheduler.metric(t, "scheduler_preemption_victims")))
	scheduler.kill()
	r.compareWithStock(sidecar)
}

// runState is what the run has done.
type runState struct {
	*testing.T
	*controlPlane
	random    *rand.Rand
	scheduler *schedulerProcess
	started   time.Time
	created   int
	// Names of pods that the run has deleted.
	gone map[string]bool
}

func (r *runState) say(format string, values ...any) {
	fmt.Printf("%7.1f s  %s\n", time.Since(r.started).Seconds(), fmt.Sprintf(format, values...))
}

// create creates nodes and priorities.
func (r *runState) create() {
	ctx := context.Background()
	for name, value := range map[string]int32{"low": 0, "high": 1000} {
		_, err := r.client.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
		check(r, err)
	}
	r.parallel(runNodes, func(i int) error {
		node := evenNode(i, "8")
		node.Labels["disk"] = []string{"ssd", "hdd"}[i%2]
		node.Labels["pool"] = []string{"general", "batch", "infra"}[i/3%3]
		node.Labels["generation"] = fmt.Sprint(i % 4)
		if i%10 == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "infra", Effect: corev1.TaintEffectNoSchedule}}
		}
		_, err := r.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
}

// parallel does something count times, and fails the test with the errors.
func (r *runState) parallel(count int, do func(int) error) {
	r.Helper()
	var group sync.WaitGroup
	outcomes := make([]error, count)
	for worker := range runParallel {
		group.Go(func() {
			for i := worker; i < count; i += runParallel {
				outcomes[i] = do(i)
			}
		})
	}
	group.Wait()
	check(r, errors.Join(outcomes...))
}

// phase creates pods and waits until each is bound or was found unschedulable.
func (r *runState) phase(name string, count int, pod func(int) *corev1.Pod) {
	r.Helper()
	before := r.results()
	from := time.Now()
	first := r.created
	r.created += count
	r.parallel(count, func(i int) error {
		_, err := r.client.CoreV1().Pods("default").Create(context.Background(), pod(first+i), metav1.CreateOptions{})
		return err
	})
	bound, waiting := r.decided()
	r.say("%s: %d pods created and decided in %.1f s (%.0f a second); now %d bound, %d unschedulable", name, count, time.Since(from).Seconds(),
		float64(count)/time.Since(from).Seconds(), bound, waiting)
	var results []string
	after := r.results()
	for _, result := range slices.Sorted(maps.Keys(after)) {
		if cycles := after[result] - before[result]; cycles > 0 {
			results = append(results, fmt.Sprintf("%s %.0f", result, cycles))
		}
	}
	r.say("  cycles by what the sidecar has answered: %s", strings.Join(results, ", "))
}

// answers creates a pod at a time until the sidecar answers again: the plugin pauses after failures.
func (r *runState) answers() {
	r.Helper()
	before := r.results()["ok"]
	first := r.created
	for tick := time.NewTicker(askAgain); r.results()["ok"] == before; <-tick.C {
		if r.created-first > runGroup {
			r.Fatal("the sidecar is not asked again")
		}
		pod := runPod(fmt.Sprintf("probe-%d", r.created), "10m", "low")
		_, err := r.client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
		check(r, err)
		r.created++
		r.decided()
	}
}

// results are the numbers of cycles by what the sidecar has answered.
func (r *runState) results() map[string]float64 {
	results := map[string]float64{}
	for _, result := range []string{"ok", "unavailable", "deadline", "stale", "fault", "placement", "breaker", "other"} {
		results[result] = r.scheduler.metric(r, "scheduler_nodesift_calls_total", result)
	}
	return results
}

// decided waits until no pod is undecided, and returns how many are bound and how many unschedulable.
func (r *runState) decided() (bound, waiting int) {
	r.Helper()
	undecided := 0
	deadline := time.Now().Add(scaled(3 * time.Minute))
	for {
		bound, waiting, undecided = 0, 0, 0
		var one string
		for _, pod := range r.pods() {
			switch {
			case pod.Spec.NodeName != "":
				bound++
			case unschedulable(&pod) != "" && pod.Status.NominatedNodeName == "":
				waiting++
			default:
				undecided++
				one = pod.Name
			}
		}
		if undecided == 0 {
			return bound, waiting
		}
		if !r.scheduler.running() {
			r.Fatalf("kube-scheduler ended:\n%s", tail(r.scheduler.text()))
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d pods are neither bound nor unschedulable, such as %s; kube-scheduler says\n%s", undecided, one, tail(r.scheduler.text()))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (r *runState) pods() []corev1.Pod {
	list, err := r.client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	check(r, err)
	return list.Items
}

func (r *runState) nodes() []corev1.Node {
	list, err := r.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	check(r, err)
	return list.Items
}

// unschedulable is the message of a pod's condition; empty where it has none.
func unschedulable(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return condition.Message
		}
	}
	return ""
}

// churn deletes pods, and taints, cordons and relabels nodes.
func (r *runState) churn() {
	ctx := context.Background()
	var bound []string
	for _, pod := range r.pods() {
		if pod.Spec.NodeName != "" && !strings.HasPrefix(pod.Name, "group-") {
			bound = append(bound, pod.Name)
		}
	}
	r.random.Shuffle(len(bound), func(i, j int) { bound[i], bound[j] = bound[j], bound[i] })
	bound = bound[:len(bound)/6]
	for _, name := range bound {
		r.gone[name] = true
	}
	r.parallel(len(bound), func(i int) error {
		return r.client.CoreV1().Pods("default").Delete(ctx, bound[i], metav1.DeleteOptions{})
	})
	changed := 0
	for i := range runNodes {
		if i%15 != 7 {
			continue
		}
		choice := r.random.IntN(3)
		check(r, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			node, err := r.client.CoreV1().Nodes().Get(ctx, fmt.Sprintf("node-%03d", i), metav1.GetOptions{})
			check(r, err)
			switch choice {
			case 0:
				node.Spec.Unschedulable = !node.Spec.Unschedulable
			case 1:
				node.Labels["generation"] = "0"
			case 2:
				node.Labels["pool"] = "infra"
			}
			_, err = r.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
			return err
		}))
		changed++
	}
	bounded, waiting := r.decided()
	r.say("churn: %d pods deleted, %d nodes changed; now %d bound, %d unschedulable", len(bound), changed, bounded, waiting)
}

// expectNoFailure looks for events of failed attempts.
func (r *runState) expectNoFailure(prefix string) {
	events, err := r.client.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
	check(r, err)
	failed := 0
	for _, event := range events.Items {
		if strings.HasPrefix(event.InvolvedObject.Name, prefix) {
			failed++
			r.Errorf("%s: %s", event.InvolvedObject.Name, event.Message)
		}
	}
	r.say("FailedScheduling events of the group: %d", failed)
}

// recount judges the final objects: nothing overcommitted, and no pod lost but those that were preempted.
func (r *runState) recount(preempted int) {
	pods, nodes := r.pods(), r.nodes()
	wrong := recount(r, nodes, pods)
	for _, problem := range wrong {
		r.Error(problem)
	}
	lost := r.created - len(pods) - len(r.gone)
	if lost != preempted || preempted == 0 {
		r.Errorf("%d pods are gone that the run has not deleted; %d were preempted", lost, preempted)
	}
	bound := 0
	for _, pod := range pods {
		if strings.HasPrefix(pod.Name, "preemptor-") && pod.Spec.NodeName == "" {
			r.Errorf("%s waits: %s", pod.Name, unschedulable(&pod))
		}
		if pod.Spec.NodeName != "" {
			bound++
		}
	}
	r.say("recount: %d pods created, %d deleted, %d preempted, %d bound on %d nodes, %d problems", r.created, len(r.gone), preempted, bound, len(nodes), len(wrong))
}

// compareWithStock has all waiting pods judged again, by this scheduler and by the stock one, and compares the conditions.
func (r *runState) compareWithStock(sidecar *sidecar) {
	before := map[string]string{}
	for _, pod := range r.pods() {
		before[pod.Name] = pod.Spec.NodeName
	}
	judge := func(name, socket string) map[string]string {
		waiting := slices.DeleteFunc(r.pods(), func(pod corev1.Pod) bool { return pod.Spec.NodeName != "" })
		r.parallel(len(waiting), func(i int) error {
			waiting[i].Status.Conditions, waiting[i].Status.NominatedNodeName = nil, ""
			_, err := r.client.CoreV1().Pods("default").UpdateStatus(context.Background(), &waiting[i], metav1.UpdateOptions{})
			return err
		})
		r.scheduler = r.startScheduler(r, name, socket)
		r.decided()
		said := map[string]string{}
		for _, pod := range r.pods() {
			if before[pod.Name] != pod.Spec.NodeName {
				r.Errorf("%s has bound %s, which was unschedulable before", name, pod.Name)
			}
			if pod.Spec.NodeName == "" {
				said[pod.Name] = unschedulable(&pod)
			}
		}
		if name == "kube-scheduler-again" {
			r.say("judged again: %.0f cycles answered by the sidecar, %.0f in tree", r.scheduler.metric(r, "scheduler_nodesift_calls_total", "ok"), r.scheduler.metric(r, "scheduler_nodesift_in_tree_cycles_total"))
			if r.scheduler.metric(r, "scheduler_nodesift_calls_total", "ok") == 0 {
				r.Error("the sidecar has answered nothing")
			}
		}
		r.scheduler.kill()
		return said
	}
	got, want := judge("kube-scheduler-again", sidecar.socket), judge("kube-scheduler-stock", "")
	kinds := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(joined(want, got))) {
		kinds[want[name]] = true
		if want[name] != got[name] {
			r.Errorf("%s:\nstock    %s\nnodesift %s", name, want[name], got[name])
		}
	}
	if len(want) == 0 {
		r.Error("no pod is unschedulable")
	}
	r.say("same objects, stock kube-scheduler: %d pods unschedulable in both, with %d different messages", len(want), len(kinds))
}
