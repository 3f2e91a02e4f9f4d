package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// The size of the run with parties: pods of which every second needs a seat of the licence server, and every tenth the network as well.
const (
	seats     = 20
	seatPods  = 500
	seatNodes = 30
	// Kills of the sidecar and of the licence server, and of kube-scheduler.
	seatKills      = 20
	schedulerKills = 5
	// Pods that are bound with a seat between two kills, of those that are made before each.
	boundPerKill = 2
)

// How long a pod runs: as long as a seat is taken. With ten pods a second that need one, all are taken.
const (
	shortestLife = 500 * time.Millisecond
	longestLife  = 2 * time.Second
)

// freeSeat is how long no seat may be taken or given back while one is free and a pod waits for one, with nothing killed.
const freeSeat = time.Second

// seatsVariable has the run with parties run. `make e2e-negotiation` sets it.
const seatsVariable = "NODESIFT_SEATS"

const podNegotiations = "/apis/nodesift.dev/v1alpha1/namespaces/default/podnegotiations"

// TestSeats runs the programs: etcd, kube-apiserver, kube-scheduler with the plugin, the sidecar with a second one beside it, a licence
// server and a network that serves two of three zones. No more seats are in use than there are, no pod is bound before all is allocated
// for it, and every seat is given back once its pod has ended, also while each of the programs is killed again and again.
func TestSeats(t *testing.T) {
	if os.Getenv(seatsVariable) == "" {
		t.Skipf("%s is not set: it takes minutes", seatsVariable)
	}
	control := startControlPlane(t)
	r := &seatRun{
		T: t, controlPlane: control, random: seeded(t), started: time.Now(), folder: t.TempDir(),
		running: map[string]bool{}, seen: map[string]bool{}, needing: map[string]bool{},
	}
	r.create()
	policy := filepath.Join(r.folder, "policy.yaml")
	shipped, err := os.ReadFile(shippedPolicy)
	check(t, err)
	check(t, os.WriteFile(policy, []byte(strings.TrimRight(string(shipped), "\n")+`
  - name: Parties
    phases: [allocate]
  parties:
  - name: licences
    for: {podSelector: {matchLabels: {licence: "yes"}}}
  - name: network
    for: {podSelector: {matchLabels: {network: "yes"}}}
`), 0o600))
	sidecar := startSidecar(t, control.kubeconfig, "--policy", policy, "--replica-name", "first")
	second := startSidecar(t, control.kubeconfig, "--policy", policy, "--replica-name", "second")
	// With its first call it reads all decisions, and from then on it looks for those that are left.
	following, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go func() {
		for range second.client.PartyWords(following) {
		}
	}()
	party := func(name string, arguments ...string) *program {
		arguments = append([]string{"party", "--name", name, "--server", "unix:" + sidecar.socket}, arguments...)
		return startProgram(t, r.folder, name, os.Getenv("NODESIFT_BINARY"), arguments...)
	}
	r.licences = party("licences", "--seats", strconv.Itoa(seats), "--state", r.state())
	party("network", "--seats", strconv.Itoa(seatPods), "--nodes", "zone-0-*", "zone-1-*")
	scheduler := control.startScheduler(t, "kube-scheduler", sidecar.socket)
	r.scheduler = scheduler
	r.follow()

	r.say("%d pods, while nothing is killed", seatPods*2/5)
	r.pods(seatPods * 2 / 5)
	r.await("all pods are bound", r.isDone)
	if longest := r.longestFree(); longest > scaled(freeSeat) {
		t.Errorf("no seat was taken for %v while one was free and a pod waited", longest)
	}
	r.say("%d pods more, while sidecar and licence server are killed", seatPods*2/5)
	for kill := range 2 * seatKills {
		r.pods(seatPods * 2 / 5 / (2 * seatKills))
		r.progress()
		if kill%2 == 0 {
			sidecar.kill()
			sidecar.start(t)
			sidecar.ready(t)
		} else {
			r.licences.kill()
			r.licences.start(t)
		}
	}
	r.await("all pods are bound", r.isDone)
	r.longestFree()
	r.say("%d pods more, while kube-scheduler is killed", seatPods-r.made)
	for left := schedulerKills; left > 0; left-- {
		r.pods((seatPods - r.made) / left)
		r.progress()
		scheduler.kill()
		scheduler.start(t)
		scheduler.ready(t)
	}
	r.await("all pods are bound", r.isDone)
	r.longestFree()
	r.await("every seat is given back", func() bool { return r.taken() == 0 })
	r.await("no PodNegotiation is left", func() bool { return len(r.negotiations()) == 0 })
	r.judge()
}

