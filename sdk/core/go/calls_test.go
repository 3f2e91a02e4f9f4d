package nodesift_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

func TestSetsEqualTheAnswersByNameOfEveryPendingPod(t *testing.T) {
	needBinary(t)
	client := dial(t, target)
	byName, err := client.Stub().Filter(t.Context(), &nodesiftv1.FilterRequest{Pending: true, Detail: nodesiftv1.Detail_DETAIL_NODES})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.Index().Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	verdicts := 0
	for _, wanted := range byName.GetPods() {
		namespace, name, _ := strings.Cut(wanted.GetPod(), "/")
		pod := nodesift.PodName(namespace, name)
		set, err := client.Feasible(t.Context(), pod)
		if err != nil {
			t.Fatal(err)
		}
		if set.Pod() != wanted.GetPod() || set.Message() != wanted.GetMessage() || set.Evaluated() != nodes.Len() ||
			set.Cycle() != nodesift.Cycle(wanted.GetCycle()) || set.Len() != int(wanted.GetFeasibleCount()) {
			t.Errorf("%v is not %v", set, wanted)
		}
		if feasible := slices.Sorted(set.Feasible()); !slices.Equal(feasible, wanted.GetFeasible()) {
			t.Errorf("%s: %v, not %v", wanted.GetPod(), feasible, wanted.GetFeasible())
		}
		for _, node := range wanted.GetFeasible() {
			verdicts++
			if predicate, _, _ := set.Why(node); !set.Fits(node) || predicate != "" {
				t.Errorf("%s does not fit %s: %s", wanted.GetPod(), node, predicate)
			}
		}
		for _, group := range wanted.GetFailures() {
			for _, node := range group.GetNodes() {
				verdicts++
				predicate, code, reasons := set.Why(node)
				if set.Fits(node) || predicate != group.GetPredicate() || code.String() != group.GetCode() || !slices.Equal(reasons, group.GetReasons()) {
					t.Errorf("%s on %s: %s %s %v, not %v", wanted.GetPod(), node, predicate, code, reasons, group)
				}
			}
		}
		short, err := client.Feasible(t.Context(), pod, nodesift.WithoutReasons())
		if err != nil || !slices.Equal(slices.Sorted(short.Feasible()), wanted.GetFeasible()) || len(short.Failures()) > 0 {
			t.Errorf("without reasons: %v, %v", short, err)
		}
	}
	if verdicts != len(byName.GetPods())*nodes.Len() || verdicts == 0 {
		t.Errorf("%d verdicts about %d pods and %d nodes", verdicts, len(byName.GetPods()), nodes.Len())
	}
	fmt.Printf("%d pods, %d verdicts compared\n", len(byName.GetPods()), verdicts)
}

