package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
)

// eventKind is the kind of a Kubernetes Event.
var eventKind = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// eventSink writes Events with the client that reads pods. That of client-go's typed client would compile the types of every API group,
// two thirds of all that this program depends on.
type eventSink struct{ cluster dynamic.Interface }

var _ record.EventSink = eventSink{}

// newRecorder makes Events of a cluster's objects, which are named by references, until its broadcaster is shut down. Per node 25 at once
// and then one in five minutes; more of one reason in ten minutes become one that is counted.
func newRecorder(cluster dynamic.Interface) (record.EventRecorder, record.EventBroadcaster) {
	events := record.NewBroadcaster()
	events.StartRecordingToSink(eventSink{cluster})
	// A reference needs no scheme to be told its kind.
	return events.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "nodesift-migrations"}), events
}

// Create makes an Event.
func (s eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	object, err := written(event)
	if err != nil {
		return nil, err
	}
	return read(s.in(event).Create(context.Background(), object, metav1.CreateOptions{}))
}

// Update replaces an Event.
func (s eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	object, err := written(event)
	if err != nil {
		return nil, err
	}
	return read(s.in(event).Update(context.Background(), object, metav1.UpdateOptions{}))
}

// Patch changes an Event, mostly its count.
func (s eventSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return read(s.in(event).Patch(context.Background(), event.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{}))
}

// in is the client of an Event's namespace.
func (s eventSink) in(event *corev1.Event) dynamic.ResourceInterface {
	return s.cluster.Resource(eventKind).Namespace(event.Namespace)
}

func written(event *corev1.Event) (*unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err != nil {
		return nil, err
	}
	written := &unstructured.Unstructured{Object: object}
	written.SetAPIVersion("v1")
	written.SetKind("Event")
	return written, nil
}

func read(object *unstructured.Unstructured, err error) (*corev1.Event, error) {
	if err != nil {
		return nil, err
	}
	event := &corev1.Event{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, event)
	return event, err
}
