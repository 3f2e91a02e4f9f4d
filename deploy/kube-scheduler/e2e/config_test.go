package e2e

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

// What is shipped for a scheduler whose filters are the sidecar's.
const (
	shippedConfig = "../../kustomize/kube-scheduler/config.yaml"
	shippedPolicy = "../../kustomize/kube-scheduler/policy.yaml"
)

// callTimeout is long, so that a busy machine does not decide who answers. With onUnavailable: Fail no verdict is the in-tree
// filters' own.
const callTimeout = 4 * time.Second

// connect has a profile's plugin ask a sidecar, and no other filters in its place.
func connect(t testing.TB, profile *config.KubeSchedulerProfile, socket string) {
	setArgs(t, profile, func(args map[string]any) {
		args["address"] = "unix://" + socket
		args["onUnavailable"] = "Fail"
		args["callTimeout"] = callTimeout.String()
		args["consistencyTimeout"] = callTimeout.String()
	})
}

// setArgs changes the arguments of a profile's plugin.
func setArgs(t testing.TB, profile *config.KubeSchedulerProfile, change func(map[string]any)) {
	for i := range profile.PluginConfig {
		of := &profile.PluginConfig[i]
		if of.Name != plugin.Name {
			continue
		}
		args := map[string]any{}
		unknown, ok := of.Args.(*runtime.Unknown)
		if !ok {
			t.Fatalf("arguments of type %T", of.Args)
		}
		check(t, json.Unmarshal(unknown.Raw, &args))
		change(args)
		text, err := json.Marshal(args)
		check(t, err)
		of.Args = &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}
		return
	}
	t.Fatalf("the profile has no arguments of %s", plugin.Name)
}

func metav1Duration(duration time.Duration) metav1.Duration {
	return metav1.Duration{Duration: duration}
}
