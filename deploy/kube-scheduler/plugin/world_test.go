package plugin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/yaml"
)

// The profiles of a world: kube-scheduler's own, and the plugin's.
const (
	stock = "stock"
	ours  = "ours"
)

// world is kube-scheduler over a cluster in memory, with both profiles.
type world struct {
	t         testing.TB
	ctx       context.Context
	cancel    context.CancelFunc
	client    *fake.Clientset
	factory   informers.SharedInformerFactory
	scheduler *scheduler.Scheduler
	snapshot  *cache.Snapshot
	recorder  *events.FakeRecorder
}

// newWorld starts kube-scheduler with a shipped configuration, whose arguments are changed.
func newWorld(t testing.TB, file string, edit func(*Args), objects ...runtime.Object) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	t.Cleanup(cancel)
	client := fake.NewClientset(objects...)
	w := &world{t: t, ctx: ctx, cancel: cancel, client: client, factory: newInformers(client),
		recorder: events.NewFakeRecorder(1000)}
	all := int32(100)
	made, err := scheduler.New(ctx, client, w.factory, nil,
		func(string) events.EventRecorderLogger { return w.recorder },
		scheduler.WithProfiles(profileFrom(t, "", stock, nil), profileFrom(t, file, ours, edit)),
		scheduler.WithPercentageOfNodesToScore(&all),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{Name: New, HundredsName: NewHundreds}))
	if err != nil {
		t.Fatal(err)
	}
	w.scheduler = made
	w.factory.Start(ctx.Done())
	w.factory.WaitForCacheSync(ctx.Done())
	if err := made.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	w.snapshot = made.Profiles[stock].SnapshotSharedLister().(*cache.Snapshot)
	w.update()
	return w
}

// update takes a snapshot, as each scheduling cycle does.
func (w *world) update() {
	w.t.Helper()
	if err := w.scheduler.Cache.UpdateSnapshot(logr.Discard(), w.snapshot); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) nodes() []fwk.NodeInfo {
	nodes, err := w.snapshot.List()
	if err != nil {
		w.t.Fatal(err)
	}
	return nodes
}

func (w *world) node(name string) fwk.NodeInfo {
	node, err := w.snapshot.Get(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return node
}

// plugin is that of our profile.
func (w *world) plugin() *Plugin {
	for _, extension := range w.scheduler.Profiles[ours].EnqueueExtensions() {
		if plugin, ok := extension.(*Plugin); ok {
			return plugin
		}
	}
	w.t.Fatal("the profile does not have the plugin")
	return nil
}

// cycle runs PreFilter, and Filter for every node that it selects.
func (w *world) cycle(profile string, pod *v1.Pod) (*fwk.Status, map[string]*fwk.Status, fwk.CycleState) {
	of := w.scheduler.Profiles[profile]
	state := framework.NewCycleState()
	result, status, _ := of.RunPreFilterPlugins(w.ctx, state, pod)
	statuses := map[string]*fwk.Status{}
	if !status.IsSuccess() {
		return status, statuses, state
	}
	for _, node := range w.nodes() {
		if result.AllNodes() || result.NodeNames.Has(node.Node().Name) {
			statuses[node.Node().Name] = of.RunFilterPluginsWithNominatedPods(w.ctx, state, pod, node)
		}
	}
	return status, statuses, state
}

// profileFrom reads the profile of a file, kube-scheduler's default one without a file.
func profileFrom(t testing.TB, file, name string, edit func(*Args)) config.KubeSchedulerProfile {
	t.Helper()
	if file == "" {
		file = t.TempDir() + "/default.yaml"
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read, err := options.LoadConfigFromFile(logr.Discard(), file)
	if err != nil {
		t.Fatal(err)
	}
	profile := read.Profiles[0]
	profile.SchedulerName = name
	for i := range profile.PluginConfig {
		if profile.PluginConfig[i].Name != Name {
			continue
		}
		args := &Args{}
		if err := yaml.Unmarshal(profile.PluginConfig[i].Args.(*runtime.Unknown).Raw, args); err != nil {
			t.Fatal(err)
		}
		edit(args)
		raw, err := yaml.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		profile.PluginConfig[i].Args = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeYAML}
	}
	return profile
}

// The shipped configurations.
const (
	full     = "../../kustomize/kube-scheduler/config.yaml"
	additive = "../additive.yaml"
)

// node is a node with 4 CPUs and room for pods.
func node(name string) *v1.Node {
	return st.MakeNode().Name(name).Label("kubernetes.io/hostname", name).
		Capacity(map[v1.ResourceName]string{v1.ResourceCPU: "4", v1.ResourceMemory: "8Gi", v1.ResourcePods: "20"}).Obj()
}

// pod is a pod of our profile that waits.
func pod(name string) *st.PodWrapper {
	return st.MakePod().Namespace("default").Name(name).UID("uid-" + name).SchedulerName(ours)
}

// scaled is a timeout on this machine.
func scaled(timeout time.Duration) time.Duration {
	factor, err := strconv.Atoi(os.Getenv("NODESIFT_TIMEOUT_FACTOR"))
	if err != nil || factor < 1 {
		factor = 1
	}
	return timeout * time.Duration(factor)
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(scaled(20 * time.Second)); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// seeded prints the seed, which NODESIFT_SEED repeats.
func seeded(t testing.TB) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}
