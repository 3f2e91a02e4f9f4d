package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// scores is the shipped configuration in which the sidecar scores.
const scores = "../scores.yaml"

// gives has the sidecar give nodes these totals, where a request asks for scores.
func gives(totals map[string]int64) func(*fakeSidecar) {
	return func(f *fakeSidecar) {
		f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
			about := response.Pods[0]
			if request.GetScores().GetTop() == 0 || about.GetFeasibleCount() == 0 {
				return nil
			}
			about.Scores = &nodesiftv1.PodScores{Scorers: []*nodesiftv1.ScorerAnswer{{Scorer: "SpotLast", Weight: 1, Outcome: "Scored"}}}
			for row, node := range f.nodes {
				if about.FeasibleRows[row/8]>>(row%8)&1 == 1 {
					about.Scores.Best = append(about.Scores.Best, &nodesiftv1.ScoredNode{Row: proto.Uint32(uint32(row)), Total: totals[node]})
				}
			}
			slices.SortFunc(about.Scores.Best, func(a, b *nodesiftv1.ScoredNode) int { return int(b.Total - a.Total) })
			about.Scores.Best = about.Scores.Best[:min(len(about.Scores.Best), int(request.GetScores().GetTop()))]
			return nil
		}
	}
}

// score runs a cycle up to the totals of nodes; of those that fit, without those that are left out.
func (w *world) score(profile string, pod *v1.Pod, without ...string) (map[string]int64, *fwk.Status) {
	w.t.Helper()
	first, statuses, state := w.cycle(profile, pod)
	if !first.IsSuccess() {
		w.t.Fatal(first)
	}
	var left []fwk.NodeInfo
	for _, node := range w.nodes() {
		if name := node.Node().Name; statuses[name].IsSuccess() && !slices.Contains(without, name) {
			left = append(left, node)
		}
	}
	of := w.scheduler.Profiles[profile]
	if status := of.RunPreScorePlugins(w.ctx, state, pod, left); !status.IsSuccess() {
		return nil, status
	}
	scored, status := of.RunScorePlugins(w.ctx, state, pod, left)
	totals := map[string]int64{}
	for _, node := range scored {
		totals[node.Name] = node.TotalScore
	}
	return totals, status
}

// wanted fails the test unless the totals are these.
func wanted(t *testing.T, got map[string]int64, status *fwk.Status, want map[string]int64) {
	t.Helper()
	if !status.IsSuccess() || !maps.Equal(got, want) {
		t.Errorf("%v: %v, not %v", status, got, want)
	}
}

func TestTotalsComeWithTheAnswer(t *testing.T) {
	totals := map[string]int64{"a": 0, "b": 99, "c": 100, "d": 1337, "e": maxTold}
	fake := startFake(t, "a", "b", "c", "d", "e", "full")
	fake.rejects["full"] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu")
	fake.set(gives(totals))
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"), node("c"), node("d"), node("e"), node("full"))
	got, status := w.score(ours, pod("web").Obj())
	wanted(t, got, status, totals)
	if asked := fake.asked(); len(asked) != 1 || asked[0].GetScores().GetTop() != leastScored {
		t.Errorf("%v", asked)
	}
}

func TestOtherNodesThanThoseThatFitAreScoredAmongThemselves(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.set(gives(map[string]int64{"a": 3, "b": 2, "c": 1}))
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"), node("c"))
	for range 2 {
		got, status := w.score(ours, pod("web").Obj(), "a")
		wanted(t, got, status, map[string]int64{"b": 2, "c": 1})
	}
	got, status := w.score(ours, pod("web").Obj())
	wanted(t, got, status, map[string]int64{"a": 3, "b": 2, "c": 1})
	got, status = w.score(ours, pod("web").Obj())
	wanted(t, got, status, map[string]int64{"a": 3, "b": 2, "c": 1})
	var asked []string
	for _, request := range fake.asked() {
		asked = append(asked, fmt.Sprint(request.GetScores().GetTop() > 0, request.GetNodes().GetNames()))
	}
	// Scores that were of no use are not asked for in the cycle after it, and asked for again after one that could have used them.
	if want := []string{"true []", "true [b c]", "false []", "true [b c]", "false []", "true [a b c]", "true []"}; !slices.Equal(asked, want) {
		t.Errorf("asked: %q, not %q", asked, want)
	}
}

