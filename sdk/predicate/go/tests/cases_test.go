package tests

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	nt "github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

const (
	casesFolder = "../../cases/"
	// Set in the process whose test fails on purpose.
	fails = "NODESIFT_TEST_FAILS"
)

type teamArgs struct {
	Label string `json:"label"`
}

var (
	otherTeam = nodesift.Unresolvable("node(s) didn't belong to the pod's team")
	team      = nodesift.Predicate[teamArgs]{Name: "Team", Summary: "tests", Filter: func(pod *nodesift.Pod, nodes *nodesift.Nodes, args *teamArgs) *nodesift.Failure {
		if own, isThere := pod.Label(args.Label); isThere {
			nodes.Reject(nodes.LabelIn(args.Label, own).Not(), otherTeam)
		}
		return nil
	}}
	panics = nodesift.Predicate[teamArgs]{Name: "Panics", Summary: "tests", Filter: func(*nodesift.Pod, *nodesift.Nodes, *teamArgs) *nodesift.Failure {
		var none []int
		nodesift.LogInfo(string(rune(none[len(none)])))
		return nil
	}}
)

func TestCases(t *testing.T) {
	switch os.Getenv(fails) {
	case "":
		// The last one fails on purpose, and is run by itself.
		text, err := os.ReadFile(casesFolder + nt.CasesFile)
		if err != nil {
			t.Fatal(err)
		}
		passing, _, _ := strings.Cut(string(text), "- name: fails")
		file := t.TempDir() + "/" + nt.CasesFile
		if err := os.WriteFile(file, []byte(passing), 0o600); err != nil {
			t.Fatal(err)
		}
		nt.Cases(t, team, file)
	case "panics":
		nt.Cases(t, panics, casesFolder+nt.CasesFile)
	default:
		nt.Cases(t, team, casesFolder+nt.CasesFile)
	}
}

// failing is what the tests of cases print in a process in which they fail.
func failing(t *testing.T, how string) string {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestCases$", "-test.v")
	command.Env = append(os.Environ(), fails+"="+how)
	printed, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("they pass: %s", printed)
	}
	return string(printed)
}

func TestACaseThatFailsSaysWhereItIsAndWhatWasExpectedAndFound(t *testing.T) {
	expected, err := os.ReadFile(casesFolder + "failed.txt")
	if err != nil {
		t.Fatal(err)
	}
	printed := failing(t, "one")
	for _, line := range strings.Split(strings.TrimSpace(string(expected)), "\n") {
		if line = strings.TrimSpace(strings.Replace(line, nt.CasesFile, casesFolder+nt.CasesFile, 1)); !strings.Contains(printed, line) {
			t.Fatalf("%q is not in %s", line, printed)
		}
	}
	for _, part := range []string{"--- FAIL: TestCases/fails_with", "--- PASS: TestCases/a_mistyped", "--- SKIP: TestCases/unit_tests_have", "node affinity"} {
		if !strings.Contains(printed, part) {
			t.Fatalf("%q is not in %s", part, printed)
		}
	}
}

func TestAPanicIsWhatACaseHasFound(t *testing.T) {
	printed := failing(t, "panics")
	if !strings.Contains(printed, "+ the fault Trap: panic: runtime error: index out of range") {
		t.Fatal(printed)
	}
}
