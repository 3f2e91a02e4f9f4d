package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// partyPolicy is the shipped policy with a licence server that decides about pods with a label.
func partyPolicy(t testing.TB) string {
	shipped, err := os.ReadFile(shippedPolicy)
	check(t, err)
	text := strings.TrimRight(string(shipped), "\n") + "\n" +
		"  - name: Parties\n    phases: [allocate]\n" +
		"  parties:\n  - name: licences\n    for: {podSelector: {matchLabels: {app: simulation}}}\n"
	path := filepath.Join(t.TempDir(), "policy.yaml")
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (w *world) boundTo(t testing.TB, name string) string {
	return apiPod(t, w.api, name).Spec.NodeName
}

// A licence server that is `nodesift party`, the sidecar and kube-scheduler: from pending to bound, and to a no.
func TestAPodIsBoundToANodeThatItsPartyHasALicenceFor(t *testing.T) {
	api := startAPIServer(t)
	evenNodes(t, api, 3, "4")
	// The small API server has no PodNegotiations.
	w := startWorld(t, api, worldOptions{percentage: allNodes, policy: partyPolicy(t), sidecar: []string{"--record", "none"}})
	failures := w.run(t)
	folder := t.TempDir()
	script := filepath.Join(folder, "script.yaml")
	say := func(text string) { check(t, os.WriteFile(script, []byte(text), 0o600)) }
	say("unsuitable: [{nodes: [node-000, node-001], reason: no free licence}]\n")

	first := sizedPod("first", nodesift, 0, "2100m", map[string]string{"app": "simulation"})
	plain := sizedPod("plain", nodesift, 0, "1", nil)
	api.put(t, first, plain)
	until(t, "a pod without parties is bound", func() bool { return w.boundTo(t, "plain") != "" })
	until(t, "the pod waits for its party", func() bool {
		return strings.Contains(fmt.Sprint(failures.all()), "waiting for party licences")
	})
	if node := w.boundTo(t, "first"); node != "" {
		t.Fatalf("bound to %s, and nobody was asked", node)
	}

	party := startProgram(t, folder, "party", os.Getenv("NODESIFT_BINARY"), "party", "--name", "licences",
		"--server", "unix:"+w.sidecar.socket, "--script", script)
	party.await(t, "the pod is bound where there is a licence", func() bool { return w.boundTo(t, "first") == "node-002" })
	if said := party.text(); !strings.Contains(said, "allocate") {
		t.Errorf("nothing was allocated:\n%s", said)
	}

	// It agrees, and fails then.
	say("allocate: {outcome: fail, reason: taken meanwhile}\n")
	second := sizedPod("second", nodesift, 0, "2100m", map[string]string{"app": "simulation"})
	api.put(t, second)
	party.await(t, "the pod is told why", func() bool {
		pod := apiPod(t, api, "second")
		return pod != nil && strings.Contains(condition(pod), "taken meanwhile")
	})
	say("validMs: 0\n")
	party.await(t, "the pod is bound after all", func() bool { return w.boundTo(t, "second") != "" })
}

func condition(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Message
		}
	}
	return ""
}
