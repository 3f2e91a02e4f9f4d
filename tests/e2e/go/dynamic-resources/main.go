// Command dynamic-resources measures kube-scheduler's own DynamicResources plugin on a cluster with devices, beside which the figures of
// `nodesift-dev bench --devices` are read. It takes the cluster as one JSON object a line on stdin, as the program device-cluster prints it,
// and prints one line of JSON for each pod: how many nodes fit, and the median time of PreFilter and Filter over all nodes, on one thread.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	kubeschedulerv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Measurements of each pod: more take minutes in the largest cluster.
const rounds = 15

// Only the first replica of each pod is measured.
const firstReplica = "-0"

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	objects, err := read(in)
	if err != nil {
		return err
	}
	plugin, err := start(ctx, objects)
	if err != nil {
		return err
	}
	var nodes []fwk.NodeInfo
	var pods []*v1.Pod
	for _, object := range objects {
		switch object := object.(type) {
		case *v1.Node:
			info := framework.NewNodeInfo()
			info.SetNode(object)
			nodes = append(nodes, info)
		case *v1.Pod:
			if strings.HasSuffix(object.Name, firstReplica) {
				pods = append(pods, object)
			}
		}
	}
	for _, pod := range pods {
		feasible, median, err := measure(ctx, plugin, pod, nodes)
		if err != nil {
			return err
		}
		figures := map[string]any{"pod": pod.Name, "nodes": len(nodes), "feasible": feasible, "kube_scheduler_ns": median.Nanoseconds()}
		if err := json.NewEncoder(out).Encode(figures); err != nil {
			return err
		}
	}
	return nil
}

// read decodes one object a line.
func read(in io.Reader) ([]apiruntime.Object, error) {
	var objects []apiruntime.Object
	lines := bufio.NewScanner(in)
	// The longest object is a ResourceSlice, some kilobytes.
	lines.Buffer(nil, 1<<20)
	decoder := clientscheme.Codecs.UniversalDeserializer()
	for lines.Scan() {
		object, _, err := decoder.Decode(lines.Bytes(), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(objects)+1, err)
		}
		objects = append(objects, object)
	}
	return objects, lines.Err()
}

// start makes the plugin with the default arguments and feature gates, over caches that have all objects.
func start(ctx context.Context, objects []apiruntime.Object) (*dynamicresources.DynamicResources, error) {
	metrics.Register()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	resources := factory.Resource().V1()
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: resources.ResourceSlices(),
		ClassInformer: resources.DeviceClasses(),
		KubeClient:    client,
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), resources.ResourceClaims().Informer(), "resource claim", "", nil)
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, factory)
	synced := []cache.DoneChecker{
		slices.HasSyncedChecker(),
		claims.AddEventHandler(cache.ResourceEventHandlerFuncs{}).HasSyncedChecker(),
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		handler, ok := manager.DeviceClassResolver().(cache.ResourceEventHandler)
		if !ok {
			return nil, fmt.Errorf("the resolver of DeviceClasses is a %T", manager.DeviceClassResolver())
		}
		registered, err := resources.DeviceClasses().Informer().AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		synced = append(synced, registered.HasSyncedChecker())
	}
	handle, err := runtime.NewFramework(ctx, nil, nil,
		runtime.WithClientSet(client), runtime.WithInformerFactory(factory), runtime.WithSharedDRAManager(manager))
	if err != nil {
		return nil, err
	}
	defaults := &kubeschedulerv1.DynamicResourcesArgs{}
	scheme.Scheme.Default(defaults)
	args := &config.DynamicResourcesArgs{}
	if err := scheme.Scheme.Convert(defaults, args, nil); err != nil {
		return nil, err
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugin, err := dynamicresources.New(ctx, args, handle, gates)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	cache.WaitFor(ctx, "event handlers", synced...)
	dynamic, ok := plugin.(*dynamicresources.DynamicResources)
	if !ok {
		return nil, fmt.Errorf("the plugin is a %T", plugin)
	}
	return dynamic, nil
}

// measure runs the plugin as a scheduling cycle does that looks at every node.
func measure(ctx context.Context, plugin *dynamicresources.DynamicResources, pod *v1.Pod, nodes []fwk.NodeInfo) (int, time.Duration, error) {
	var times []time.Duration
	feasible := 0
	for range rounds {
		started := time.Now()
		state := framework.NewCycleState()
		if _, status := plugin.PreFilter(ctx, state, pod, nodes); !status.IsSuccess() {
			return 0, 0, fmt.Errorf("%s: PreFilter: %w", pod.Name, status.AsError())
		}
		feasible = 0
		for _, node := range nodes {
			if status := plugin.Filter(ctx, state, pod, node); status.IsSuccess() {
				feasible++
			} else if status.Code() == fwk.Error {
				return 0, 0, fmt.Errorf("%s on %s: %w", pod.Name, node.Node().Name, status.AsError())
			}
		}
		times = append(times, time.Since(started))
	}
	slices.Sort(times)
	return feasible, times[len(times)/2], nil
}