func TestTotalsEqualTheAnswersByNameOfEveryPendingPod(t *testing.T) {
	needBinary(t)
	client := dial(t, target)
	byName, err := client.Stub().Filter(t.Context(), &nodesiftv1.FilterRequest{Pending: true, Scores: &nodesiftv1.ScoreRequest{Top: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, wanted := range byName.GetPods() {
		namespace, name, _ := strings.Cut(wanted.GetPod(), "/")
		set, err := client.Feasible(t.Context(), nodesift.PodName(namespace, name), nodesift.Scored(1000))
		if err != nil {
			t.Fatal(err)
		}
		var best []nodesift.ScoredNode
		for _, node := range wanted.GetScores().GetBest() {
			best = append(best, nodesift.ScoredNode{Node: node.GetNode(), Total: node.GetTotal()})
			if total, ok := set.Total(node.GetNode()); !ok || total != node.GetTotal() {
				t.Errorf("%s on %s: %d, %t, not %d", wanted.GetPod(), node.GetNode(), total, ok, node.GetTotal())
			}
			compared++
		}
		if scores := set.Scores(); !slices.Equal(scores.Best, best) || len(scores.Scorers) != len(wanted.GetScores().GetScorers()) || len(best) != set.Len() {
			t.Errorf("%s: %v, not %v", wanted.GetPod(), scores, wanted.GetScores())
		}
		some, err := client.Feasible(t.Context(), nodesift.PodName(namespace, name), nodesift.Scored(1), nodesift.OnNodes(wanted.GetFeasible()...))
		if err != nil || len(some.Scores().Best) > 1 || len(best) > 0 && some.Scores().Best[0] != best[0] {
			t.Errorf("%s: the best one is %v, not of %v, %v", wanted.GetPod(), some.Scores(), best, err)
		}
	}
	known, err := client.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := uint32(known.Limits["scoredNodes"])
	if _, err := client.Feasible(t.Context(), nodesift.PodName("default", "none"), nodesift.Scored(most+1)); !errors.Is(err, nodesift.ErrOverloaded) {
		t.Errorf("more than %d nodes: %v", most, err)
	}
	if compared == 0 {
		t.Error("no pod has a total")
	}
	fmt.Printf("%d pods, %d totals compared\n", len(byName.GetPods()), compared)
}

// smallCluster has two nodes of two CPUs: `full` with three pods, `empty` with none, and the pending pod default/web, which
// needs one and a half.
func smallCluster(t testing.TB, arguments ...string) *sidecar {
	t.Helper()
	var items []string
	for _, name := range []string{"full", "empty"} {
		items = append(items, fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":"uid-%s"},
			"status":{"allocatable":{"cpu":"2","memory":"8Gi","pods":"10"}}}`, name, name))
	}
	for number, cpu := range []string{"250m", "500m", "1"} {
		items = append(items, pod(fmt.Sprintf("victim-%d", number), "full", cpu))
	}
	items = append(items, pod("web", "", "1500m"))
	path := filepath.Join(t.TempDir(), "cluster.json")
	text := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return sidecarFor(t, append([]string{"--cluster", path}, arguments...)...)
}

func pod(name, node, cpu string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":%q,"uid":"uid-%s","resourceVersion":"1"},"spec":{
		"nodeName":%q,"schedulerName":"default-scheduler","containers":[{"name":"main","resources":{"requests":{"cpu":%q}}}]}}`,
		name, name, node, cpu)
}

// kubernetesPod is what this client knows of *v1.Pod: its identity, and its JSON.
type kubernetesPod struct {
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		UID       uid    `json:"uid,omitempty"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName,omitempty"`
	} `json:"spec"`
}

type uid string

func (p *kubernetesPod) GetUID() uid          { return p.Metadata.UID }
func (p *kubernetesPod) GetNamespace() string { return p.Metadata.Namespace }
func (p *kubernetesPod) GetName() string      { return p.Metadata.Name }

func TestPodsAreGivenByUIDByNameOrWhole(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	var object kubernetesPod
	object.Metadata.Namespace, object.Metadata.Name = "default", "web"
	byName := nodesift.PodOf[uid](&object)
	object.Metadata.UID = "uid-web"
	for what, about := range map[string]nodesift.Pod{
		"UID":            nodesift.PodUID("uid-web"),
		"name":           nodesift.PodName("default", "web"),
		"JSON":           nodesift.PodJSON([]byte(pod("other", "", "1500m"))),
		"object by UID":  nodesift.PodOf[uid](&object),
		"object by name": byName,
	} {
		set, err := client.Feasible(t.Context(), about)
		if err != nil || !slices.Equal(slices.Collect(set.Feasible()), []string{"empty"}) {
			t.Errorf("%s: %v, %v", what, slices.Collect(set.Feasible()), err)
		}
		predicate, code, reasons := set.Why("full")
		if predicate != "NodeResourcesFit" || code != nodesift.CodeUnschedulable || !slices.Equal(reasons, []string{"Insufficient cpu"}) {
			t.Errorf("%s: %s %s %v", what, predicate, code, reasons)
		}
	}
	object.Spec.NodeName = "full"
	if set, err := client.Feasible(t.Context(), nodesift.WholePod(&object)); err != nil || set.Len() != 1 || !set.Fits("full") {
		t.Errorf("a whole object: %d, %v", set.Len(), err)
	}
	for _, none := range []nodesift.Pod{{}, nodesift.WholePod(func() {})} {
		if _, err := client.Feasible(t.Context(), none); !errors.Is(err, nodesift.ErrInvalid) {
			t.Errorf("no pod: %v", err)
		}
	}
}

func TestOptionsNarrowAndChangeTheQuestion(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	web := nodesift.PodUID("uid-web")
	ask := func(options ...nodesift.FeasibleOption) nodesift.Set {
		t.Helper()
		set, err := client.Feasible(t.Context(), web, options...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	if set := ask(nodesift.OnNodes("full", "nobody")); set.Len() != 0 || set.Evaluated() != 1 || set.Fits("empty") ||
		!slices.Equal(set.Unknown(), []string{"nobody"}) || set.Message() != "0/1 nodes are available: 1 Insufficient cpu." {
		t.Errorf("on one node: %d of %d, unknown %v, %q", set.Len(), set.Evaluated(), set.Unknown(), set.Message())
	}
	if set := ask(nodesift.Reserve()); set.Len() != 2 {
		t.Errorf("for reserving, resources do not count: %d", set.Len())
	}
	if set := ask(nodesift.Limit(1, 0)); set.Len() != 1 || !set.Fits("empty") {
		t.Errorf("with a limit: %d", set.Len())
	}
	first := ask(nodesift.Reserve(), nodesift.Limit(1, 0))
	second := ask(nodesift.Reserve(), nodesift.Limit(1, first.NextStart()))
	if first.Len() != 1 || second.Len() != 1 || slices.Equal(slices.Collect(first.Feasible()), slices.Collect(second.Feasible())) {
		t.Errorf("one after the other: %v, %v", slices.Collect(first.Feasible()), slices.Collect(second.Feasible()))
	}
	gone := nodesift.Overlay{RemovedPods: []nodesift.Pod{nodesift.PodUID("uid-victim-0"), nodesift.PodUID("uid-victim-2")}}
	if set := ask(nodesift.WithOverlay(gone)); set.Len() != 2 {
		t.Errorf("with removed pods: %d", set.Len())
	}
	moved := nodesift.Overlay{AddedPods: []nodesift.PlacedPod{{Pod: nodesift.PodUID("uid-victim-2"), Node: "empty"}}}
	if set := ask(nodesift.WithOverlay(moved)); set.Len() != 0 || set.Fits("empty") {
		t.Errorf("with a moved pod: %v", slices.Collect(set.Feasible()))
	}
	third := nodesift.NodeJSON([]byte(`{"metadata":{"name":"third"},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"10"}}}`))
	for _, options := range [][]nodesift.FeasibleOption{{}, {nodesift.WithoutReasons()}} {
		set := ask(append(options, nodesift.WithOverlay(nodesift.Overlay{Nodes: []nodesift.Node{third}}))...)
		if set.Epoch() != 0 {
			t.Errorf("an answer by name is of epoch %d", set.Epoch())
		}
		predicate, _, _ := set.Why("full")
		if !set.Fits("third") || !set.Fits("empty") || set.Fits("full") || set.Len() != 2 || (predicate == "") != (len(options) > 0) {
			t.Errorf("with another node: %v, %q", slices.Sorted(set.Feasible()), predicate)
		}
	}
	for _, broken := range []nodesift.Overlay{
		{Nodes: []nodesift.Node{nodesift.WholeNode(func() {})}}, {RemovedPods: []nodesift.Pod{{}}}, {AddedPods: []nodesift.PlacedPod{{}}},
	} {
		if _, err := client.Feasible(t.Context(), web, nodesift.WithOverlay(broken)); !errors.Is(err, nodesift.ErrInvalid) {
			t.Errorf("a broken overlay: %v", err)
		}
	}
	var zero nodesift.Set
	if predicate, _, _ := zero.Why("full"); zero.Fits("full") || zero.Has("full") || zero.Len() != 0 || predicate != "" || zero.Message() != "" {
		t.Error("a zero set is not empty")
	}
}

func TestAssumedPodsCountUntilTheyAreForgotten(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	web, other := nodesift.PodUID("uid-web"), nodesift.PodJSON([]byte(pod("other", "", "1500m")))
	fitting := func() int {
		t.Helper()
		set, err := client.Feasible(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		return set.Len()
	}
	assumed, err := client.Assume(t.Context(), web, "empty", nodesift.Check(), nodesift.TimeToLive(time.Minute))
	if err != nil || assumed.Placed != nodesift.PlacedAssumed || assumed.UID != "uid-web" || assumed.Pod != "default/web" {
		t.Fatalf("%+v, %v", assumed, err)
	}
	if set, err := client.Feasible(t.Context(), other, nodesift.AtLeastGeneration(assumed.Version.Generation)); err != nil || set.Len() != 0 ||
		set.Version().Generation < assumed.Version.Generation {
		t.Errorf("an assumed pod counts in the next answer: %d, %v", set.Len(), err)
	}
	if again, err := client.Assume(t.Context(), web, "empty"); err != nil || again.Placed != nodesift.PlacedRenewed {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := client.Assume(t.Context(), other, "empty", nodesift.Check()); !errors.Is(err, nodesift.ErrDoesNotFit) {
		t.Errorf("a pod that does not fit: %v", err)
	}
	if _, err := client.Assume(t.Context(), other, "empty", nodesift.IfGeneration(assumed.Version.Generation-1)); !errors.Is(err, nodesift.ErrChanged) {
		t.Errorf("an old generation: %v", err)
	}
	if was, err := client.Forget(t.Context(), nodesift.PodUID(assumed.UID)); err != nil || !was {
		t.Errorf("%t, %v", was, err)
	}
	if was, err := client.Forget(t.Context(), nodesift.PodUID(assumed.UID)); err != nil || was {
		t.Errorf("%t, %v", was, err)
	}
	if fitting() != 1 {
		t.Error("a forgotten pod still counts")
	}
}

func TestPreemptionTellsTheLastVictimThatHasToGo(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	victims := []string{"uid-victim-0", "uid-victim-1", "uid-victim-2"}
	for _, each := range []struct {
		node    string
		victims []string
		start   int
		last    int
	}{
		{"full", victims, 0, 2}, {"full", victims, 2, 2}, {"full", victims[:2], 0, -1},
		{"full", []string{"uid-victim-2", "uid-victim-0", "uid-victim-1"}, 0, 1}, {"full", nil, 0, -1},
	} {
		last, err := client.PreemptionPredicates(t.Context(), "uid-web", each.node, each.victims, each.start)
		if err != nil || last != each.last {
			t.Errorf("%v: %d, %v", each, last, err)
		}
	}
	_, unknown := client.PreemptionPredicates(t.Context(), "uid-web", "nobody", victims, 0)
	_, behind := client.PreemptionPredicates(t.Context(), "uid-web", "full", victims, 0, nodesift.AtLeastGeneration(1<<60), nodesift.Patience(0))
	_, negative := client.PreemptionPredicates(t.Context(), "uid-web", "full", victims, -1)
	if !errors.Is(unknown, nodesift.ErrNotFound) || !errors.Is(behind, nodesift.ErrDeadline) || !errors.Is(negative, nodesift.ErrInvalid) {
		t.Errorf("%v; %v; %v", unknown, behind, negative)
	}
}

func TestErrorsSayWhatTheyAre(t *testing.T) {
	// Without a predicate that evaluates claims.
	client := dial(t, smallCluster(t, "--predicates", "NodeName,NodeResourcesFit").target())
	web := nodesift.PodUID("uid-web")
	_, err := client.Feasible(t.Context(), nodesift.PodUID("nobody"))
	var detail *nodesift.Error
	if !errors.Is(err, nodesift.ErrNotFound) || !errors.As(err, &detail) || status.Code(err) != codes.NotFound || detail.Message == "" {
		t.Errorf("an unknown pod: %v", err)
	}
	if _, err := client.Feasible(t.Context(), nodesift.PodJSON([]byte("{"))); !errors.Is(err, nodesift.ErrInvalid) {
		t.Errorf("half a pod: %v", err)
	}
	if _, err := client.Feasible(t.Context(), web, nodesift.AtLeastGeneration(1<<60), nodesift.Patience(0)); !errors.Is(err, nodesift.ErrDeadline) {
		t.Errorf("a generation that does not come: %v", err)
	}
	started := time.Now()
	_, err = client.Feasible(t.Context(), web, nodesift.AtLeastGeneration(1<<60), nodesift.Patience(50*time.Millisecond))
	if !errors.Is(err, nodesift.ErrDeadline) || !errors.Is(err, context.DeadlineExceeded) || time.Since(started) < 50*time.Millisecond {
		t.Errorf("a generation that does not come in time: %v after %s", err, time.Since(started))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Feasible(cancelled, web); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	claims := `{"metadata":{"namespace":"default","name":"gpu"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"gpu"}],
		"containers":[{"name":"main","resources":{"claims":[{"name":"gpu"}]}}]}}`
	set, err := client.Feasible(t.Context(), nodesift.PodJSON([]byte(claims)))
	var fault *nodesift.FaultError
	if !errors.Is(err, nodesift.ErrFault) || !errors.As(err, &fault) || len(fault.Faults) != 1 || fault.Faults[0].Kind != "Unsupported" ||
		fault.Faults[0].Ignored || set.Len() != 0 || set.Evaluated() != 2 {
		t.Errorf("a fault: %v, %d of %d", err, set.Len(), set.Evaluated())
	}
	set, err = client.Feasible(t.Context(), nodesift.PodJSON([]byte(claims)), nodesift.AllowFaults())
	if err != nil || len(set.Faults()) != 1 {
		t.Errorf("a fault that is allowed: %v, %v", err, set.Faults())
	}

	nobody := dial(t, "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	if _, err := nobody.Feasible(t.Context(), web); !errors.Is(err, nodesift.ErrUnavailable) {
		t.Errorf("nobody there: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := nobody.Index().Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no table: %v", err)
	}
}

func TestAnswersOfASilentAPIServerAreStale(t *testing.T) {
	needBinary(t)
	server := startAPIServer(t)
	server.edit(func(_ map[string]bool, set func(string, bool), _ func(string)) { set("a", true) })
	sidecar := sidecarFor(t, "--kubeconfig", server.kubeconfig(t), "--predicates", "NodeUnschedulable", "--stale-after", "3s")
	client := dial(t, sidecar.target())
	server.freeze()
	var set nodesift.Set
	var err error
	until(t, "the answer is stale", func() bool {
		set, err = client.Feasible(t.Context(), nodesift.PodUID(pendingUID))
		return err != nil
	})
	if !errors.Is(err, nodesift.ErrStale) || errors.Is(err, nodesift.ErrFault) || !set.Fits("a") || !set.Version().Stale ||
		set.Version().Staleness < 3*time.Second {
		t.Errorf("%v, %+v", err, set.Version())
	}
	if set, err := client.Feasible(t.Context(), nodesift.PodUID(pendingUID), nodesift.AllowStale()); err != nil || !set.Version().Stale {
		t.Errorf("a stale answer that is allowed: %v", err)
	}
}

// synthetic serves a cluster of many nodes, and names a pending pod of it that fits some and not others.
func synthetic(t testing.TB, nodes int) (*nodesift.Client, nodesift.Pod) {
	t.Helper()
	needBinary(t)
	path := filepath.Join(t.TempDir(), "cluster.json")
	developer := cmp.Or(os.Getenv("NODESIFT_DEV_BINARY"), filepath.Join(filepath.Dir(binary), "nodesift-dev"))
	synth := exec.Command(developer, "cluster", "synth", "--nodes", fmt.Sprint(nodes), "--pods-per-node", "2", "--out", path)
	if output, err := synth.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	client := dial(t, sidecarFor(t, "--cluster", path).target())
	if _, err := client.Index().Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	pending, err := client.Stub().Filter(t.Context(), &nodesiftv1.FilterRequest{Pending: true, TimeoutMs: proto.Uint32(uint32(scaled(10 * time.Second).Milliseconds()))})
	if err != nil {
		t.Fatal(err)
	}
	best := slices.MaxFunc(pending.GetPods(), func(a, b *nodesiftv1.PodAnswer) int { return cmp.Compare(mixed(a), mixed(b)) })
	if mixed(best) == 0 {
		t.Fatal("no pending pod fits some nodes and not others")
	}
	namespace, name, _ := strings.Cut(best.GetPod(), "/")
	return client, nodesift.PodName(namespace, name)
}

// mixed is large where about as many nodes fit as do not.
func mixed(answer *nodesiftv1.PodAnswer) uint32 {
	return min(answer.GetFeasibleCount(), answer.GetNodes()-answer.GetFeasibleCount())
}

func TestLookupsDoNotAllocate(t *testing.T) {
	client, pod := synthetic(t, 1000)
	set, err := client.Feasible(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	names := client.Index().Names()
	at, fits, reasons := uint32(0), 0, 0
	allocations := testing.AllocsPerRun(names.Len(), func() {
		name := names.Name(at % uint32(names.Len()))
		at++
		if set.Fits(name) && set.Has(name) {
			fits++
		} else if _, _, why := set.Why(name); len(why) > 0 {
			reasons++
		}
	})
	if allocations != 0 || fits == 0 || reasons == 0 || set.Fits("nobody") {
		t.Errorf("%v allocations per lookup, of %d nodes that fit and %d that do not", allocations, fits, reasons)
	}
	fmt.Printf("%v allocations per lookup; %d nodes fit, %d do not\n", allocations, fits, reasons)
}

func BenchmarkFeasibleAnd5000Lookups(b *testing.B) {
	client, pod := synthetic(b, 5000)
	names := client.Index().Names()
	ask := func(b *testing.B) nodesift.Set {
		set, err := client.Feasible(b.Context(), pod)
		if err != nil {
			b.Fatal(err)
		}
		return set
	}
	lookups := func(set nodesift.Set) (fits int) {
		for row := range uint32(names.Len()) {
			if name := names.Name(row); set.Fits(name) {
				fits++
			} else if predicate, _, _ := set.Why(name); predicate == "" {
				b.Fatalf("%s neither fits nor does not", name)
			}
		}
		return fits
	}
	ask(b)
	b.Run("feasible", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask(b)
		}
	})
	b.Run("lookups", func(b *testing.B) {
		b.ReportAllocs()
		set := ask(b)
		for b.Loop() {
			lookups(set)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*names.Len()), "ns/lookup")
	})
	b.Run("both", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lookups(ask(b))
		}
	})
}
