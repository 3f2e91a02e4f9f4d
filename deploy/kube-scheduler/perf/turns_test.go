package perf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// longestRun bounds one run: scheduler_perf gives a workload 30 minutes, and starts and ends its servers besides.
const longestRun = "40m"

// TestTurns measures each workload by the stock scheduler and by the one with the plugin: a run of each in turn, as many times as there
// are rounds, every one in a process of its own with an etcd of its own. It judges no time: only the table says something, and fails
// where a run does.
func TestTurns(t *testing.T) {
	if *armFlag != "" {
		t.Skip("one run is a benchmark")
	}
	if _, err := os.Stat(os.Getenv("NODESIFT_BINARY")); err != nil {
		t.Skip("NODESIFT_BINARY names no binary of the sidecar")
	}
	upstreamFolder(t, "misc")
	keep := *keepFlag
	if keep == "" {
		keep = t.TempDir()
	}
	keep, err := filepath.Abs(keep)
	check(t, err)
	var rows []row
	for _, size := range strings.Split(*sizesFlag, ",") {
		nodes, err := strconv.Atoi(size)
		check(t, err)
		for _, w := range chosen(t) {
			of := row{workload: w.name, nodes: nodes, outcomes: map[string][]outcome{}}
			for round := range *roundsFlag {
				// Whoever is first finds the machine otherwise than who is second.
				arms := []string{stock, nodesift}
				if round%2 == 1 {
					arms = []string{nodesift, stock}
				}
				for _, arm := range arms {
					measured, err := run(keep, w, nodes, arm, round)
					if err != nil {
						t.Errorf("%s, %d nodes, %s: %v", w.name, nodes, arm, err)
						continue
					}
					fmt.Printf("%s, %d nodes, %s: %s\n", w.name, nodes, arm, measured)
					of.outcomes[arm] = append(of.outcomes[arm], *measured)
				}
			}
			rows = append(rows, of)
		}
	}
	fmt.Print(table(rows))
}

// run starts this program again for one run, and returns what that has measured.
func run(keep string, w workload, nodes int, arm string, round int) (*outcome, error) {
	into := filepath.Join(keep, fmt.Sprintf("%s-%d-%d-%s", w.name, nodes, round, arm))
	if err := os.RemoveAll(into); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(into, 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(into, "run.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkPerfScheduling$", "-test.benchtime", "1x",
		"-test.timeout", longestRun, "-data-items-dir", into, "-arm", arm, "-into", into, "-nodes", strconv.Itoa(nodes),
		"-workloads", w.name, "-config", *configFlag, "-policy", *policyFlag, "-plugin-args", *argsFlag, "-sidecar-args", *sidecarFlag)
	// Logs of scheduler and API server are written as in production, and are left where the run fails.
	command.Env = append(os.Environ(), "ARTIFACTS="+into, "KUBE_CACHE_MUTATION_DETECTOR=false")
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	ended := command.Run()
	text, err := os.ReadFile(filepath.Join(into, outcomeFile))
	if err := cmp.Or(ended, err); err != nil {
		return nil, fmt.Errorf("%w, and its log ends with:\n%s", err, tail(log.Name()))
	}
	measured := &outcome{}
	return measured, json.Unmarshal(text, measured)
}

func tail(path string) string {
	text, _ := os.ReadFile(path)
	return string(text[max(0, len(text)-3000):])
}

// chosen are the workloads with a part of their name among those given.
func chosen(t testing.TB) []workload {
	t.Helper()
	var all []workload
	for _, w := range workloads {
		for part := range strings.SplitSeq(*onlyFlag, ",") {
			if strings.Contains(w.name, part) {
				all = append(all, w)
				break
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no workload has a name with %s", *onlyFlag)
	}
	return all
}

func workloadNamed(t testing.TB, name string) workload {
	t.Helper()
	for _, w := range workloads {
		if w.name == name {
			return w
		}
	}
	t.Fatalf("no workload has the name %s", name)
	return workload{}
}
