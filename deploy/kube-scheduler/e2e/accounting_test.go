package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdk "github.com/nodesift/nodesift/sdk/core/go"
)

// The size of the run with accounting: machines whose approved size changes, and nodes that have room for most of what they ask for.
const (
	machineCount = 500
	machineNodes = 12
	nodeMilli    = 32_000
	// What a machine has when it is made, and the most that one asks for.
	leastMilli, mostMilli = 250, 1_500
	// Agents that change sizes; each machine once a second, as far as the test machine has the time for it.
	agents = 16
	// How long each phase lasts.
	accountingPhase = 30 * time.Second
	// Restarts of the sidecar, and of kube-scheduler; as many steps has the phase without. In each some machines more are placed.
	accountingKills = 5
	placedPerStep   = 7
)

// marginMilli is what a machine that grows leaves free: kube-scheduler has chosen nodes for pods that the sidecar has not been told of yet.
const marginMilli = 2_000

// refusedWhileRoom is how long nobody may be refused while there is room, with nothing killed; a pod that waits has its back-off besides.
const (
	refusedWhileRoom = time.Second
	podBackoff       = time.Second
)

// accountingVariable names the folder with accounting.wasm and neon_fit.wasm, and has the run with accounting run; migrationsVariable names
// the controller of deploy/migrations. `make e2e-accounting` sets both.
const (
	accountingVariable = "NODESIFT_ACCOUNTING"
	migrationsVariable = "NODESIFT_MIGRATIONS"
)

// TestAccounting runs the programs: etcd, kube-apiserver, kube-scheduler with the plugin, the sidecar with the accounting component of
// predicates/examples/neon, and the controller of deploy/migrations. Machines grow and shrink by their annotations, move to other nodes, and
// more of them are placed by kube-scheduler, which counts what their containers request, that is nothing. A recount from the API finds no
// node with more approved than it has, at any time; and with nothing killed nobody is refused while there is room.
func TestAccounting(t *testing.T) {
	modules := os.Getenv(accountingVariable)
	if modules == "" {
		t.Skipf("%s is not set: it takes minutes", accountingVariable)
	}
	control := startControlPlane(t)
	r := &machineRun{T: t, controlPlane: control, random: seeded(t), started: time.Now(), machines: map[string]*machine{}, waiting: map[string]time.Time{}, growing: map[string]*sync.Mutex{}}
	r.stop = make(chan struct{})
	r.create()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	check(t, os.WriteFile(policy, []byte(accountingPolicy(t, modules)), 0o600))
	r.sidecar = startSidecar(t, control.kubeconfig, "--policy", policy, "--record", "none")
	// Without the sidecar kube-scheduler knows nothing of accounts.
	r.scheduler = control.startScheduler(t, "kube-scheduler", r.sidecar.socket, func(settings, args map[string]any) {
		args["onUnavailable"] = "Fail"
		settings["podInitialBackoffSeconds"], settings["podMaxBackoffSeconds"] = 1, 1
	})
	controller := startProgram(t, control.folder, "migrations", os.Getenv(migrationsVariable), "-kubeconfig", control.kubeconfig, r.sidecar.socket)
	stop := r.follow()
	defer stop()

	r.place(machineCount - 3*accountingKills*placedPerStep)
	r.await("machines are bound", func() bool { return r.count(isBound) == r.made })
	r.forgetWaits()
	r.phase("nothing is killed", nil)
	r.judgeRefusals()
	r.phase("the sidecar is killed", func() {
		r.sidecar.kill()
		r.sidecar.start(t)
		r.sidecar.ready(t)
	})
	r.phase("kube-scheduler is killed", func() {
		r.scheduler.kill()
		r.scheduler.start(t)
		r.scheduler.ready(t)
	})
	stop()
	r.judge(controller.text())
}

// accountingPolicy is the shipped policy with accounting. NeonFit takes the place of NodeResourcesFit, whose hints wake pods by what
// containers request.
func accountingPolicy(t *testing.T, modules string) string {
	shipped, err := os.ReadFile(shippedPolicy)
	check(t, err)
	for _, module := range []string{"accounting.wasm", "neon_fit.wasm"} {
		if _, err := os.Stat(filepath.Join(modules, module)); err != nil {
			t.Fatal(err)
		}
	}
	fit := fmt.Sprintf("  - name: NeonFit\n    module: {path: %s}\n    allow: [node-resources, pod-resources]\n", filepath.Join(modules, "neon_fit.wasm"))
	text := strings.Replace(strings.TrimRight(string(shipped), "\n")+"\n", "  - name: NodeResourcesFit\n", fit, 1)
	if !strings.Contains(text, "NeonFit") {
		t.Fatal("the shipped policy has no NodeResourcesFit")
	}
	return text + fmt.Sprintf(`  accounting:
    module: {path: %s}
    allow: [object-annotations, object-owners, object-requests]
    onError: Keep
    annotations:
    - vm.neon.tech/resources
    - vm.neon.tech/overcommit
    - internal.autoscaling.neon.tech/resources-requested
    - internal.autoscaling.neon.tech/resources-approved
    watermarks:
    - {sum: neon.committed-cpu, of: cpu, above: 85, below: 80}
`, filepath.Join(modules, "accounting.wasm"))
}