// seatRun is what the run with parties has done and seen.
type seatRun struct {
	*testing.T
	*controlPlane
	random    *rand.Rand
	started   time.Time
	folder    string
	licences  *program
	scheduler *schedulerProcess
	made      int

	mutex sync.Mutex
	// Pods with a seat that run, as the API server has them, and the most at a time; pods that were bound; and those that need a seat.
	running, seen, needing map[string]bool
	most                   int
	// Pods that were bound once the licence server had allocated for them.
	allocated int
	problems  []string
	// Since when nothing has changed of the seats while one is free and a pod waits for one, and the longest time.
	freeSince time.Time
	lastTaken int
	longest   time.Duration
}

func (r *seatRun) say(format string, values ...any) {
	fmt.Printf("%7.1f s  %s\n", time.Since(r.started).Seconds(), fmt.Sprintf(format, values...))
}

// state is the file in which the licence server remembers its seats.
func (r *seatRun) state() string { return filepath.Join(r.folder, "seats.json") }

// create creates the kind of decisions, and nodes in three zones.
func (r *seatRun) create() {
	ctx := context.Background()
	text, err := os.ReadFile("../../podnegotiations.yaml")
	check(r, err)
	definition, err := yaml.YAMLToJSON(text)
	check(r, err)
	created := r.client.Discovery().RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(definition).Do(ctx)
	check(r, created.Error())
	until(r, "the kind is served", func() bool {
		_, err := r.get(podNegotiations)
		return err == nil
	})
	for i := range seatNodes {
		node := evenNode(i, "8")
		node.Name = fmt.Sprintf("zone-%d-%02d", i%3, i)
		node.Labels[corev1.LabelHostname] = node.Name
		_, err := r.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		check(r, err)
	}
}

// get reads a path of the API server, as JSON.
func (r *seatRun) get(path string) ([]byte, error) {
	return r.client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(context.Background())
}

// follow hears of each pod that is bound or gone, and looks now and then at the seats.
func (r *seatRun) follow() {
	stop := make(chan struct{})
	r.Cleanup(func() { close(stop) })
	factory := informers.NewSharedInformerFactory(r.client, 0)
	changed := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			r.bound(pod)
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, object any) { changed(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			r.mutex.Lock()
			defer r.mutex.Unlock()
			delete(r.running, object.(*corev1.Pod).Name)
		},
	})
	check(r, err)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	go func() {
		for ticks := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ticks.C:
				r.look()
			case <-stop:
				ticks.Stop()
				return
			}
		}
	}()
}

func (r *seatRun) problem(format string, values ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, values...))
}

// bound looks at a pod that is bound, once, and has it end after a while.
func (r *seatRun) bound(pod *corev1.Pod) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.seen[pod.Name] {
		return
	}
	r.seen[pod.Name] = true
	if pod.Labels["licence"] == "" {
		return
	}
	r.running[pod.Name] = true
	r.most = max(r.most, len(r.running))
	if hasAllocated(r.licences.text(), pod.Name) {
		r.allocated++
	} else {
		r.problem("%s is bound, and the licence server has allocated nothing for it", pod.Name)
	}
	if pod.Labels["network"] != "" && strings.HasPrefix(pod.Spec.NodeName, "zone-2-") {
		r.problem("%s is bound to %s, which the network does not serve", pod.Name, pod.Spec.NodeName)
	}
	if text, err := r.get(podNegotiations + "/" + pod.Name + "-" + string(pod.UID)); err != nil {
		r.problem("%s is bound, and has no PodNegotiation: %v", pod.Name, err)
	} else if !strings.Contains(string(text), `"licences"`) {
		r.problem("%s is bound, and its PodNegotiation does not name the party: %s", pod.Name, text)
	}
	life := shortestLife + time.Duration(r.random.Int64N(int64(longestLife-shortestLife)))
	time.AfterFunc(life, func() {
		err := r.client.CoreV1().Pods("default").Delete(context.Background(), pod.Name, metav1.DeleteOptions{})
		if err != nil {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.problem("%s does not end: %v", pod.Name, err)
		}
	})
}

// hasAllocated tells whether the licence server has said that it has allocated for a pod, which it does before it answers.
func hasAllocated(log, pod string) bool {
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, "told to allocate for default/"+pod+" on ") && strings.Contains(line, ": allocated on ") {
			return true
		}
	}
	return false
}

