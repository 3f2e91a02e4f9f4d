package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// notAccepted are documents with objects that no API server accepts, which only the sidecar's own tests can read.
var notAccepted = []string{"057"}

// TestConformance compares what the two profiles say of every pending pod of every document: which nodes can run it, code and
// reasons of the others, and the whole message where there is none.
func TestConformance(t *testing.T) {
	documentCount, pods, pairs, rejected, messages := 0, 0, 0, 0, 0
	for _, name := range documents(t) {
		if slices.Contains(notAccepted, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			api := startAPIServer(t)
			api.put(t, readList(t, filepath.Join(dataFolder, name+".cluster.json.gz"))...)
			api.put(t, pending(t, readList(t, filepath.Join(dataFolder, name+".pods.json.gz")))...)
			w := startWorld(t, api, worldOptions{percentage: allNodes})
			for _, pod := range each[corev1.Pod](t, api, "pods") {
				if pod.Spec.NodeName != "" || pod.Spec.SchedulerName != nodesift {
					continue
				}
				want, got := w.judge(t, stock, &pod), w.judge(t, nodesift, &pod)
				compare(t, pod.Name, want, got)
				pods++
				pairs += w.snapshot.NumNodesInPlacement()
				rejected += len(want.nodes)
				if want.message != "" {
					messages++
				}
			}
			documentCount++
		})
	}
	fmt.Printf("%s: %d documents, %d pods, %d verdicts of which %d reject a node, and %d messages compared with the stock scheduler's of %s\n",
		t.Name(), documentCount, pods, pairs, rejected, messages, schedulerVersion())
}

// pending are the pods of a list, for the profile that the shipped policy is for.
func pending(t testing.TB, list []any) []any {
	for i, item := range list {
		var pod map[string]any
		check(t, json.Unmarshal(item.(json.RawMessage), &pod))
		pod["spec"].(map[string]any)["schedulerName"] = nodesift
		list[i] = pod
	}
	return list
}

// compare reports where two verdicts differ.
func compare(t testing.TB, pod string, want, got verdict) {
	t.Helper()
	if !maps.Equal(want.nodes, got.nodes) {
		shown := 0
		for _, node := range slices.Sorted(maps.Keys(joined(want.nodes, got.nodes))) {
			if want.nodes[node] != got.nodes[node] && shown < 3 {
				t.Errorf("%s on %s: stock %q, nodesift %q", pod, node, want.nodes[node], got.nodes[node])
				shown++
			}
		}
	}
	if want.message != got.message {
		t.Errorf("%s:\nstock    %s\nnodesift %s", pod, want.message, got.message)
	}
}

func joined(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}
