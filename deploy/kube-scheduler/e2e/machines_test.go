package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	sdk "github.com/nodesift/nodesift/sdk/core/go"
)

// Annotations of machines.
const (
	hasAnnotation       = "vm.neon.tech/resources"
	approvedAnnotation  = "internal.autoscaling.neon.tech/resources-approved"
	requestedAnnotation = "internal.autoscaling.neon.tech/resources-requested"
)

const migrationsPath = "/apis/vm.neon.tech/v1/namespaces/default/virtualmachinemigrations"

// tide is the time in which all machines together come to ask for more, and for less again.
const tide = 15 * time.Second

// machine is a virtual machine of the run. Its pod has another name after each move.
type machine struct {
	name string

	// By the mutex of the run.
	podName, uid, node string
	approved           int64
	// Whether it is about to move, or its size to change: one of both at a time.
	busy  bool
	moves int
}

func newMachine(number int) *machine {
	name := fmt.Sprintf("vm-%d", number)
	return &machine{name: name, podName: name, approved: leastMilli}
}

func isBound(m *machine) bool { return m.node != "" }

// pod is the pod of a machine that is made anew.
func (m *machine) pod(name string) *corev1.Pod {
	pod := sizedPod(name, nodesift, 0, "1m", map[string]string{"vm": m.name})
	none, isController := int64(0), true
	pod.Spec.Priority, pod.Spec.TerminationGracePeriodSeconds = nil, &none
	pod.Annotations = map[string]string{
		hasAnnotation:      fmt.Sprintf(`{"cpus":{"use":"%dm"},"memorySlots":{"use":1},"memorySlotSize":"256Mi"}`, m.approved),
		approvedAnnotation: sizeText(m.approved), requestedAnnotation: sizeText(m.approved),
	}
	pod.OwnerReferences = []metav1.OwnerReference{ownerOf("VirtualMachine", m.name, isController)}
	return pod
}

func sizeText(milli int64) string { return fmt.Sprintf(`{"vCPUs":"%dm","mem":"256Mi"}`, milli) }

func ownerOf(kind, name string, isController bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "vm.neon.tech/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &isController}
}

// approvedMilli is what a pod has approved, read from its annotation alone.
func approvedMilli(pod *corev1.Pod) int64 {
	var size struct {
		CPU resource.Quantity `json:"vCPUs"`
	}
	if json.Unmarshal([]byte(pod.Annotations[approvedAnnotation]), &size) != nil {
		return 0
	}
	return size.CPU.MilliValue()
}

// avoided is the node that a pod must not be on; empty where there is none.
func avoided(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil {
		return ""
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
}

func (r *machineRun) count(is func(*machine) bool) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	count := 0
	for _, m := range r.machines {
		if is(m) {
			count++
		}
	}
	return count
}

// follow hears of pods that are bound, and has machines grow, shrink and move until the returned function is called.
func (r *machineRun) follow() func() {
	factory := informers.NewSharedInformerFactory(r.client, 0)
	bound := func(object any) {
		pod := object.(*corev1.Pod)
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if m := r.machines[pod.Labels["vm"]]; m != nil && m.podName == pod.Name {
			m.uid, m.node = string(pod.UID), pod.Spec.NodeName
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: bound, UpdateFunc: func(_, pod any) { bound(pod) }})
	check(r, err)
	factory.Start(r.stop)
	factory.WaitForCacheSync(r.stop)
	var group sync.WaitGroup
	every := func(period time.Duration, do func()) {
		group.Go(func() {
			for {
				select {
				case <-r.stop:
					return
				case <-time.After(period):
					do()
				}
			}
		})
	}
	every(200*time.Millisecond, r.look)
	every(time.Second, func() { r.move("") })
	every(500*time.Millisecond, r.obeyMigrations)
	for agent := range agents {
		every(time.Second, func() {
			for i, name := range r.names() {
				if i%agents == agent {
					r.resize(name)
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(r.stop)
		group.Wait()
	})
}

// take has one thing at a time happen to a machine that is bound; false where something else does.
func (r *machineRun) take(name string) (m machine, ok bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.machines[name]; known != nil && !known.busy && known.node != "" {
		known.busy = true
		return *known, true
	}
	return m, false
}

// give lets the next thing happen, after a change.
func (r *machineRun) give(name string, change func(*machine)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(r.machines[name])
	r.machines[name].busy = false
}

func keep(*machine) {}

// resize has a machine ask for another size, and approves it where there is room.
func (r *machineRun) resize(name string) {
	m, ok := r.take(name)
	if !ok {
		return
	}
	// All together they ask for two thirds of the nodes, and then for more than there is.
	level := 1 - math.Cos(2*math.Pi*time.Since(r.started).Seconds()/tide.Seconds())
	r.mutex.Lock()
	size := leastMilli + int64(float64(mostMilli-leastMilli)*min(1, r.random.Float64()*level))
	r.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), scaled(30*time.Second))
	defer cancel()
	var err error
	if size <= m.approved {
		_, err = r.annotate(ctx, m.podName, size, size)
	} else {
		err = r.reserve(ctx, &m, m.node, size-m.approved, func() (string, error) { return r.annotate(ctx, m.podName, size, size) })
	}
	refused, approved := errors.Is(err, sdk.ErrDoesNotFit), size
	switch {
	case refused:
		_, _ = r.annotate(ctx, m.podName, m.approved, size)
	case err != nil:
		// Whether it was approved is not known here: the API server knows.
		approved = m.approved
		if pod, failed := r.client.CoreV1().Pods("default").Get(context.Background(), m.podName, metav1.GetOptions{}); failed == nil {
			approved = approvedMilli(pod)
		}
	}
	r.give(name, func(known *machine) {
		switch {
		case refused:
			r.refused++
			// A machine that is about to come is on no node of the API's list yet.
			if r.isRefusedWrongly(m.node, size-m.approved+marginMilli+mostMilli) {
				r.refusedWrongly++
			}
		case err == nil:
			r.changes++
			if size > m.approved {
				r.grown++
			}
			known.approved = approved
		default:
			known.approved = approved
		}
	})
}

// annotate writes what a machine's pod has approved and requested, and returns the version that shows it.
func (r *machineRun) annotate(ctx context.Context, pod string, approved, requested int64) (string, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		approvedAnnotation: sizeText(approved), requestedAnnotation: sizeText(requested),
	}}})
	if err != nil {
		return "", err
	}
	patched, err := r.client.CoreV1().Pods("default").Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return "", err
	}
	return patched.ResourceVersion, nil
}