// look notes how long nothing has changed of the seats while one is free and a pod waits for one. The first pod may wait for more.
func (r *seatRun) look() {
	taken := r.taken()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	waits := false
	for name := range r.needing {
		waits = waits || !r.seen[name]
	}
	isChanged := taken != r.lastTaken
	r.lastTaken = taken
	switch {
	case taken >= seats || !waits || len(r.running) == 0:
		r.freeSince = time.Time{}
	case isChanged || r.freeSince.IsZero():
		r.freeSince = time.Now()
	default:
		r.longest = max(r.longest, time.Since(r.freeSince))
	}
}

// longestFree is the longest time of that kind since it was last asked for. While programs are killed it is shown, and no more: whoever is
// away takes nothing.
func (r *seatRun) longestFree() time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	longest := r.longest
	r.say("at most %v without a change of the seats while one was free and a pod waited", longest.Round(time.Millisecond))
	r.longest, r.freeSince = 0, time.Time{}
	return longest
}

// taken are the seats that the licence server has written down as taken.
func (r *seatRun) taken() int {
	text, err := os.ReadFile(r.state())
	if err != nil {
		return 0
	}
	var calls map[string]string
	if json.Unmarshal(text, &calls) != nil {
		return seats
	}
	return len(calls)
}

// negotiations are the names of the PodNegotiations that there are.
func (r *seatRun) negotiations() []string {
	text, err := r.get(podNegotiations)
	check(r, err)
	var list struct {
		Items []metav1.PartialObjectMetadata `json:"items"`
	}
	check(r, json.Unmarshal(text, &list))
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}

// pods creates pods.
func (r *seatRun) pods(count int) {
	for range count {
		pod := sizedPod(fmt.Sprintf("pod-%d", r.made), nodesift, 0, "10m", map[string]string{})
		none := int64(0)
		pod.Spec.Priority, pod.Spec.TerminationGracePeriodSeconds = nil, &none
		if r.made%2 == 0 {
			pod.Labels["licence"] = "yes"
			r.mutex.Lock()
			r.needing[pod.Name] = true
			r.mutex.Unlock()
		}
		if r.made%10 == 0 {
			pod.Labels["network"] = "yes"
		}
		r.made++
		_, err := r.client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
		check(r, err)
	}
}

func (r *seatRun) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.seen)
}

func (r *seatRun) isDone() bool { return r.count() == r.made }

// progress waits until some pods more have a seat, so that kills meet pods in each of their states.
func (r *seatRun) progress() {
	before := r.seated()
	r.await("some pods have a seat", func() bool { return r.seated() >= min(before+boundPerKill, len(r.needing)) })
}

// seated is the number of pods that have had a seat.
func (r *seatRun) seated() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	seated := 0
	for name := range r.needing {
		if r.seen[name] {
			seated++
		}
	}
	return seated
}

// await waits for a condition for some minutes: after a kill a pod may wait for its longest pause.
func (r *seatRun) await(what string, condition func() bool) {
	r.Helper()
	for deadline := time.Now().Add(scaled(3 * time.Minute)); !condition(); time.Sleep(10 * time.Millisecond) {
		if !r.scheduler.running() {
			r.Fatalf("kube-scheduler ended:\n%s", tail(r.scheduler.text()))
		}
		if time.Now().After(deadline) {
			r.Fatalf("not in time: %s; %d of %d pods are bound, %d seats are taken, PodNegotiations: %v\nthe licence server says\n%s", what,
				r.count(), r.made, r.taken(), r.negotiations(), tail(r.licences.text()))
		}
	}
	r.say("%s: %d pods, %d seats are taken", what, r.count(), r.taken())
}

// judge compares what the licence server has counted with what the API server has shown.
func (r *seatRun) judge() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	counted := 0
	for _, match := range regexp.MustCompile(`(\d+) at most so far`).FindAllStringSubmatch(r.licences.text(), -1) {
		most, err := strconv.Atoi(match[1])
		check(r, err)
		counted = max(counted, most)
	}
	r.say("seats in use at a time: at most %d by the licence server, at most %d by the pods of the API server, of %d", counted, r.most, seats)
	r.say("%d pods with a seat were bound, %d of them after it was allocated", len(r.needing), r.allocated)
	if counted > seats || r.most > seats || r.most > counted {
		r.Errorf("more seats were in use than there are, or than were given")
	}
	if counted < seats {
		r.Errorf("seats were never scarce: the run shows nothing")
	}
	for _, problem := range r.problems {
		r.Error(problem)
	}
	r.say("%d problems; the sidecar and the licence server were killed %d times each, kube-scheduler %d times", len(r.problems), seatKills, schedulerKills)
}
