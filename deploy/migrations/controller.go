package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
)

// Kinds that the controller reads and makes.
var (
	podKind       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	migrationKind = schema.GroupVersionResource{Group: "vm.neon.tech", Version: "v1", Resource: "virtualmachinemigrations"}
)

// errLost is why the state is read anew: events are missing.
var errLost = errors.New("events are missing")

// controller has machines leave nodes that are above a watermark.
type controller struct {
	sidecar sidecar
	cluster dynamic.Interface
	// Makes Kubernetes Events about nodes. It limits how many, and waits for none.
	recorder record.EventRecorder
	// Ends with the next look at the cluster. It begins after each look, so that the stream is read between any two, however long they take.
	pause func() <-chan time.Time
	above map[crossed]*excess
}

// excess is what a node has above a watermark.
type excess struct {
	// Those that may leave, the heaviest first.
	machines []machine
	// Whether they are all of the node, from the state. An event names the ten heaviest pods, and others may have come since.
	all bool
	// Whether the log has it that none can leave.
	told bool
}

// follow reads the state, and the events after it, until it has to be read anew.
func (c *controller) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	above, since, err := c.sidecar.above(ctx)
	if err != nil {
		return err
	}
	c.above = above
	lines, err := c.sidecar.events(ctx, since)
	if err != nil {
		return err
	}
	look := c.pause()
	for {
		select {
		case <-look:
			c.relieve(ctx)
			look = c.pause()
		case next, open := <-lines:
			switch place := (crossed{next.Node, next.Watermark}); {
			case !open:
				return errors.New("the stream of events has ended")
			case next.Type == "LOST", next.Type == "START" && next.Generation != since:
				return errLost
			case next.Type == "ABOVE":
				c.above[place] = &excess{machines: next.Pods}
				c.tell(next, corev1.EventTypeWarning, "AboveWatermark", "more", next.Watermark.Above)
			case next.Type == "BELOW":
				delete(c.above, place)
				c.tell(next, corev1.EventTypeNormal, "BelowWatermark", "no more", next.Watermark.Below)
			case next.Type == "ADD":
				for place, over := range c.above {
					over.all = over.all && place.node != next.Node
				}
			}
		}
	}
}

// tell makes a Kubernetes Event on the node of a crossing, for `kubectl describe node`.
func (c *controller) tell(crossing line, kind, reason, share string, percent int64) {
	// As kubelets name a node: its name stands for its UID.
	node := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: crossing.Node, UID: types.UID(crossing.Node)}
	text := fmt.Sprintf("%s is %d of %d of %s, %s than %d%%", crossing.Watermark.Sum, crossing.Amount, crossing.Whole, crossing.Watermark.Of, share, percent)
	if len(crossing.Pods) > 0 {
		heaviest := crossing.Pods[0]
		text += fmt.Sprintf("; the heaviest pod is %s/%s with %d", heaviest.Namespace, heaviest.Name, heaviest.Amount)
	}
	c.recorder.Event(node, kind, reason, text)
}

// relieve sees to it that a machine is leaving each node that is above.
func (c *controller) relieve(ctx context.Context) {
	places := map[string][]crossed{}
	for place := range c.above {
		places[place.node] = append(places[place.node], place)
	}
	var stuck []crossed
	for node, crossings := range places {
		relieved, err := c.relieveNode(ctx, node, crossings)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.Printf("%s: %v", node, err) // The next look tries again, and other nodes need not wait for it.
		} else if !relieved {
			stuck = append(stuck, crossings...)
		}
	}
	if err := c.widen(ctx, stuck); err != nil {
		log.Print("reading which other machines there are: ", err)
	}
}