// machineRun is what the run with accounting has done and seen.
type machineRun struct {
	*testing.T
	*controlPlane
	sidecar   *sidecar
	scheduler *schedulerProcess
	started   time.Time
	made      int
	stop      chan struct{}

	mutex    sync.Mutex
	random   *rand.Rand
	machines map[string]*machine
	// Held while room of a node is reserved: one machine at a time.
	growing map[string]*sync.Mutex
	// Recounts of the last second, the newest last.
	recounts []recounted
	// Since when there has been room for pods that wait, by name; and the longest time.
	waiting map[string]time.Time
	longest time.Duration
	// What was counted.
	looks, changes, grown, refused, refusedWrongly, moved, movedByController int
	fullest                                                                  int64
	problems                                                                 []string
}

func (r *machineRun) say(format string, values ...any) {
	fmt.Printf("%7.1f s  %s\n", time.Since(r.started).Seconds(), fmt.Sprintf(format, values...))
}

func (r *machineRun) problem(format string, values ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, values...))
}

// create creates nodes, and the kind of migrations.
func (r *machineRun) create() {
	for i := range machineNodes {
		node := evenNode(i, resource.NewMilliQuantity(nodeMilli, resource.DecimalSI).String())
		r.growing[node.Name] = &sync.Mutex{}
		node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("1Ti")
		_, err := r.client.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{})
		check(r, err)
	}
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"virtualmachinemigrations.vm.neon.tech"},
		"spec":{"group":"vm.neon.tech","scope":"Namespaced","names":{"kind":"VirtualMachineMigration","plural":"virtualmachinemigrations"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	created := r.client.Discovery().RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body([]byte(definition)).Do(context.Background())
	check(r, created.Error())
	until(r, "the kind of migrations is served", func() bool {
		_, err := r.migrations()
		return err == nil
	})
}

// place makes machines, which kube-scheduler places.
func (r *machineRun) place(count int) {
	for range count {
		m := newMachine(r.made)
		r.made++
		r.mutex.Lock()
		r.machines[m.name] = m
		r.mutex.Unlock()
		_, err := r.client.CoreV1().Pods("default").Create(context.Background(), m.pod(m.name), metav1.CreateOptions{})
		check(r, err)
	}
}

// phase has machines grow and shrink for a while, with more of them placed beside, and each so often one of the programs killed.
func (r *machineRun) phase(name string, kill func()) {
	r.Helper()
	r.mutex.Lock()
	changes, grown, refused, moved, before := r.changes, r.grown, r.refused, r.moved, r.looks
	r.mutex.Unlock()
	for range accountingKills {
		r.place(placedPerStep)
		if kill != nil {
			kill()
		}
		time.Sleep(accountingPhase / accountingKills)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.say("%s: %d sizes changed (%d grown, %d refused), %d machines moved, %d looks; a node had at most %d of %d millicores approved; %d problems", name,
		r.changes-changes, r.grown-grown, r.refused-refused, r.moved-moved, r.looks-before, r.fullest, int64(nodeMilli), len(r.problems))
}

// forgetWaits forgets how long pods have waited: all at once they wait for one another.
func (r *machineRun) forgetWaits() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.waiting, r.longest = map[string]time.Time{}, 0
}

// judgeRefusals looks at who was refused while nothing was killed.
func (r *machineRun) judgeRefusals() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.say("refused while there was room for longer than %v: %d of %d; a pod waited at most %v while there was room", refusedWhileRoom, r.refusedWrongly,
		r.refused, r.longest.Round(time.Millisecond))
	if r.refusedWrongly > 0 {
		r.Errorf("%d machines were refused more while there was room", r.refusedWrongly)
	}
	if r.longest > scaled(refusedWhileRoom+podBackoff) {
		r.Errorf("a pod waited %v while there was room for it", r.longest)
	}
	if r.refused == 0 || r.grown == 0 {
		r.Error("room was never scarce: the run shows nothing")
	}
}

