package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

var (
	reserved = mark{Sum: "reserved", Of: "cpu", Above: 90, Below: 80}
	alarming = mark{Sum: "reserved", Of: "cpu", Above: 99, Below: 98}
)

// fakeSidecar has a state, and tells what is sent.
type fakeSidecar struct {
	state atomic.Value
	lines chan string
}

func (f *fakeSidecar) start(t *testing.T) sidecar {
	t.Helper()
	f.lines = make(chan string)
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/policy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"accounting":{"watermarks":[{"sum":"reserved","of":"cpu","above":90,"below":80}]}}`)
	})
	mux.HandleFunc("/v1/state", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, f.state.Load()) })
	mux.HandleFunc("/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("since") != "7" {
			t.Errorf("events are asked for since %q", r.URL.Query().Get("since"))
		}
		fmt.Fprintln(w, `{"type":"START","generation":"7","epoch":"1"}`)
		for {
			w.(http.Flusher).Flush()
			select {
			case text := <-f.lines:
				fmt.Fprintln(w, text)
			case <-r.Context().Done():
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return reach(server.URL)
}

// pod is one on node n; owners are kinds, that of a controller with a star.
func pod(name string, owners ...string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "vms", "uid": "uid-" + name},
		"spec": map[string]any{"nodeName": "n"},
	}}
	var references []metav1.OwnerReference
	for _, kind := range owners {
		isController := kind[0] == '*'
		if isController {
			kind = kind[1:]
		}
		references = append(references, metav1.OwnerReference{APIVersion: "vm.neon.tech/v1", Kind: kind, Name: "of-" + name, UID: "x", Controller: &isController})
	}
	object.SetOwnerReferences(references)
	return object
}

// world is a cluster and a controller that follows a sidecar, and looks when it is told to.
type world struct {
	*testing.T
	*fakeSidecar
	cluster       *fake.FakeDynamicClient
	events        chan string
	looks         chan time.Time
	looked, ended chan struct{}
	// What follow has returned, once it has ended.
	err error
}

func start(t *testing.T, state string, pods ...runtime.Object) *world {
	kinds := map[schema.GroupVersionResource]string{podKind: "PodList", migrationKind: "VirtualMachineMigrationList"}
	w := &world{T: t, fakeSidecar: &fakeSidecar{}, looks: make(chan time.Time), looked: make(chan struct{}, 1), ended: make(chan struct{})}
	w.state.Store(state)
	w.cluster = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, pods...)
	recorder := record.NewFakeRecorder(100)
	w.events = recorder.Events
	c := &controller{sidecar: w.start(t), cluster: w.cluster, recorder: recorder}
	c.pause = func() <-chan time.Time {
		w.looked <- struct{}{}
		return w.looks
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.err = c.follow(ctx)
		close(w.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-w.ended
	})
	receive(w, w.looked)
	return w
}

// receive waits for what the controller sends.
func receive[T any](w *world, from <-chan T) (received T) {
	w.Helper()
	select {
	case received = <-from:
	case <-w.ended:
		w.Fatalf("it has ended: %v", w.err)
	}
	return received
}

// look has the controller look at the cluster, and waits until it has done so.
func (w *world) look() {
	w.Helper()
	select {
	case w.looks <- time.Time{}:
		receive(w, w.looked)
	case <-w.ended:
		w.Fatalf("it has ended: %v", w.err)
	}
}

// crosses has node n cross a watermark, with pods from the heaviest on, and waits until the controller has made an Event of it.
func (w *world) crosses(change string, of mark, pods ...string) string {
	w.Helper()
	return w.nodeCrosses("n", change, of, pods...)
}

func (w *world) nodeCrosses(node, change string, of mark, pods ...string) string {
	w.Helper()
	event := line{Type: change, Node: node, Watermark: of, Amount: 950, Whole: 1000}
	for i, name := range pods {
		event.Pods = append(event.Pods, machine{"uid-" + name, "vms", name, int64(100 - i)})
	}
	text, _ := json.Marshal(event)
	w.lines <- string(text)
	return receive(w, w.events)
}

// migrations are the machines that are migrated, sorted.
func (w *world) migrations() []string {
	list, err := w.cluster.Resource(migrationKind).Namespace("vms").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		name, _, _ := unstructured.NestedString(item.Object, "spec", "vmName")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// leave checks which machines have been migrated so far.
func (w *world) leave(want ...string) {
	w.Helper()
	if got := w.migrations(); !slices.Equal(got, want) {
		w.Fatalf("migrations are %v and not %v", got, want)
	}
}

// end ends the migration of a pod's machine.
func (w *world) end(name, phase string) {
	w.Helper()
	ctx, migrations := context.Background(), w.cluster.Resource(migrationKind).Namespace("vms")
	made, err := migrations.Get(ctx, "leave-uid-"+name, metav1.GetOptions{})
	if err == nil {
		_ = unstructured.SetNestedField(made.Object, phase, "status", "phase")
		_, err = migrations.Update(ctx, made, metav1.UpdateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// finish ends the migration of a pod's machine, and the pod with it.
func (w *world) finish(name string) {
	w.Helper()
	w.end(name, "Succeeded")
	if err := w.cluster.Resource(podKind).Namespace("vms").Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

const nothing = `{"version":{"generation":"7"},"nodes":[]}`

func TestOneMachineAtATimeLeavesUntilTheNodeIsBelow(t *testing.T) {
	w := start(t, nothing, pod("heavy", "ReplicaSet"), pod("a", "*VirtualMachine"), pod("b", "*VirtualMachine"), pod("c", "*VirtualMachine"))
	w.crosses("ABOVE", reserved, "heavy", "gone", "a", "b", "c")
	w.look() // One is gone: the node may be below.
	w.leave()
	for range 3 {
		w.look()
		w.leave("of-a")
	}
	w.finish("a")
	w.look()
	w.leave("of-a")
	w.look()
	w.leave("of-a", "of-b")
	w.crosses("BELOW", reserved)
	w.finish("b")
	w.look()
	w.look()
	w.leave("of-a", "of-b")
}

func TestNoOtherMachineLeavesBeforeTheNodeIsSaidToBeBelow(t *testing.T) {
	for _, looksBetween := range []bool{false, true} {
		w := start(t, nothing, pod("a", "*VirtualMachine"), pod("b", "*VirtualMachine"))
		w.crosses("ABOVE", reserved, "a", "b")
		w.look()
		w.finish("a")
		// The sidecar tells of the pod first, and then of the node.
		w.lines <- `{"type":"REMOVE","generation":"8","uid":"uid-a","namespace":"vms","name":"a","node":"n"}`
		if looksBetween {
			w.look()
		}
		w.crosses("BELOW", reserved)
		w.look()
		w.look()
		w.leave("of-a")
	}
}

func TestAMachineThatHasMovedAndWhosePodRemainsIsNotMovedAgain(t *testing.T) {
	w := start(t, nothing, pod("a", "*VirtualMachine"), pod("b", "*VirtualMachine"), pod("c", "*VirtualMachine"))
	w.crosses("ABOVE", reserved, "a", "b", "c")
	w.look()
	w.end("a", "Succeeded")
	w.look() // The node may be below.
	w.leave("of-a")
	w.look()
	w.leave("of-a", "of-b")
	w.end("b", "Failed")
	w.look()
	w.leave("of-a", "of-b", "of-c")
}

func TestOneMachineLeavesANodeThatIsAboveSeveralWatermarks(t *testing.T) {
	w := start(t, nothing, pod("a", "*VirtualMachine"), pod("b", "*VirtualMachine"), pod("c", "*VirtualMachine"))
	w.crosses("ABOVE", reserved, "a", "b")
	w.look()
	w.crosses("ABOVE", alarming, "c", "b", "a")
	w.look()
	w.crosses("ABOVE", reserved, "b", "a") // As after a restart of the sidecar.
	w.look()
	w.leave("of-a")
}

func TestCrossingsAreEventsOnTheNode(t *testing.T) {
	w := start(t, nothing, pod("a", "*VirtualMachine"))
	for change, want := range map[string]string{
		"ABOVE": "Warning AboveWatermark reserved is 950 of 1000 of cpu, more than 90%; the heaviest pod is vms/a with 100",
		"BELOW": "Normal BelowWatermark reserved is 950 of 1000 of cpu, no more than 80%; the heaviest pod is vms/a with 100",
	} {
		if told := w.crosses(change, reserved, "a"); told != want {
			t.Errorf("%q and not %q", told, want)
		}
	}
	if told := w.crosses("BELOW", reserved); strings.Contains(told, "heaviest") {
		t.Errorf("%q names a pod", told)
	}
}

func TestAMachineThatLeavesAlreadyIsWaitedForAndOneThatHasComeStays(t *testing.T) {
	leaving := pod("leaving", "VirtualMachineMigration", "*VirtualMachine")
	w := start(t, nothing, pod("come", "*VirtualMachineMigration", "VirtualMachine"), leaving, pod("a", "*VirtualMachine"))
	w.crosses("ABOVE", reserved, "come", "a", "leaving")
	w.look()
	w.look()
	w.leave()
	if err := w.cluster.Resource(podKind).Namespace("vms").Delete(context.Background(), "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.look()
	w.leave()
	w.look()
	w.leave("of-a")
}

func TestAPodThatHasTheNameOfOneThatIsGoneStays(t *testing.T) {
	again := pod("a", "*VirtualMachine")
	again.SetUID("uid-other")
	w := start(t, nothing, again)
	w.crosses("ABOVE", reserved, "a")
	w.look()
	w.look()
	w.leave()
}

func TestANodeThatIsAboveAtTheStartIsRelieved(t *testing.T) {
	w := start(t, `{"version":{"generation":"7"},"nodes":[
		{"name":"n","allocatable":{"cpu":1000},"sums":{"reserved":901},"ownPods":[
			{"uid":"uid-a","namespace":"vms","name":"a","sums":{"reserved":1}},{"uid":"uid-b","namespace":"vms","name":"b","sums":{"reserved":900}}]},
		{"name":"m","allocatable":{"cpu":1000},"sums":{"reserved":900},"ownPods":[{"uid":"uid-c","namespace":"vms","name":"c","sums":{"reserved":900}}]}]}`,
		pod("a", "*VirtualMachine"), pod("b", "*VirtualMachine"), pod("c", "*VirtualMachine"))
	w.look()
	w.leave("of-b")
}

// above is a state in which node n is above, with pods from the heaviest on.
func above(pods ...string) string {
	var own []string
	for i, name := range pods {
		own = append(own, fmt.Sprintf(`{"uid":"uid-%s","namespace":"vms","name":"%s","sums":{"reserved":%d}}`, name, name, 100-i))
	}
	return fmt.Sprintf(`{"version":{"generation":"7"},"nodes":[{"name":"n","allocatable":{"cpu":1000},"sums":{"reserved":950},"ownPods":[%s]}]}`,
		strings.Join(own, ","))
}

func TestANodeThatNoMachineCanLeaveHoldsUpNothing(t *testing.T) {
	var text bytes.Buffer
	log.SetOutput(&text)
	defer log.SetOutput(os.Stderr)
	other := pod("a", "*VirtualMachine")
	if err := unstructured.SetNestedField(other.Object, "m", "spec", "nodeName"); err != nil {
		t.Fatal(err)
	}
	w := start(t, above("heavy"), pod("heavy", "ReplicaSet"), other)
	for range 3 {
		w.look()
	}
	w.nodeCrosses("m", "ABOVE", reserved, "a")
	w.look()
	w.leave("of-a")
	if said := strings.Count(text.String(), "no machine can leave n,"); said != 1 {
		t.Errorf("said %d times:\n%s", said, text.String())
	}
}

func TestAllMachinesAreLookedAtWhereNoneOfAnEventCanLeave(t *testing.T) {
	w := start(t, nothing, pod("heavy", "ReplicaSet"), pod("light", "*VirtualMachine"))
	w.crosses("ABOVE", reserved, "heavy")
	w.state.Store(above("heavy", "light"))
	w.look()
	w.look()
	w.leave("of-light")
}

func TestAMachineThatHasComeToANodeThatNoOtherCanLeaveLeavesIt(t *testing.T) {
	w := start(t, above("heavy"), pod("heavy", "ReplicaSet"), pod("new", "*VirtualMachine"))
	w.look()
	w.look()
	w.state.Store(above("heavy", "new"))
	w.lines <- `{"type":"ADD","generation":"8","uid":"uid-new","namespace":"vms","name":"new","node":"n"}`
	w.crosses("BELOW", alarming) // Lines are read in their order.
	w.look()
	w.look()
	w.leave("of-new")
}

func TestANodeThatIsRefusedAMigrationHoldsUpNothing(t *testing.T) {
	w := start(t, above("a"), pod("a", "*VirtualMachine"))
	refuses := true
	w.cluster.PrependReactor("create", migrationKind.Resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		return refuses, nil, errors.New("the webhook is away")
	})
	w.look()
	w.crosses("ABOVE", alarming, "a")
	w.leave()
	refuses = false
	w.look()
	w.leave("of-a")
}

func TestTheStateIsReadAnewWhereEventsAreMissing(t *testing.T) {
	w := start(t, nothing)
	w.lines <- `{"type":"LOST"}`
	<-w.ended
	if !errors.Is(w.err, errLost) {
		t.Errorf("it ends with %v", w.err)
	}
}