// uneven is a cluster on which kube-scheduler's plugins disagree.
func uneven() (objects []runtime.Object, nodes []string) {
	for i, name := range []string{"a", "b", "c", "d"} {
		made := node(name)
		made.Labels["topology.kubernetes.io/zone"] = fmt.Sprintf("zone-%d", i%2)
		if i == 1 {
			made.Spec.Taints = []v1.Taint{{Key: "busy", Effect: v1.TaintEffectPreferNoSchedule}}
		}
		if i == 2 {
			made.Status.Images = []v1.ContainerImage{{Names: []string{"registry.k8s.io/web:1"}, SizeBytes: 900 << 20}}
		}
		objects, nodes = append(objects, made), append(nodes, name)
		for at := range i {
			objects = append(objects, st.MakePod().Namespace("default").Name(fmt.Sprint(name, at)).UID(fmt.Sprint(name, at)).Node(name).
				Label("app", "web").Req(map[v1.ResourceName]string{v1.ResourceCPU: "700m", v1.ResourceMemory: "256Mi"}).Obj())
		}
	}
	return objects, nodes
}

// choosy is a pod about which kube-scheduler's plugins disagree.
func choosy(name string) *v1.Pod {
	web := pod(name).Label("app", "web").Container("registry.k8s.io/web:1").
		Req(map[v1.ResourceName]string{v1.ResourceCPU: "500m", v1.ResourceMemory: "1Gi"}).Obj()
	web.Spec.Affinity = &v1.Affinity{
		NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 7, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"d"}}},
		}}}},
		PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 7, PodAffinityTerm: v1.PodAffinityTerm{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}}}},
	}
	return web
}

func TestKubeSchedulersPluginsScoreWhereTheSidecarHasNoScores(t *testing.T) {
	objects, nodes := uneven()
	for what, change := range map[string]func(*fakeSidecar){
		"no answer at all": func(f *fakeSidecar) {
			f.edit = func(*nodesiftv1.FilterRequest, *nodesiftv1.FilterResponse) error {
				return status.Error(codes.Internal, "failed by the test")
			}
		},
		"no time left for a scorer": func(f *fakeSidecar) {
			f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
				if request.GetScores().GetTop() > 0 {
					response.Pods[0].Scores = &nodesiftv1.PodScores{Error: "late", Faults: []*nodesiftv1.Fault{{Predicate: "Slow", Fault: "RequestDeadline"}}}
				}
				return nil
			}
		},
		"no answer about those that are left": func(f *fakeSidecar) {
			f.edit = func(request *nodesiftv1.FilterRequest, _ *nodesiftv1.FilterResponse) error {
				if len(request.GetNodes().GetNames()) > 0 {
					return status.Error(codes.Internal, "failed by the test")
				}
				return nil
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			fake := startFake(t, nodes...)
			fake.set(change)
			w := newWorld(t, scores, patient(fake.address(), inTreeDecides), objects...)
			for _, without := range [][]string{nil, {"a"}} {
				if without == nil && what == "no answer about those that are left" {
					continue
				}
				want, status := w.score(stock, choosy("web"), without...)
				if !status.IsSuccess() || len(slices.Compact(slices.Sorted(maps.Values(want)))) != len(want) {
					t.Fatalf("the test needs nodes with totals of their own: %v, %v", want, status)
				}
				got, status := w.score(ours, choosy("web"), without...)
				wanted(t, got, status, want)
			}
		})
	}
}

