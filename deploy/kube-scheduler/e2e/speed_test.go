package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// defaultRounds is how many pods of a kind each profile places; NODESIFT_ROUNDS sets another number.
const defaultRounds = 25

// turn is how many pods a profile places one after the other before the other profile does. The first of a turn is not counted:
// a cycle of the stock profile reads every pod of the cluster, so the cycle after it finds the processor's caches cold, which a
// scheduler that runs one of the two profiles never does.
const turn = 6

// phases are what a scheduling cycle consists of, by the time that each takes.
type phases struct{ preFilter, filter, score, reserve, total time.Duration }

// timed is a framework that notes when a cycle passes its extension points.
type timed struct {
	framework.Framework
	filterFrom, scoreFrom time.Time
	preFilter             time.Duration
}

func (f *timed) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	from := time.Now()
	result, status, plugins := f.Framework.RunPreFilterPlugins(ctx, state, pod)
	f.filterFrom = time.Now()
	f.preFilter = f.filterFrom.Sub(from)
	return result, status, plugins
}

func (f *timed) RunPreScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	f.scoreFrom = time.Now()
	return f.Framework.RunPreScorePlugins(ctx, state, pod, nodes)
}

// TestSpeed measures scheduling cycles of the two profiles in turns of some pods each: the real queue, a new snapshot, SchedulePod,
// and Reserve. Pods stay assumed, as while they are being bound, and are bound when all of a kind are placed.
//
// NODESIFT_SPEED names the numbers of nodes: NODESIFT_SPEED=1000,5000.
func TestSpeed(t *testing.T) {
	for _, nodes := range sizes(t) {
		api := startAPIServer(t)
		kinds := synthesize(t, api, nodes)
		percentages := []int32{0, allNodes}
		w := startWorld(t, api, worldOptions{profiles: func(stock, nodesift config.KubeSchedulerProfile) []config.KubeSchedulerProfile {
			var all []config.KubeSchedulerProfile
			for _, percentage := range percentages {
				for _, profile := range []config.KubeSchedulerProfile{stock, nodesift} {
					if percentage != 0 {
						profile.SchedulerName = fmt.Sprintf("%s-%d", profile.SchedulerName, percentage)
						profile.PercentageOfNodesToScore = &percentage
					}
					all = append(all, profile)
				}
			}
			return all
		}})
		for _, percentage := range percentages {
			suffix, sampling := "", "adaptive"
			if percentage != 0 {
				suffix, sampling = fmt.Sprintf("-%d", percentage), fmt.Sprintf("%d %%", percentage)
			}
			fmt.Printf("\n%d nodes, %d pods, %s sampling; µs a pod, medians of %d, stock → nodesift\n", nodes, nodes*30, sampling, rounds(t))
			fmt.Println("| pod | PreFilter | Filter | PreScore + Score | Reserve | total | stock / nodesift |")
			fmt.Println("|---|---|---|---|---|---|---|")
			for _, kind := range kinds {
				measured := w.measure(t, kind, rounds(t), stock+suffix, nodesift+suffix)
				fmt.Println(row(kind.Name, measured[stock+suffix], measured[nodesift+suffix]))
			}
		}
		w.scheduler.SchedulingQueue.Close()
	}
}

func rounds(t testing.TB) int {
	text := os.Getenv("NODESIFT_ROUNDS")
	if text == "" {
		return defaultRounds
	}
	number, err := strconv.Atoi(text)
	check(t, err)
	return number
}

func sizes(t testing.TB) []int {
	text := os.Getenv("NODESIFT_SPEED")
	if text == "" {
		t.Skip("NODESIFT_SPEED names no numbers of nodes")
	}
	var all []int
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		check(t, err)
		all = append(all, number)
	}
	return all
}

// synthesize fills an API server with a cluster shaped like a busy cloud cluster, and returns the four pods that are placed in it.
func synthesize(t testing.TB, api *apiServer, nodes int) []corev1.Pod {
	t.Helper()
	binary := os.Getenv("NODESIFT_BINARY")
	if binary == "" {
		t.Skip("NODESIFT_BINARY names no binary of the sidecar")
	}
	folder := t.TempDir()
	cluster, pods := filepath.Join(folder, "cluster.json.gz"), filepath.Join(folder, "pods.json.gz")
	developer := cmp.Or(os.Getenv("NODESIFT_DEV_BINARY"), filepath.Join(filepath.Dir(binary), "nodesift-dev"))
	if text, err := exec.Command(developer, "cluster", "synth", "--nodes", strconv.Itoa(nodes), "-o", cluster, "--pods", pods).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	api.put(t, readList(t, cluster)...)
	var kinds []corev1.Pod
	for _, text := range readList(t, pods) {
		var pod corev1.Pod
		check(t, json.Unmarshal(text.(json.RawMessage), &pod))
		kinds = append(kinds, pod)
	}
	return kinds
}

