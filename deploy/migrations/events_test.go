package main

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
)

// The fake cluster has the Event, and cannot merge as an API server does: the patch is looked at and answered here.
func TestAnEventIsMadeOnceAndThenCounted(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{eventKind: "EventList"}
	cluster := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	made, patched := make(chan *corev1.Event, 1), make(chan k8stesting.PatchAction, 1)
	cluster.PrependReactor("create", "events", func(action k8stesting.Action) (bool, runtime.Object, error) {
		object := action.(k8stesting.CreateAction).GetObject()
		event := &corev1.Event{}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, event)
		}
		if err != nil {
			t.Error(err)
		}
		made <- event
		return false, nil, nil
	})
	cluster.PrependReactor("patch", "events", func(action k8stesting.Action) (bool, runtime.Object, error) {
		patch := action.(k8stesting.PatchAction)
		patched <- patch
		object, err := cluster.Tracker().Get(eventKind, patch.GetNamespace(), patch.GetName())
		return true, object, err
	})
	recorder, events := newRecorder(cluster)
	defer events.Shutdown()
	node := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}
	recorder.Event(node, corev1.EventTypeWarning, "AboveWatermark", "reserved is 95 of 100 of cpu")
	event := <-made
	if event.InvolvedObject != *node || event.Reason != "AboveWatermark" || event.Type != corev1.EventTypeWarning ||
		event.Message != "reserved is 95 of 100 of cpu" || event.Source.Component != "nodesift-migrations" || event.Count != 1 {
		t.Errorf("it is %+v", event)
	}
	// Of an object without a namespace.
	if event.Namespace != "default" || event.APIVersion != "v1" || event.Kind != "Event" {
		t.Errorf("it is a %s %s in %q", event.APIVersion, event.Kind, event.Namespace)
	}
	recorder.Event(node, corev1.EventTypeWarning, "AboveWatermark", "reserved is 95 of 100 of cpu")
	patch := <-patched
	var counted corev1.Event
	if err := json.Unmarshal(patch.GetPatch(), &counted); err != nil {
		t.Fatal(err)
	}
	if patch.GetName() != event.Name || patch.GetNamespace() != event.Namespace || patch.GetPatchType() != types.StrategicMergePatchType || counted.Count != 2 {
		t.Errorf("%s %s of %s: %s", patch.GetPatchType(), patch.GetName(), patch.GetNamespace(), patch.GetPatch())
	}
}

func TestWhatTheAPIServerSaysOfAnEventIsPassedOn(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{eventKind: "EventList"}
	sink := eventSink{fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)}
	event := &corev1.Event{Reason: "AboveWatermark"}
	event.Name, event.Namespace = "e", "default"
	if _, err := sink.Update(event); !apierrors.IsNotFound(err) {
		t.Errorf("an event that is not there: %v", err)
	}
	made, err := sink.Create(event)
	if err != nil || made.Name != "e" || made.Reason != "AboveWatermark" {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := sink.Create(event); !apierrors.IsAlreadyExists(err) {
		t.Errorf("an event that is there: %v", err)
	}
	event.Reason = "BelowWatermark"
	if changed, err := sink.Update(event); err != nil || changed.Reason != "BelowWatermark" {
		t.Errorf("%+v, %v", changed, err)
	}
}
