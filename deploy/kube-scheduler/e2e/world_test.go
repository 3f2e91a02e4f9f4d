package e2e

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

// The names of the two schedulers, which are two profiles of one Scheduler.
const (
	stock    = "stock"
	nodesift = "nodesift-scheduler"
)

// allNodes is percentageOfNodesToScore with which no node is left out.
const allNodes = 100

// world is a Scheduler over a cluster, and a sidecar over the same one.
type world struct {
	api       *apiServer
	sidecar   *sidecar
	client    kubernetes.Interface
	factory   informers.SharedInformerFactory
	scheduler *scheduler.Scheduler
	snapshot  *cache.Snapshot
	ctx       context.Context
}

// worldOptions say what differs between tests.
type worldOptions struct {
	// 0 is kube-scheduler's adaptive number.
	percentage int32
	// Makes profiles of the two.
	profiles func(stock, nodesift config.KubeSchedulerProfile) []config.KubeSchedulerProfile
	// Threads of the scheduler; as many as kube-scheduler has where it is 0.
	threads int32
	// Takes part in preemption, and so learns all candidates.
	extender bool
	// The configuration of the scheduler and the sidecar's policy; the shipped ones where none is named.
	config, policy string
	// More arguments of the sidecar.
	sidecar []string
}

// startWorld starts a sidecar and a Scheduler that watch an API server, and waits until both have its objects.
func startWorld(t testing.TB, api *apiServer, with worldOptions) *world {
	t.Helper()
	w := &world{api: api}
	w.sidecar = startSidecar(t, api.kubeconfig(t), append([]string{"--policy", ofScheduler(t, cmp.Or(with.policy, shippedPolicy))}, with.sidecar...)...)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	t.Cleanup(cancel)
	w.ctx = ctx
	var err error
	w.client, err = kubernetes.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})
	check(t, err)
	w.factory = scheduler.NewInformerFactory(w.client, 0)
	profiles := []config.KubeSchedulerProfile{
		profileOf(t, "", stock, ""), profileOf(t, cmp.Or(with.config, shippedConfig), nodesift, w.sidecar.socket),
	}
	if with.profiles != nil {
		profiles = with.profiles(profiles[0], profiles[1])
	}
	choices := []scheduler.Option{
		scheduler.WithProfiles(profiles...),
		scheduler.WithPercentageOfNodesToScore(&with.percentage),
		scheduler.WithFrameworkOutOfTreeRegistry(runtime.Registry{plugin.Name: plugin.New, plugin.HundredsName: plugin.NewHundreds}),
	}
	if with.threads > 0 {
		choices = append(choices, scheduler.WithParallelism(with.threads))
	}
	if with.extender {
		choices = append(choices, scheduler.WithExtenders(config.Extender{
			URLPrefix: api.URL + "/extender", PreemptVerb: "preempt", NodeCacheCapable: true, HTTPTimeout: metav1Duration(time.Minute),
		}))
	}
	recorders := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	w.scheduler, err = scheduler.New(ctx, w.client, w.factory, nil, recorders, choices...)
	check(t, err)
	w.factory.Start(ctx.Done())
	w.factory.WaitForCacheSync(ctx.Done())
	check(t, w.scheduler.WaitForHandlersSync(ctx))
	w.snapshot = w.scheduler.Profiles[profiles[0].SchedulerName].SnapshotSharedLister().(*cache.Snapshot)
	w.settle(t)
	return w
}

// schedulerVersion is the minor version of the kube-scheduler that these tests are compiled with: 1.36, or what NODESIFT_KUBERNETES says.
func schedulerVersion() string { return cmp.Or(os.Getenv("NODESIFT_KUBERNETES"), "1.36") }

// ofScheduler is a copy of a policy by which the sidecar gives the verdicts of the kube-scheduler beside it, its known bugs included. The
// API server of these tests tells no version.
func ofScheduler(t testing.TB, policy string) string {
	t.Helper()
	text, err := os.ReadFile(policy)
	check(t, err)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	line := fmt.Sprintf("\nspec:\n  kubernetes: %q\n", schedulerVersion())
	check(t, os.WriteFile(path, bytes.Replace(text, []byte("\nspec:\n"), []byte(line), 1), 0o600))
	return path
}