// await waits for a condition.
func (r *machineRun) await(what string, condition func() bool) {
	r.Helper()
	for deadline := time.Now().Add(scaled(3 * time.Minute)); !condition(); time.Sleep(20 * time.Millisecond) {
		if !r.scheduler.running() {
			r.Fatalf("kube-scheduler ended:\n%s", tail(r.scheduler.text()))
		}
		if time.Now().After(deadline) {
			r.Fatalf("not in time: %s; %d of %d machines are bound", what, r.count(isBound), r.made)
		}
	}
	r.say("%s: %d", what, r.count(isBound))
}

// judge looks at the whole run.
func (r *machineRun) judge(controller string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.say("%d looks, %d problems; %d machines moved, %d of them because the controller of migrations had them leave a node above its watermark", r.looks,
		len(r.problems), r.moved, r.movedByController)
	for _, problem := range r.problems[:min(20, len(r.problems))] {
		r.Error(problem)
	}
	if r.movedByController == 0 {
		r.Errorf("the controller of migrations has moved nothing:\n%s", tail(controller))
	}
}

// recounted is what machines on each node have approved, by the API server, and when that was.
type recounted struct {
	at    time.Time
	taken map[string]int64
}

// look recounts from the API server's list, which is one moment.
func (r *machineRun) look() {
	list, err := r.client.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return // The test ends.
	}
	now := recounted{at: time.Now(), taken: map[string]int64{}}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName != "" {
			now.taken[pod.Spec.NodeName] += approvedMilli(pod)
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.looks++
	for node, taken := range now.taken {
		r.fullest = max(r.fullest, taken)
		if taken > nodeMilli {
			r.problem("%s has %d millicores approved of %d, after %.1f s", node, taken, int64(nodeMilli), time.Since(r.started).Seconds())
		}
	}
	r.recounts = slices.DeleteFunc(append(r.recounts, now), func(old recounted) bool { return now.at.Sub(old.at) > 2*refusedWhileRoom })
	waiting := map[string]time.Time{}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Spec.NodeName != "" || !now.hasRoom(approvedMilli(pod), avoided(pod)) {
			continue
		}
		since, known := r.waiting[pod.Name]
		if !known {
			since = now.at
		}
		waiting[pod.Name] = since
		r.longest = max(r.longest, now.at.Sub(since))
	}
	r.waiting = waiting
}

// hasRoom tells whether a node, but for one, has so much left.
func (c recounted) hasRoom(milli int64, but string) bool {
	for i := range machineNodes {
		if name := fmt.Sprintf("node-%03d", i); name != but && nodeMilli-c.taken[name] >= milli {
			return true
		}
	}
	return false
}

// isRefusedWrongly tells whether a node has had room for more in each look of the last second. The mutex is held.
func (r *machineRun) isRefusedWrongly(node string, more int64) bool {
	now := time.Now()
	if len(r.recounts) == 0 || now.Sub(r.recounts[0].at) < refusedWhileRoom {
		return false
	}
	for _, look := range r.recounts {
		if nodeMilli-look.taken[node] < more {
			return false
		}
	}
	return true
}

// reserve has the sidecar hold room for a machine that grows, in one step with the check that it is there, and calls grow, which says from
// which version of the pod on it is counted. Between the two nobody else is given that room.
func (r *machineRun) reserve(ctx context.Context, m *machine, node string, milli int64, grow func() (string, error)) error {
	r.growing[node].Lock()
	defer r.growing[node].Unlock()
	name := fmt.Sprintf("grows-%s-%d", m.name, milli)
	holder := func(milli int64) sdk.Pod {
		return sdk.PodJSON(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default","uid":%q},"spec":{"schedulerName":%q,"containers":[{"name":"c","resources":{"requests":{"cpu":"%dm"}}}]}}`,
			name, name, nodesift, milli))
	}
	if _, err := r.sidecar.client.Assume(ctx, holder(milli+marginMilli), node, sdk.Check(), sdk.TimeToLive(time.Minute)); err != nil {
		return err
	}
	version, err := grow()
	if err == nil {
		_, err = r.sidecar.client.Headroom(ctx, sdk.PodUID(m.uid), map[string]int64{"cpu": 0}, sdk.AtLeast("", version), sdk.Patience(longestPatience))
	}
	_, forgotten := r.sidecar.client.Forget(context.WithoutCancel(ctx), sdk.PodUID(name))
	return errors.Join(err, forgotten)
}

// names are the names of machines, sorted.
func (r *machineRun) names() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Sorted(maps.Keys(r.machines))
}