// move has a machine move to a node that kube-scheduler chooses, as NeonVM does: one of any where none is named. It tells whether it has.
func (r *machineRun) move(name string) bool {
	if names := r.names(); name == "" && len(names) > 0 {
		r.mutex.Lock()
		name = names[r.random.IntN(len(names))]
		r.mutex.Unlock()
	}
	m, ok := r.take(name)
	if !ok {
		return false
	}
	ctx, pods := context.Background(), r.client.CoreV1().Pods("default")
	migration := ownerOf("VirtualMachineMigration", "move-"+m.name, false)
	owners := func(pod string, of ...metav1.OwnerReference) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": of}})
		if err != nil {
			return err
		}
		_, err = pods.Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	machineOwner := ownerOf("VirtualMachine", m.name, true)
	if owners(m.podName, machineOwner, migration) != nil {
		r.give(name, keep)
		return false
	}
	target := m.pod(fmt.Sprintf("%s-%d", m.name, m.moves+1))
	comes, beside := migration, machineOwner
	isController, isNone := true, false
	comes.Controller, beside.Controller = &isController, &isNone
	target.OwnerReferences = []metav1.OwnerReference{comes, beside}
	target.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{m.node},
		}}}},
	}}}
	made, err := pods.Create(ctx, target, metav1.CreateOptions{})
	for deadline := time.Now().Add(5 * time.Second); err == nil && made.Spec.NodeName == "" && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		made, err = pods.Get(ctx, target.Name, metav1.GetOptions{})
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err != nil || made.Spec.NodeName == "" {
		_ = pods.Delete(ctx, target.Name, now)
		_ = owners(m.podName, machineOwner)
		r.give(name, func(known *machine) { known.moves++ })
		return false
	}
	err = errors.Join(pods.Delete(ctx, m.podName, now), owners(target.Name, machineOwner))
	r.give(name, func(known *machine) {
		known.podName, known.uid, known.node = target.Name, string(made.UID), made.Spec.NodeName
		known.moves++
		r.moved++
		if err != nil {
			r.problem("%s does not move: %v", m.name, err)
		}
	})
	return true
}

// migration is a VirtualMachineMigration.
type migration struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Machine string `json:"vmName"`
	} `json:"spec"`
}

func (r *machineRun) migrations() ([]migration, error) {
	text, err := r.client.Discovery().RESTClient().Get().AbsPath(migrationsPath).SetHeader("Accept", "application/json").DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	var list struct{ Items []migration }
	return list.Items, json.Unmarshal(text, &list)
}

// obeyMigrations moves the machines of which there are migrations, as NeonVM does, and ends these.
func (r *machineRun) obeyMigrations() {
	wanted, err := r.migrations()
	if err != nil {
		return // The test ends.
	}
	for _, one := range wanted {
		if r.move(one.Spec.Machine) {
			r.mutex.Lock()
			r.movedByController++
			r.mutex.Unlock()
		}
		// Also one that has failed: the controller then makes another.
		_ = r.client.Discovery().RESTClient().Delete().AbsPath(migrationsPath + "/" + one.Metadata.Name).Do(context.Background()).Error()
	}
}
