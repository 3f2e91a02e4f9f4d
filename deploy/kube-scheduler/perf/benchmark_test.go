package perf

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/dynamic-resource-allocation/structured"
	upstream "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/ktesting"

	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// The schedulers that are compared.
const (
	stock    = "stock"
	nodesift = "nodesift"
)

// outcome is what one run has measured, over the pods that its workload measures.
type outcome struct {
	Pods int `json:"pods"`
	// From the creation of the first pod until all are bound.
	Seconds float64 `json:"seconds"`
	// scheduler_perf's SchedulingThroughput in pods a second, the mean of its samples, which it takes once a second. 0 where the
	// measurement was too short for any.
	Throughput float64 `json:"throughput"`
	// The mean of scheduler_scheduling_algorithm_duration_seconds in milliseconds, and of how many attempts.
	AlgorithmMilliseconds float64 `json:"algorithmMilliseconds"`
	Attempts              float64 `json:"attempts"`
	// The mean of scheduler_nodesift_call_duration_seconds in milliseconds, an attempt.
	CallMilliseconds float64 `json:"callMilliseconds"`
	// Processor seconds of scheduler, API server and controllers, which are one process, and of the sidecar.
	TestProcessor    float64 `json:"testProcessorSeconds"`
	SidecarProcessor float64 `json:"sidecarProcessorSeconds"`
	// Whether a scheduling attempt ended with an error. A call without an answer does.
	Errors bool `json:"errors"`
}

// The name of a run's outcome in its folder.
const outcomeFile = "outcome.json"

// BenchmarkPerfScheduling is one run: one workload, one number of nodes, one scheduler. Files of scheduler_perf are named after it.
func BenchmarkPerfScheduling(b *testing.B) {
	if *armFlag == "" {
		b.Skip("a part of Turns")
	}
	nodes, err := strconv.Atoi(*sizesFlag)
	check(b, err)
	w := workloadNamed(b, *onlyFlag)
	var registry frameworkruntime.Registry
	var beside *sidecar
	config := ""
	if *armFlag == nodesift {
		beside = newSidecar(b, filepath.Join(filepath.Dir(*intoFlag), "cache"))
		config, registry = beside.config(b), beside.registry()
	}
	test, pods := w.describe(b, nodes, config)
	file := test.write(b, b.TempDir())
	if w.topic == "dra" {
		// As scheduler_perf does for its own runs: the allocator that kube-scheduler has by default.
		structured.EnableAllocators("incubating")
		defer structured.EnableAllocators()
	}
	var measured *outcome
	prepare := func(tCtx ktesting.TContext) error {
		run, process := tCtx.TB().(*testing.B), 0
		if beside != nil {
			if beside.command == nil {
				return errors.New("the scheduler has made no plugin")
			}
			process = beside.command.Process.Pid
		}
		m := startMeter(process, run.Elapsed)
		// Runs as soon as the workload is done, while scheduler and API server still run.
		run.Cleanup(func() {
			m.end()
			if beside != nil {
				beside.kill()
			}
			if run.Failed() {
				return
			}
			used, err := m.measured(run.Elapsed())
			if err == nil && used.attempts == 0 {
				err = errors.New("no scheduling attempt was seen in the measurement")
			}
			if err != nil {
				run.Error(err)
				return
			}
			measured = &outcome{
				Pods: pods, Seconds: run.Elapsed().Seconds(), Attempts: used.attempts,
				AlgorithmMilliseconds: used.algorithm / used.attempts * 1000,
				CallMilliseconds:      used.call / used.attempts * 1000,
				TestProcessor:         used.test, SidecarProcessor: used.sidecar,
			}
		})
		return nil
	}
	// A run that fails before that ends the sidecar too: scheduler_perf waits ten minutes for what waits for it.
	end := func(ktesting.TContext, *upstream.Workload) (func(), error) {
		if beside == nil {
			return nil, nil
		}
		return beside.kill, nil
	}
	// Its files name templates relative to their folder.
	b.Chdir(upstreamFolder(b, w.topic))
	upstream.RunBenchmarkPerfScheduling(b, file, w.topic, registry, upstream.WithPrepareFn(prepare), upstream.WithPreRunFn(end))
	if measured == nil {
		b.Fatal("nothing was measured")
	}
	measured.readItems(b, *intoFlag)
	text, err := json.Marshal(measured)
	check(b, err)
	check(b, os.WriteFile(filepath.Join(*intoFlag, outcomeFile), text, 0o600))
}

// readItems takes what scheduler_perf itself has measured from the file that it has written for perf-dash.
func (o *outcome) readItems(b *testing.B, folder string) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "BenchmarkPerfScheduling_benchmark_*.json"))
	check(b, err)
	if len(files) != 1 {
		b.Fatalf("scheduler_perf has left %d files of data", len(files))
	}
	text, err := os.ReadFile(files[0])
	check(b, err)
	var items upstream.DataItems
	check(b, json.Unmarshal(text, &items))
	for _, item := range items.DataItems {
		switch item.Labels["Metric"] {
		case "SchedulingThroughput":
			o.Throughput = item.Data["Average"]
		case "scheduler_scheduling_attempt_duration_seconds":
			o.Errors = o.Errors || item.Labels["result"] == "error"
		}
	}
}