func TestTheSidecarSaysHowManyNodesItScores(t *testing.T) {
	totals := map[string]int64{"a": 3, "b": 2, "c": 1}
	for limit, inTree := range map[int64]bool{2: true, 3: false, 5000: false} {
		fake := startFake(t, "a", "b", "c")
		fake.set(gives(totals))
		fake.capabilities = &nodesiftv1.CapabilitiesResponse{Version: "1", Limits: []*nodesiftv1.NamedAmount{{Name: "scoredNodes", Amount: limit}}}
		w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"), node("c"))
		until(t, "the limit is known", func() bool { return w.plugin().sidecar.maxScored() == uint32(limit) })
		got, status := w.score(ours, pod("web").Obj())
		if !status.IsSuccess() || maps.Equal(got, totals) == inTree {
			t.Errorf("%d: %v, %v", limit, got, status)
		}
		if asked := fake.asked(); len(asked) != 1 || asked[0].GetScores().GetTop() != uint32(limit) {
			t.Errorf("%d: %v", limit, asked)
		}
	}
}

func TestMoreNodesThanTheSidecarScoresAreScoredWithTheWeightsOfThePolicy(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.capabilities = &nodesiftv1.CapabilitiesResponse{Version: "1", Limits: []*nodesiftv1.NamedAmount{{Name: "scoredNodes", Amount: 2}}}
	var generation atomic.Uint64
	generation.Store(1)
	fake.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		response.Version.PolicyGeneration = generation.Load()
		if request.GetScores().GetTop() > 0 {
			response.Pods[0].Scores = &nodesiftv1.PodScores{Scorers: []*nodesiftv1.ScorerAnswer{
				{Scorer: "ImageLocality", Weight: uint32(7 * generation.Load()), Outcome: "Scored"},
			}}
		}
		return nil
	}
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"), node("c"))
	until(t, "the limit is known", func() bool { return w.plugin().sidecar.maxScored() == 2 })
	weighs := func(want int32) {
		t.Helper()
		if _, status := w.score(ours, pod("web").Obj()); !status.IsSuccess() {
			t.Fatal(status)
		}
		if got := w.plugin().scoring.weights(); len(got) != 1 || got[0].Weight != want {
			t.Errorf("%v, not %d", got, want)
		}
	}
	weighs(7)
	generation.Store(2)
	// The answer says that the policy is another one, and the next one has its scorers.
	weighs(7)
	weighs(14)
	weighs(14)
	var asked []bool
	for _, request := range fake.asked() {
		asked = append(asked, request.GetScores().GetTop() > 0)
	}
	if want := []bool{true, false, true, false}; !slices.Equal(asked, want) {
		t.Errorf("asked for scores: %v, not %v", asked, want)
	}
}

func TestWhatCannotBeScoredIsNotPlaced(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.edit = func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		response.Pods[0].Scores = &nodesiftv1.PodScores{Error: "NodeAffinity: a preference cannot be read"}
		return nil
	}
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"))
	if _, status := w.score(ours, pod("web").Obj()); status.Code() != fwk.Error || !strings.Contains(status.Message(), "a preference cannot be read") {
		t.Errorf("%v", status)
	}
}

func TestAPolicyWithoutScorersAddsNothing(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.edit = func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		response.Pods[0].Scores = &nodesiftv1.PodScores{}
		return nil
	}
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"))
	got, status := w.score(ours, pod("web").Obj())
	wanted(t, got, status, map[string]int64{"a": 0, "b": 0})
}

func TestWithScoresOffNobodyAsksForThem(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, scores, patient(fake.address(), func(args *Args) { args.Scores = Off }), node("a"), node("b"))
	got, status := w.score(ours, pod("web").Obj())
	wanted(t, got, status, map[string]int64{"a": 0, "b": 0})
	if asked := fake.asked(); len(asked) != 1 || asked[0].GetScores() != nil {
		t.Errorf("%v", asked)
	}
}

