package nodesift_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// A pod that no sidecar knows yet, on a sample cluster of 298 nodes.
var web = nodesift.PodJSON([]byte(`{
	"metadata": {"namespace": "default", "name": "web"},
	"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "24", "memory": "1Gi"}}}]}
}`))

// A node of that cluster.
const host = "ip-10-0-0-17.eu-central-1.compute.internal"

func Example() {
	// In a pod: unix:///run/nodesift/nodesift.sock
	client, err := nodesift.Dial(target)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	nodes, err := client.Index().Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	set, err := client.Feasible(ctx, web)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s fits %d of %d nodes\n", set.Pod(), set.Len(), nodes.Len())
	if !set.Fits(host) {
		predicate, code, reasons := set.Why(host)
		fmt.Println(predicate, code, reasons)
	}
	// Output:
	// default/web fits 43 of 298 nodes
	// NodeResourcesFit UnschedulableAndUnresolvable [Insufficient cpu]
}

func ExampleClient_Assume() {
	client, err := nodesift.Dial(target, nodesift.Timeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	small := nodesift.PodJSON([]byte(`{"metadata": {"namespace": "default", "name": "small", "uid": "uid-small"}}`))
	set, err := client.Feasible(ctx, small)
	if err != nil {
		log.Fatal(err)
	}
	for node := range set.Feasible() {
		assumed, err := client.Assume(ctx, small, node, nodesift.Check())
		if errors.Is(err, nodesift.ErrDoesNotFit) {
			continue // another core was faster
		}
		if err != nil {
			log.Fatal(err)
		}
		// Every call from here on counts the pod on the node. The core binds it; where that fails, it forgets it.
		was, err := client.Forget(ctx, nodesift.PodUID(assumed.UID))
		fmt.Println(assumed.Pod, was, err)
		break
	}
	// Output: default/small true <nil>
}

func ExampleWithOverlay() {
	client, err := nodesift.Dial(target)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	// Would a node of another kind help?
	larger := nodesift.NodeJSON([]byte(`{
		"metadata": {"name": "larger"},
		"status": {"allocatable": {"cpu": "96", "memory": "384Gi", "pods": "110"}}
	}`))
	set, err := client.Feasible(context.Background(), web, nodesift.WithOverlay(nodesift.Overlay{Nodes: []nodesift.Node{larger}}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Fits("larger"))
	// Output: true
}

func ExampleSet_Failures() {
	client, err := nodesift.Dial(target)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	set, err := client.Feasible(context.Background(), web)
	if errors.Is(err, nodesift.ErrFault) || errors.Is(err, nodesift.ErrStale) {
		log.Fatal("not to be decided upon: ", err)
	} else if err != nil {
		log.Fatal(err)
	}
	for _, failure := range set.Failures() {
		fmt.Println(failure.Count, failure.Predicate, failure.Code, failure.Reasons)
	}
	// Output:
	// 12 NodeUnschedulable UnschedulableAndUnresolvable [node(s) were unschedulable]
	// 71 TaintToleration UnschedulableAndUnresolvable [node(s) had untolerated taint(s)]
	// 10 NodeResourcesFit Unschedulable [Insufficient cpu]
	// 162 NodeResourcesFit UnschedulableAndUnresolvable [Insufficient cpu]
}
