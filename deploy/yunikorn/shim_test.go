package yunikorn_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The shim's packages that name its interface, and the line that makes a manager of it.
const (
	predicatesPackage = "pkg/plugin/predicates"
	insertion         = `package predicates

import (
	nodesift "github.com/nodesift/nodesift/deploy/yunikorn"
	client "github.com/nodesift/nodesift/sdk/core/go"
)

func withNodesift(sidecar *client.Client, own PredicateManager) (PredicateManager, nodesift.Placements) {
	manager := nodesift.%s(sidecar, own, nodesift.Options{})
	return manager, manager
}
`
)

// compile compiles the insertion in a checkout of the shim, which stays as it is.
func compile(t *testing.T, checkout string) error {
	t.Helper()
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(checkout, predicatesPackage, "predicate_manager.go"))
	if err != nil {
		t.Fatalf("YUNIKORN_SRC is no checkout of apache/yunikorn-k8shim: %v", err)
	}
	constructor := "New"
	if strings.Contains(string(text), "PreemptionFilter(") {
		constructor = "NewStaged"
	}
	scratch := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(scratch, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	copied := func(name, to string) string {
		text, err := os.ReadFile(filepath.Join(checkout, name))
		if err != nil {
			t.Fatal(err)
		}
		return write(to, string(text))
	}
	modules := copied("go.mod", "shim.mod")
	copied("go.sum", "shim.sum")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(checkout, predicatesPackage, "with_nodesift.go"): write("with_nodesift.go", fmt.Sprintf(insertion, constructor)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) error {
		command := exec.Command("go", arguments...)
		command.Dir = checkout
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, text)
		}
		return nil
	}
	here := map[string]string{"deploy/yunikorn": ".", "sdk/core/go": "../../sdk/core/go"}
	for name, folder := range here {
		path, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		module := "github.com/nodesift/nodesift/" + name
		if err := run("mod", "edit", "-require", module+"@v0.0.0", "-replace", module+"="+path, modules); err != nil {
			return err
		}
	}
	return run("build", "-mod=mod", "-modfile", modules, "-overlay", write("overlay.json", string(overlay)), "./"+predicatesPackage)
}

func TestItCompilesInACheckoutOfTheShim(t *testing.T) {
	checkout := os.Getenv("YUNIKORN_SRC")
	if checkout == "" {
		t.Skip("not compiled in the shim: YUNIKORN_SRC names no checkout of apache/yunikorn-k8shim")
	}
	if err := compile(t, checkout); err != nil {
		t.Fatal(err)
	}
}

// Checkouts with the shim's two interfaces, over types of their own, and one with an interface that no manager has.
func TestWhatIsCompiledInACheckoutIsTheInsertion(t *testing.T) {
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, methods := range map[string]string{
		"released": `
	EventsToRegister(queueingHintFn hint) []event
	Predicates(pod *v1.Pod, node *nodeInfo, allocate bool) (plugin string, error error)
	PreemptionPredicates(pod *v1.Pod, node *nodeInfo, victims []*v1.Pod, startIndex int) (index int)`,
		"newest": `
	EventsToRegister(queueingHintFn hint) []event
	PreFilter(pod *v1.Pod, allocate bool) (map[string]*empty, state, error)
	Filter(pod *v1.Pod, node interface{ Node() *v1.Node }, of state, allocate bool) (string, error)
	PreemptionFilter(pod *v1.Pod, node interface{ Node() *v1.Node }, of state, victims []*v1.Pod, startIndex int) int`,
		"unknown": `
	EventsToRegister(queueingHintFn hint) []event
	Predicates(pod *v1.Pod, node string, allocate bool) (plugin string, error error)
	PreemptionPredicates(pod *v1.Pod, node string, victims []*v1.Pod, startIndex int) (index int)`,
	} {
		t.Run(name, func(t *testing.T) {
			checkout := t.TempDir()
			if err := os.MkdirAll(filepath.Join(checkout, predicatesPackage), 0o700); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{
				"go.mod": "module github.com/apache/yunikorn-k8shim\n\ngo 1.26.0\n",
				"go.sum": string(sums),
				predicatesPackage + "/predicate_manager.go": `package predicates

import v1 "k8s.io/api/core/v1"

type (
	nodeInfo struct{}
	hint     func(*v1.Pod)
	event    struct{ hint }
	state    interface{ Read() }
	empty    struct{}
)

func (n *nodeInfo) Node() *v1.Node { return nil }

type PredicateManager interface {` + methods + "\n}\n",
			} {
				if err := os.WriteFile(filepath.Join(checkout, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := compile(t, checkout)
			if (err == nil) != (name != "unknown") {
				t.Fatal(err)
			}
			if err != nil && !strings.Contains(err.Error(), "with_nodesift.go") {
				t.Fatalf("it fails for another reason: %v", err)
			}
		})
	}
}