func TestTotalsThatAreTooGreatKeepTheirOrder(t *testing.T) {
	fake := startFake(t, "a", "b", "c")
	fake.set(gives(map[string]int64{"a": 1_000_000_000, "b": 500_000_000, "c": 0}))
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"), node("c"))
	got, status := w.score(ours, pod("web").Obj())
	wanted(t, got, status, map[string]int64{"a": maxTold, "b": maxTold / 2, "c": 0})
}

// As a batch of kube-scheduler 1.37 has them: one node is scored again, and the scores of others are of an earlier cycle.
func TestScoresOfAnEarlierCycleBecomeThoseOfTheLastPreScore(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.set(gives(map[string]int64{"a": 150, "b": 120}))
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"))
	earlier := func() fwk.NodeScoreList { return fwk.NodeScoreList{{Name: "a", Score: 77}, {Name: "b", Score: 20}} }
	_, _, state := w.cycle(ours, pod("web").Obj())
	for what, extensions := range map[string]fwk.ScoreExtensions{Name: w.plugin().ScoreExtensions(), HundredsName: (&Hundreds{}).ScoreExtensions()} {
		list := earlier()
		if status := extensions.NormalizeScore(w.ctx, state, nil, list); !status.IsSuccess() || !slices.Equal(list, earlier()) {
			t.Errorf("%s without totals: %v, %v", what, status, list)
		}
	}
	if status := w.plugin().PreScore(w.ctx, state, pod("web").Obj(), w.nodes()); !status.IsSuccess() {
		t.Fatal(status)
	}
	for what, of := range map[string]struct {
		extensions fwk.ScoreExtensions
		a, b       int64
	}{Name: {w.plugin().ScoreExtensions(), 50, 20}, HundredsName: {(&Hundreds{}).ScoreExtensions(), 1, 1}} {
		list := earlier()
		if status := of.extensions.NormalizeScore(w.ctx, state, nil, list); !status.IsSuccess() || list[0].Score != of.a || list[1].Score != of.b {
			t.Errorf("%s: %v, %v", what, status, list)
		}
	}
}

func TestPartsOfATotalWithOtherWeightsAreRefused(t *testing.T) {
	for _, of := range []struct {
		ones, hundreds int64
		fine           bool
	}{{1, 100, true}, {3, 300, true}, {1, 1, false}, {2, 100, false}, {1, 0, false}, {0, 100, false}, {0, 0, false}} {
		err := (&scoring{}).weighted(profile{score: []config.Plugin{
			{Name: Name, Weight: int32(of.ones)}, {Name: HundredsName, Weight: int32(of.hundreds)},
		}})
		if (err == nil) != of.fine {
			t.Errorf("%d and %d: %v", of.ones, of.hundreds, err)
		}
	}
}

func TestWhatAScorerReadsThatKubeSchedulerLacksIsNotSigned(t *testing.T) {
	fake := startFake(t, "a", "b")
	fake.set(gives(map[string]int64{"a": 1}))
	w := newWorld(t, scores, patient(fake.address()), node("a"), node("b"))
	p := w.plugin()
	until(t, "the policy is known", func() bool { _, known := p.policy.evaluates(); return known })
	sign := func() string {
		_, status := p.SignPod(w.ctx, pod("web").Obj())
		return status.Message()
	}
	if got := sign(); got != "the scorers of nodesift are not known yet" {
		t.Errorf("%q", got)
	}
	if _, status := w.score(ours, pod("web").Obj()); !status.IsSuccess() {
		t.Fatal(status)
	}
	if got := sign(); got != "pods that SpotLast scores are not signable" {
		t.Errorf("%q", got)
	}
	p.scoring.note(w.ctx, policyVersion{}, []nodesift.ScorerOutcome{{Name: "TaintToleration", Weight: 3}, {Name: "ImageLocality", Weight: 1}}, p.profile())
	if got := sign(); got != "" {
		t.Errorf("%q", got)
	}
}
