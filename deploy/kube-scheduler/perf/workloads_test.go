package perf

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

// workload is a test case of scheduler_perf.
type workload struct {
	// The folder of scheduler_perf that describes it, and its name there.
	topic, name string
	// The parameter that is the number of nodes.
	nodes string
	// The one of its workloads that other numbers of nodes are made from.
	base string
}

// workloads are those of which something is to be learned about filters, and what must not become slower beside them.
var workloads = []workload{
	{"misc", "SchedulingBasic", "initNodes", "500Nodes"},
	{"affinity", "SchedulingPodAntiAffinity", "initNodes", "500Nodes"},
	{"affinity", "SchedulingPodAffinity", "initNodes", "500Nodes"},
	{"topology_spreading", "TopologySpreading", "initNodes", "500Nodes"},
	{"affinity", "SchedulingNodeAffinity", "initNodes", "500Nodes"},
	{"topology_spreading", "PreferredTopologySpreading", "initNodes", "500Nodes"},
	{"affinity", "SchedulingPreferredPodAffinity", "initNodes", "500Nodes"},
	{"misc", "Unschedulable", "initNodes", "500Nodes/10Init/1kPods"},
	{"misc", "PreemptionBasic", "initNodes", "1000Nodes_QueueingHintsEnabled"},
	{"volumes", "SchedulingCSIPVs", "initNodes", "500Nodes"},
	{"dra", "SchedulingWithResourceClaimTemplate", "nodesWithDRA", "2000pods_200nodes"},
}

// upstreamFolder has scheduler_perf's descriptions of workloads: run.sh takes it from the module cache.
func upstreamFolder(t testing.TB, topic string) string {
	t.Helper()
	folder := os.Getenv("NODESIFT_SCHEDULER_PERF")
	if folder == "" {
		t.Skip("NODESIFT_SCHEDULER_PERF names no folder of scheduler_perf: run.sh does")
	}
	return filepath.Join(folder, topic)
}

// described is one test case as scheduler_perf reads it, of which only what is changed here has a meaning.
type described map[string]any

// describe reads a test case and leaves one workload in it, of a number of nodes, without feature gates of that workload. With a
// configuration of a scheduler, that one runs it. It returns the number of measured pods as well.
func (w workload) describe(t testing.TB, nodes int, schedulerConfig string) (described, int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(upstreamFolder(t, w.topic), "performance-config.yaml"))
	check(t, err)
	var all []described
	check(t, yaml.Unmarshal(text, &all))
	for _, test := range all {
		if test["name"] != w.name {
			continue
		}
		params := w.params(t, test, nodes)
		test["workloads"] = []any{map[string]any{
			"name": fmt.Sprintf("%dNodes", nodes), "params": params, "labels": []string{"performance"},
		}}
		test["metricsCollectorConfig"] = collected
		if schedulerConfig != "" {
			test["schedulerConfigPath"] = schedulerConfig
		}
		return test, int(params["measurePods"].(float64))
	}
	t.Fatalf("scheduler_perf has no test case %s in %s", w.name, w.topic)
	return nil, 0
}

// params are those of upstream's workload with this number of nodes, the one without settings of its own where there are several. Where
// there is none, they are those of the base, each with as many times more or fewer as there are nodes.
func (w workload) params(t testing.TB, test described, nodes int) map[string]any {
	t.Helper()
	var base map[string]any
	for _, one := range test["workloads"].([]any) {
		of := one.(map[string]any)
		params := of["params"].(map[string]any)
		if params[w.nodes] == float64(nodes) && of["featureGates"] == nil {
			return params
		}
		if of["name"] == w.base {
			base = params
		}
	}
	if base == nil {
		t.Fatalf("scheduler_perf has no workload %s of %s", w.base, w.name)
	}
	scale := float64(nodes) / base[w.nodes].(float64)
	params := map[string]any{}
	for name, value := range base {
		// What a single node has is not scaled, and neither is what is no number.
		if number, ok := value.(float64); ok && !strings.HasSuffix(name, "PerNode") {
			value = float64(int(number*scale + 0.5))
		}
		params[name] = value
	}
	return params
}

// collected are the histograms that scheduler_perf keeps of a run: its own default is longer, and has neither of the two first.
var collected = map[string]any{"metrics": map[string]any{
	"scheduler_scheduling_algorithm_duration_seconds": nil,
	"scheduler_nodesift_call_duration_seconds":        nil,
	"scheduler_scheduling_attempt_duration_seconds":   []any{label("result", "scheduled", "unschedulable", "error")},
	"scheduler_framework_extension_point_duration_seconds": []any{
		label("extension_point", "PreFilter", "Filter", "PostFilter", "PreScore", "Score", "Reserve", "PreBind", "Bind"),
	},
	"scheduler_plugin_execution_duration_seconds": []any{
		label("plugin", plugin.Name, "NodeResourcesFit", "InterPodAffinity", "PodTopologySpread", "VolumeBinding", "DynamicResources"),
		label("extension_point", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
	},
}}

func label(name string, values ...string) map[string]any {
	return map[string]any{"label": name, "values": values}
}

// write puts a test case into a file that scheduler_perf reads.
func (d described) write(t testing.TB, folder string) string {
	t.Helper()
	// JSON is YAML.
	text, err := json.Marshal([]described{d})
	check(t, err)
	path := filepath.Join(folder, "performance-config.yaml")
	check(t, os.WriteFile(path, text, 0o600))
	return path
}