// relieveNode has a machine leave a node, unless one is leaving it or has just left; false where none can.
func (c *controller) relieveNode(ctx context.Context, node string, crossings []crossed) (bool, error) {
	var migrate func() error
	left := false
	for _, place := range crossings {
		over := c.above[place]
		for at := 0; at < len(over.machines); {
			heavy := over.machines[at]
			is, name, err := c.standing(ctx, node, heavy)
			if err != nil {
				return false, err
			}
			switch is {
			case leaving:
				return true, nil
			case gone, staying:
				left = left || is == gone
				over.machines = slices.Delete(over.machines, at, at+1)
				continue
			case movable:
				if migrate == nil {
					migrate = func() error { return c.migrate(ctx, place, heavy, name) }
				}
			}
			at++
		}
	}
	// The sidecar tells that the node is below after its pod is gone: until the next look it may.
	if left || migrate == nil {
		return left, nil
	}
	return true, migrate()
}

// widen has all machines be looked at where none can leave of those that are known. Where no machine at all can, the log has it, once.
func (c *controller) widen(ctx context.Context, stuck []crossed) error {
	var now map[crossed]*excess
	for _, place := range stuck {
		over := c.above[place]
		if !over.all {
			if now == nil {
				var err error
				if now, _, err = c.sidecar.above(ctx); err != nil {
					return err
				}
			}
			over.all = true
			if whole := now[place]; whole != nil {
				over.machines = whole.machines
			}
		} else if !over.told {
			over.told = true
			log.Printf("no machine can leave %s, which has more than %d%% of %s as %s", place.node, place.mark.Above, place.mark.Of, place.mark.Sum)
		}
	}
	return nil
}

// standing is whether a machine may leave its node.
type standing int

const (
	// It cannot leave: it is no machine, or its migration has failed.
	staying standing = iota
	// It has just come as a target, and may leave once that migration has ended.
	arriving
	movable
	leaving
	gone
)

// standing tells whether a machine may leave its node, and the name of its VirtualMachine.
func (c *controller) standing(ctx context.Context, node string, heavy machine) (standing, string, error) {
	pod, err := c.cluster.Resource(podKind).Namespace(heavy.Namespace).Get(ctx, heavy.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return gone, "", nil
	} else if err != nil {
		return staying, "", err
	}
	if string(pod.GetUID()) != heavy.UID {
		return gone, "", nil // Another pod has its name.
	}
	name := ""
	for _, owner := range pod.GetOwnerReferences() {
		switch isController := owner.Controller != nil && *owner.Controller; {
		case owner.Kind == "VirtualMachine":
			name = owner.Name
		case owner.Kind == "VirtualMachineMigration" && isController:
			return arriving, "", nil // It has made the pod.
		case owner.Kind == "VirtualMachineMigration":
			return leaving, "", nil
		}
	}
	if on, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName"); name == "" || on != node {
		return staying, "", nil
	}
	made, err := c.cluster.Resource(migrationKind).Namespace(heavy.Namespace).Get(ctx, migrationName(heavy), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return movable, name, nil
	} else if err != nil {
		return staying, "", err
	}
	switch phase, _, _ := unstructured.NestedString(made.Object, "status", "phase"); phase {
	case "Succeeded":
		return gone, "", nil
	case "Failed":
		return staying, "", nil
	}
	return leaving, "", nil
}

// migrationName is of a pod: it is moved once, and the machine has another pod afterwards.
func migrationName(heavy machine) string { return "leave-" + heavy.UID }

// migrate has a machine leave its node.
func (c *controller) migrate(ctx context.Context, place crossed, heavy machine, name string) error {
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": migrationKind.GroupVersion().String(), "kind": "VirtualMachineMigration",
		"metadata": map[string]any{"name": migrationName(heavy), "namespace": heavy.Namespace},
		"spec":     map[string]any{"vmName": name, "preventMigrationToSameHost": true, "incremental": true},
	}}
	_, err := c.cluster.Resource(migrationKind).Namespace(heavy.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // Another copy of the controller was first.
	} else if err != nil {
		return err
	}
	log.Printf("%s/%s leaves %s, which has more than %d%% of %s as %s", heavy.Namespace, name, place.node, place.mark.Above, place.mark.Of, place.mark.Sum)
	return nil
}