// measure places pods of one kind by the profiles in turns, and returns the times of the cycles that count.
func (w *world) measure(t testing.TB, kind corev1.Pod, rounds int, profiles ...string) map[string][]phases {
	t.Helper()
	// The first turn of each is not counted at all: caches are empty and connections new.
	turns := 1 + (rounds+turn-2)/(turn-1)
	for round := range turns * turn * len(profiles) {
		profile := profiles[round/turn%len(profiles)]
		pod := kind.DeepCopy()
		pod.Name = fmt.Sprintf("%s-%s-%d", kind.Name, profile, round)
		pod.UID = ""
		pod.Spec.SchedulerName = profile
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		w.api.put(t, pod)
	}
	w.settle(t)
	times := map[string][]phases{}
	var bind []func()
	for round := range turns * turn * len(profiles) {
		taken, profile, finish := w.cycle(t)
		bind = append(bind, finish)
		if profile != profiles[round/turn%len(profiles)] {
			t.Fatalf("cycle %d placed a pod of %s: the queue has another order than the pods were created in", round, profile)
		}
		if round >= turn*len(profiles) && round%turn > 0 {
			times[profile] = append(times[profile], taken)
		}
	}
	for _, finish := range bind {
		finish()
	}
	return times
}

// cycle places the next pod of the queue as the scheduler does. What it returns last binds the pod.
func (w *world) cycle(t testing.TB) (phases, string, func()) {
	t.Helper()
	logger := logr.Discard()
	next, err := w.scheduler.NextPod(logger)
	check(t, err)
	profile := next.Pod.Spec.SchedulerName
	of := &timed{Framework: w.scheduler.Profiles[profile]}
	state := framework.NewCycleState()
	from := time.Now()
	w.update(t)
	result, err := w.scheduler.SchedulePod(w.ctx, of, state, next)
	scored := time.Now()
	if err != nil {
		t.Fatalf("%s is not placed by %s: %v", next.Pod.Name, profile, err)
	}
	if of.scoreFrom.IsZero() {
		of.scoreFrom = scored
	}
	assumed := next.Pod.DeepCopy()
	assumed.Spec.NodeName = result.SuggestedHost
	check(t, w.scheduler.Cache.AssumePod(logger, assumed))
	reserving := time.Now()
	if status := of.RunReservePluginsReserve(w.ctx, state, assumed, result.SuggestedHost); !status.IsSuccess() {
		t.Fatalf("Reserve: %v", status)
	}
	done := time.Now()
	w.scheduler.SchedulingQueue.Done(next.Pod.UID)
	taken := phases{of.preFilter, of.scoreFrom.Sub(of.filterFrom), scored.Sub(of.scoreFrom), done.Sub(reserving), done.Sub(from)}
	return taken, profile, func() {
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: assumed.Namespace, Name: assumed.Name, UID: assumed.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: result.SuggestedHost},
		}
		check(t, w.client.CoreV1().Pods(assumed.Namespace).Bind(w.ctx, binding, metav1.CreateOptions{}))
		of.RunPostBindPlugins(w.ctx, state, assumed, result.SuggestedHost)
	}
}

func row(name string, stock, nodesift []phases) string {
	column := func(of func(phases) time.Duration) (time.Duration, time.Duration, string) {
		a, b := median(stock, of), median(nodesift, of)
		return a, b, fmt.Sprintf("%d → %d", a.Microseconds(), b.Microseconds())
	}
	cells := []string{name}
	for _, of := range []func(phases) time.Duration{
		func(p phases) time.Duration { return p.preFilter }, func(p phases) time.Duration { return p.filter },
		func(p phases) time.Duration { return p.score }, func(p phases) time.Duration { return p.reserve },
	} {
		_, _, text := column(of)
		cells = append(cells, text)
	}
	a, b, text := column(func(p phases) time.Duration { return p.total })
	cells = append(cells, text, fmt.Sprintf("%.2f", float64(a)/float64(max(b, 1))))
	return "| " + strings.Join(cells, " | ") + " |"
}

func median(all []phases, of func(phases) time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	times := make([]time.Duration, len(all))
	for i, one := range all {
		times[i] = of(one)
	}
	slices.Sort(times)
	return times[len(times)/2]
}
