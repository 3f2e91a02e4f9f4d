package nodesifttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// CasesFile is the file of a project's cases.
const CasesFile = "cases.yaml"

// Cases runs each case of a file of cases as a subtest, without the sandbox. `nodesift-dev` reads the file, and compares what was found with
// what the case expects, so that a case means the same as in `nodesift-dev module test`. A case that needs the sandbox, or facts that a
// [Cluster] does not have, is skipped with the reason.
func Cases(t *testing.T, predicate nodesift.Definition, file string) {
	t.Helper()
	cases, err := readCases(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range cases {
		t.Run(one.Name, func(t *testing.T) {
			if one.Skip != "" {
				t.Skip(one.Skip)
			}
			if failure, err := one.check(predicate, file); err != nil || failure != "" {
				t.Fatal(strings.TrimRight(failure, "\n"), err)
			}
		})
	}
}

// testCase is a case as `nodesift-dev module cases` prints it.
type testCase struct {
	Name    string
	Line    int
	Skip    string
	Args    json.RawMessage
	Cluster caseCluster
}

type caseCluster struct {
	Pod                                  casePod
	Nodes                                []caseNode
	Pods                                 []casePod
	Namespaces, ConfigMaps               map[string]Texts
	DeviceClassResources, SchedulerNames []string
	Now                                  int64
}

// casePod has the fields of a [Pod] with those in their place that JSON has in another form.
type casePod struct {
	Pod
	Tolerations []struct{ Key, Operator, Value, Effect string }
	Controller  *struct{ APIVersion, Kind, Name, UID string }
}

type caseNode struct {
	Node
	Taints []struct{ Key, Value, Effect string }
	Info   map[string]string
}

// found is what a case has found, as `nodesift-dev module cases --answers` reads it.
type found struct {
	Name     string               `json:"name"`
	Refused  *string              `json:"refused,omitempty"`
	Fault    *string              `json:"fault,omitempty"`
	Rejected map[string]rejection `json:"rejected,omitempty"`
	Log      []line               `json:"log,omitempty"`
}

type rejection struct {
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

type line struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// codes are the names of the status codes, as cases have them.
var codes = map[nodesift.Status]string{
	nodesift.StatusUnschedulable:                "Unschedulable",
	nodesift.StatusUnschedulableAndUnresolvable: "UnschedulableAndUnresolvable",
	nodesift.StatusError:                        "Error",
}

var levels = map[facts.LogLevel]string{
	facts.LogLevelDebug: "debug", facts.LogLevelInfo: "info", facts.LogLevelWarn: "warn", facts.LogLevelError: "error",
}

var effects = map[string]facts.PodTolerationsEffect{
	"NoSchedule":       facts.PodTolerationsEffectNoSchedule,
	"PreferNoSchedule": facts.PodTolerationsEffectPreferNoSchedule,
	"NoExecute":        facts.PodTolerationsEffectNoExecute,
}

var infoFields = map[string]facts.NodeInfoField{
	"kubelet-version":           facts.NodeInfoFieldKubeletVersion,
	"kernel-version":            facts.NodeInfoFieldKernelVersion,
	"container-runtime-version": facts.NodeInfoFieldContainerRuntimeVersion,
	"os-image":                  facts.NodeInfoFieldOsImage,
	"operating-system":          facts.NodeInfoFieldOperatingSystem,
	"architecture":              facts.NodeInfoFieldArchitecture,
	"provider-id":               facts.NodeInfoFieldProviderId,
}

func readCases(file string) ([]testCase, error) {
	// `go test` runs a test again where a file has changed that the test itself has read.
	if _, err := os.ReadFile(file); err != nil {
		return nil, err
	}
	var document struct{ Cases []testCase }
	return document.Cases, ask(&document, nil, file)
}

// ask runs `nodesift-dev module cases` and reads what it prints.
func ask(document any, answers []byte, file string, options ...string) error {
	program := cmp.Or(os.Getenv("NODESIFT_DEV"), "nodesift-dev")
	command := exec.Command(program, append([]string{"module", "cases", file}, options...)...)
	command.Stdin = bytes.NewReader(answers)
	printed, err := command.Output()
	if ended, isEnd := err.(*exec.ExitError); isEnd {
		return fmt.Errorf("%s", bytes.TrimSpace(ended.Stderr))
	} else if err != nil {
		return fmt.Errorf("%s does not run, which reads %s: %w", program, file, err)
	}
	return json.Unmarshal(printed, document)
}

// check gives the text about a case that fails; empty where it passes.
func (c testCase) check(predicate nodesift.Definition, file string) (string, error) {
	answers, err := json.Marshal([]found{c.found(predicate)})
	if err != nil {
		return "", err
	}
	var document struct{ Cases []struct{ Failure string } }
	if err := ask(&document, answers, file, "--answers", "-"); err != nil {
		return "", err
	}
	if len(document.Cases) != 1 {
		return "", fmt.Errorf("%s: %d answers about one case", file, len(document.Cases))
	}
	return document.Cases[0].Failure, nil
}

func (c testCase) found(predicate nodesift.Definition) (found found) {
	found.Name = c.Name
	if _, err := nodesift.Configure(predicate, string(c.Args)); err != nil {
		text := err.Error()
		found.Refused = &text
		return found
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			text := fmt.Sprint("panic: ", thrown)
			found.Fault = &text
		}
	}()
	cluster := c.Cluster.cluster()
	done, err := cluster.evaluate(predicate, string(c.Args))
	if err != nil {
		text := err.Error()
		found.Fault = &text
		return found
	}
	found.Rejected = map[string]rejection{}
	for row, failure := range done.Failures {
		if failure != nil {
			found.Rejected[cluster.Nodes[row].Name] = rejection{codes[failure.Status], failure.Reasons}
		}
	}
	for _, written := range done.Lines {
		found.Log = append(found.Log, line{levels[written.Level], written.Text})
	}
	return found
}

func (c caseCluster) cluster() Cluster {
	cluster := Cluster{
		Pod: c.Pod.pod(), Namespaces: c.Namespaces, ConfigMaps: c.ConfigMaps, DeviceClassResources: c.DeviceClassResources,
		SchedulerNames: c.SchedulerNames, Now: c.Now,
		// As `module test`, which asks about all nodes at once; `module check` asks about each alone.
		IsClusterWide: true,
	}
	for _, pod := range c.Pods {
		cluster.Pods = append(cluster.Pods, pod.pod())
	}
	for _, node := range c.Nodes {
		cluster.Nodes = append(cluster.Nodes, node.node())
	}
	return cluster
}

func (p casePod) pod() Pod {
	pod := p.Pod
	for _, given := range p.Tolerations {
		toleration := facts.PodTolerationsToleration{Key: given.Key, Value: given.Value, Operator: facts.PodTolerationsOperatorOther}
		switch given.Operator {
		case "Equal":
			toleration.Operator = facts.PodTolerationsOperatorEqual
		case "Exists":
			toleration.Operator = facts.PodTolerationsOperatorExists
		}
		if given.Effect != "" {
			effect := effectOf(given.Effect)
			toleration.Effect = &effect
		}
		pod.Tolerations = append(pod.Tolerations, toleration)
	}
	if owner := p.Controller; owner != nil {
		pod.Controller = &facts.PodOwnerOwner{ApiVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name}
		pod.ControllerUID = owner.UID
	}
	return pod
}

func (n caseNode) node() Node {
	node := n.Node
	for _, given := range n.Taints {
		node.Taints = append(node.Taints, facts.NodeTaintsTaint{Key: given.Key, Value: given.Value, Effect: effectOf(given.Effect)})
	}
	node.Info = map[facts.NodeInfoField]string{}
	for name, text := range n.Info {
		node.Info[infoFields[name]] = text
	}
	return node
}

func effectOf(text string) facts.PodTolerationsEffect {
	if effect, isKnown := effects[text]; isKnown {
		return effect
	}
	return facts.PodTolerationsEffectOther
}
