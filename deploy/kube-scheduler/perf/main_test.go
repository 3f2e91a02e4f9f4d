// Package perf runs Kubernetes' own benchmark of kube-scheduler, scheduler_perf, by the stock scheduler and by one with the plugin, in
// turns. Turns has the order of runs, and starts this program again for each of them; benchmark_test.go is one run.
package perf

import (
	"flag"
	"fmt"
	"os"
	"testing"

	// The log format that scheduler_perf accepts in its flags.
	_ "k8s.io/component-base/logs/json/register"
	upstream "k8s.io/kubernetes/test/integration/scheduler_perf"
)

var (
	sizesFlag  = flag.String("nodes", "500", "numbers of nodes, such as 500,1000,5000")
	onlyFlag   = flag.String("workloads", "", "names of workloads, or parts of names: Basic,Affinity; all unless given")
	roundsFlag = flag.Int("rounds", 3, "runs of each workload by each scheduler")
	// What the scheduler with the plugin is. Another profile with another policy measures another division of work.
	configFlag  = flag.String("config", "../../kustomize/kube-scheduler/config.yaml", "KubeSchedulerConfiguration with the plugin; its only profile is taken")
	policyFlag  = flag.String("policy", "../../kustomize/kube-scheduler/policy.yaml", "policy of the sidecar")
	argsFlag    = flag.String("plugin-args", "", "further arguments of the plugin, as a JSON object")
	sidecarFlag = flag.String("sidecar-args", "", "further arguments of `nodesift serve`, with spaces between")
	keepFlag    = flag.String("keep", "", "folder for the data and logs of all runs; a temporary one unless given")
	// Of one run; Turns sets them.
	armFlag  = flag.String("arm", "", "stock or nodesift: do one run of one workload")
	intoFlag = flag.String("into", "", "folder for what one run has measured")
)

func TestMain(m *testing.M) {
	// It parses the flags, those above included.
	if err := upstream.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