// settle waits until Scheduler and sidecar have the API server's nodes and pods, and takes a new snapshot.
func (w *world) settle(t testing.TB) {
	t.Helper()
	nodes, placed := w.api.counts()
	until(t, "the scheduler has all nodes and pods", func() bool {
		pods, err := w.scheduler.Cache.PodCount()
		check(t, err)
		return pods == placed && w.scheduler.Cache.NodeCount() >= nodes
	})
	w.sidecar.settle(t, w.api.now())
	w.update(t)
}

// update takes a new snapshot, as each scheduling cycle does.
func (w *world) update(t testing.TB) {
	check(t, w.scheduler.Cache.UpdateSnapshot(logr.Discard(), w.snapshot))
}

// verdict is what a profile says of a pod.
type verdict struct {
	// Per node that cannot run it, the code and the reasons.
	nodes map[string]string
	// What users read where no node can run it; empty where one can.
	message string
}

// judge runs PreFilter, and Filter for every node; where no node is left, the whole cycle as well.
func (w *world) judge(t testing.TB, profile string, pod *corev1.Pod) verdict {
	t.Helper()
	info, err := framework.NewPodInfo(pod)
	check(t, err)
	queued := &framework.QueuedPodInfo{PodInfo: info}
	of := w.scheduler.Profiles[profile]
	state := framework.NewCycleState()
	said := verdict{nodes: map[string]string{}}
	nodes, err := w.snapshot.List()
	check(t, err)
	result, status, plugins := of.RunPreFilterPlugins(w.ctx, state, pod)
	for _, node := range nodes {
		name := node.Node().Name
		switch {
		case !status.IsSuccess():
			said.nodes[name] = statusText(status)
		case !result.AllNodes() && !result.NodeNames.Has(name):
			said.nodes[name] = fmt.Sprintf("not named by %s", strings.Join(plugins.UnsortedList(), ","))
		default:
			if status := of.RunFilterPluginsWithNominatedPods(w.ctx, state, pod, node); !status.IsSuccess() {
				said.nodes[name] = statusText(status)
			}
		}
	}
	if len(said.nodes) == len(nodes) {
		_, err := w.scheduler.SchedulePod(w.ctx, of, framework.NewCycleState(), queued)
		if err == nil {
			t.Fatalf("%s: %s/%s was placed on a node that Filter rejects", profile, pod.Namespace, pod.Name)
		}
		said.message = runningPlugin.ReplaceAllString(err.Error(), "running a plugin: ")
	}
	return said
}

// statusText has the reasons sorted, as messages have them.
func statusText(status *fwk.Status) string {
	text := fmt.Sprintf("%s: %s", status.Code(), strings.Join(slices.Sorted(slices.Values(status.Reasons())), "; "))
	return runningPlugin.ReplaceAllString(text, "running a plugin: ")
}

// runningPlugin is what the framework puts before an error, with the name of the plugin. The sidecar's answer has it already, and
// the framework adds that it runs this plugin.
var runningPlugin = regexp.MustCompile(`(running (PreFilter plugin )?"\w+"( filter plugin)?: )+`)

// profileOf reads the only profile of a configuration file, the default one where none is named, under another name.
func profileOf(t testing.TB, file, name, socket string) config.KubeSchedulerProfile {
	t.Helper()
	if file == "" {
		file = filepath.Join(t.TempDir(), "config.yaml")
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
		check(t, os.WriteFile(file, []byte(text), 0o600))
	}
	read, err := options.LoadConfigFromFile(logr.Discard(), file)
	check(t, err)
	profile := read.Profiles[0]
	profile.SchedulerName = name
	if socket != "" {
		connect(t, &profile, socket)
	}
	return profile
}

// documents are clusters with pods to place, as the tests of the sidecar have them.
func documents(t testing.TB) []string {
	paths, err := filepath.Glob(filepath.Join(dataFolder, "*.cluster.json.gz"))
	check(t, err)
	if len(paths) == 0 {
		t.Fatalf("no clusters in %s", dataFolder)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(path), ".cluster.json.gz")
	}
	slices.Sort(names)
	return names
}

// dataFolder has clusters and the verdicts of kube-scheduler's plugins.
var dataFolder = filepath.Join("..", "..", "..", "tests", "data")

// readList reads the items of a v1 List, gzipped.
func readList(t testing.TB, path string) []any {
	t.Helper()
	file, err := os.Open(path)
	check(t, err)
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	check(t, err)
	text, err := io.ReadAll(unpacked)
	check(t, err)
	var list struct{ Items []json.RawMessage }
	check(t, json.Unmarshal(text, &list))
	items := make([]any, len(list.Items))
	for i, item := range list.Items {
		items[i] = item
	}
	return items
}
