package tests

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
	nt "github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

func TestEveryFunctionOfTheContractAnswers(t *testing.T) {
	const least = 90
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}, Facts: func(host *facts.Host) {
		functions := reflect.ValueOf(*host)
		if functions.NumField() < least {
			t.Errorf("%d functions", functions.NumField())
		}
		for index := range functions.NumField() {
			name, function := functions.Type().Field(index).Name, functions.Field(index)
			if function.IsNil() {
				t.Errorf("%s does not answer", name)
				continue
			}
			// Sets are made of others, and lines have nobody who reads them.
			if strings.HasPrefix(name, "RowSets") || name == "LogWrite" {
				continue
			}
			var given []reflect.Value
			for number := range function.Type().NumIn() {
				given = append(given, reflect.Zero(function.Type().In(number)))
			}
			function.Call(given)
		}
		t.Logf("%d functions answer", functions.NumField())
	}}
	cluster.Rejected(t, over(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Failure { return nil }), nil)
}

// asked is what a function says in an evaluation.
func asked[T any](t *testing.T, cluster nt.Cluster, ask func() T) T {
	t.Helper()
	var answer T
	cluster.IsClusterWide = true
	nt.Equal(t, cluster.Rejected(t, over(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Failure {
		answer = ask()
		return nil
	}), nil))
	return answer
}

func same(t *testing.T, got, expected any) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("%v, expected is %v", got, expected)
	}
}

func requirement(operator facts.SelectorsOperator, values ...string) facts.SelectorsRequirement {
	return facts.SelectorsRequirement{Key: "app", Operator: operator, Values: values}
}

var (
	web      = facts.PodOwnerOwner{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}
	occupied = nt.Cluster{
		Pod: nt.Pod{Labels: nt.Texts{"app": "web"}, Controller: &web, HostPorts: []int{80}},
		Nodes: []nt.Node{
			{Name: "a", Allocatable: nt.Amounts{"cpu": 4000}, Requested: nt.Amounts{"cpu": 500}}, {Name: "b", Pods: 2}, {Name: "c"},
		},
		Pods: []nt.Pod{
			{NodeName: "a", Labels: nt.Texts{"app": "web"}, Requests: nt.Amounts{"cpu": 1000}, Controller: &web, HostPorts: []int{80}},
			{NodeName: "a", Labels: nt.Texts{"app": "db"}, Namespace: "prod", NamespaceLabels: nt.Texts{"app": "x"}, SchedulerName: "other"},
			{NodeName: "c", Labels: nt.Texts{"app": "web"}, Requests: nt.Amounts{"cpu": 200}, Controller: &web, Terminating: true},
		},
		DeviceClassResources: []string{"example.com/gpu"},
	}
)

func TestPodsOnNodesAreInTheColumnsOfTheirNodes(t *testing.T) {
	columns := asked(t, occupied, func() [][]int64 {
		return [][]int64{
			facts.NodeResourcesRequested("cpu"), facts.NodeResourcesFree("cpu"), facts.NodeResourcesForeign("cpu"),
			facts.NodeResourcesPods(), facts.NodeResourcesForeignPods(), facts.NodeResourcesPodRoom(),
		}
	})
	same(t, columns, [][]int64{{1500, 0, 200}, {2500, 0, -200}, {0, 0, 0}, {3, 2, 1}, {1, 0, 0}, {107, 108, 109}})
	same(t, asked(t, occupied, func() []bool {
		return []bool{facts.NodeResourcesDeviceClassServes("example.com/gpu"), facts.NodeResourcesDeviceClassServes("cpu")}
	}), []bool{true, false})
	same(t, asked(t, occupied, func() []uint8 {
		column, _ := facts.NodePortsConflicts()
		return column
	}), []uint8{1, 0, 0})
}

func TestPodsAreCountedBySelectorsAndControllers(t *testing.T) {
	every := []facts.SelectorsRequirement{}
	exists := []facts.SelectorsRequirement{requirement(facts.SelectorsOperatorExists)}
	in := func(namespaces []string, further *[]facts.SelectorsRequirement, all ...facts.SelectorsRequirement) []facts.ClusterPodsPodSelector {
		return []facts.ClusterPodsPodSelector{{Namespaces: namespaces, NamespaceRequirements: further, Requirements: all}}
	}
	byDefault := []string{"default"}
	isWeb := requirement(facts.SelectorsOperatorIn, "web")
	counts := asked(t, occupied, func() [][]uint32 {
		siblings, _ := facts.ClusterControllersSameController(false)
		all, _ := facts.ClusterControllersSameController(true)
		return [][]uint32{
			facts.ClusterPodsMatching(in(byDefault, nil, isWeb), false),
			facts.ClusterPodsMatching(in(byDefault, nil, isWeb), true),
			facts.ClusterPodsMatching(in(nil, &every, requirement(facts.SelectorsOperatorNotIn, "web")), true),
			facts.ClusterPodsMatching(in(nil, &exists), true),
			facts.ClusterPodsMatching(in(byDefault, nil, requirement(facts.SelectorsOperatorDoesNotExist)), true),
			siblings, all,
		}
	})
	same(t, counts, [][]uint32{{1, 0, 0}, {1, 0, 1}, {2, 2, 0}, {1, 0, 0}, {1, 2, 0}, {1, 0, 0}, {1, 0, 1}})
	same(t, asked(t, occupied, func() []int64 { return facts.ClusterPodsRequested(in(nil, &every), "cpu", true) }), []int64{1500, 0, 200})
	same(t, asked(t, occupied, func() []bool {
		return []bool{
			facts.ClusterPodsMatchesThisPod(in(byDefault, nil, exists...)),
			facts.ClusterPodsMatchesThisPod(in([]string{"prod"}, nil, exists...)),
		}
	}), []bool{true, false})
	same(t, asked(t, occupied, func() string {
		uid, _ := facts.PodOwnerControllerUid()
		return uid
	}), "default/ReplicaSet/web")
}

func TestRequestsCountWithThoseOfContainersThatNameNone(t *testing.T) {
	const memory = 200 << 20
	cluster := occupied
	cluster.Pod = nt.Pod{Images: []string{"b", "registry:5000/a", "c:v1", "d@sha256:1"}, Requests: nt.Amounts{"cpu": 0, "example.com/gpu": 1}}
	requests := func() []string {
		var texts []string
		for _, request := range facts.PodNonZeroRequestsRequests() {
			texts = append(texts, fmt.Sprint(request.Resource, " ", request.Amount))
		}
		return texts
	}
	same(t, asked(t, cluster, requests), []string{"cpu 300", "example.com/gpu 1", fmt.Sprint("memory ", 4*memory)})
	same(t, asked(t, cluster, facts.PodImagesContainers), []string{"b:latest", "registry:5000/a:latest", "c:v1", "d@sha256:1"})
	cluster.Pod = nt.Pod{}
	same(t, asked(t, cluster, requests), []string{"cpu 100", fmt.Sprint("memory ", memory)})
	same(t, asked(t, cluster, facts.PodImagesContainers), []string{"image:latest"})
	same(t, asked(t, cluster, facts.PodSpecImages), []string{"image"})
	same(t, asked(t, cluster, func() [][]int64 {
		return [][]int64{
			facts.NodeNonZeroRequestsRequested("cpu"), facts.NodeNonZeroRequestsRequested("memory"),
			facts.NodeNonZeroRequestsRequested("example.com/gpu"),
		}
	}), [][]int64{{1600, 200, 200}, {3 * memory, 2 * memory, memory}, {0, 0, 0}})
}

func TestWhatACaseSaysOfContainersIsTakenAsItIs(t *testing.T) {
	pod := nt.Pod{Images: []string{"a", "b"}, ContainerImages: []string{"b:latest", "a:latest", "b:latest"}, NonZeroRequests: nt.Amounts{"cpu": 7}}
	pod.NodeName = "a"
	cluster := nt.Cluster{Pod: pod, Nodes: []nt.Node{{Name: "a"}}, Pods: []nt.Pod{pod}}
	same(t, asked(t, cluster, facts.PodImagesContainers), pod.ContainerImages)
	same(t, asked(t, cluster, func() int64 { return facts.PodNonZeroRequestsRequests()[0].Amount }), int64(7))
	same(t, asked(t, cluster, func() []int64 { return facts.NodeNonZeroRequestsRequested("cpu") }), []int64{7})
}

func TestImagesHaveTheSizeOfTheFirstNode(t *testing.T) {
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a", Images: []string{"x"}}, {Name: "b", ImageSizes: nt.Amounts{"x": 5, "y": 7}}}}
	same(t, asked(t, cluster, func() []int64 {
		return []int64{facts.ClusterImagesSize("x"), facts.ClusterImagesSize("y"), facts.ClusterImagesSize("z")}
	}), []int64{0, 7, 0})
	same(t, asked(t, cluster, func() []uint8 { return facts.NodeImagesPresent("y") }), []uint8{0, 1})
}

func TestCandidatesAreTheNodesOnWhichThePodFitsInACallThatScores(t *testing.T) {
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a", Infeasible: true}, {Name: "b"}}, IsClusterWide: true}
	same(t, asked(t, cluster, facts.ClusterCandidatesFeasible), []uint8{1, 1})
	nt.Equal(t, cluster.Scores(t, scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores {
		var raw []int64
		for _, fits := range facts.ClusterCandidatesFeasible() {
			raw = append(raw, int64(fits))
		}
		return nodesift.ByRow(raw)
	}), nil), "a: 0", "b: 1")
}

func TestTermsOfPodsOnNodesCountWhereTheyAreAboutThePod(t *testing.T) {
	isWeb := facts.SelectorsLabelSelector{MatchLabels: []facts.Tuple2[string, string]{{A: "app", B: "web"}}}
	term := func(key string) facts.PodAffinityTerm {
		return facts.PodAffinityTerm{Selector: &isWeb, TopologyKey: key}
	}
	isDB := facts.SelectorsLabelSelector{MatchExpressions: []facts.SelectorsRequirement{requirement(facts.SelectorsOperatorIn, "db")}}
	aboutNamespaces := facts.PodAffinityTerm{Selector: &isWeb, NamespaceSelector: &isDB, TopologyKey: "zone"}
	cluster := nt.Cluster{
		Pod: nt.Pod{
			Labels: nt.Texts{"app": "web"}, NamespaceLabels: nt.Texts{"app": "db"}, Affinity: []facts.PodAffinityTerm{term("own")},
			PreferredAffinity: []nt.WeightedTerm{{A: 9, B: term("own")}},
			PreferredNodes:    []facts.PodPlacementPreferredTerm{{Weight: 3}},
		},
		Nodes: []nt.Node{{Name: "a"}, {Name: "b"}},
		Pods: []nt.Pod{
			{
				NodeName: "a", Affinity: []facts.PodAffinityTerm{term("host"), {TopologyKey: "zone"}},
				PreferredAffinity:     []nt.WeightedTerm{{A: 5, B: term("zone")}, {A: 40, B: facts.PodAffinityTerm{Selector: &isDB, TopologyKey: "zone"}}},
				PreferredAntiAffinity: []nt.WeightedTerm{{A: 7, B: term("zone")}},
			},
			// It is in another namespace, which its first term is about.
			{
				NodeName: "b", Namespace: "prod", AntiAffinity: []facts.PodAffinityTerm{term("host"), aboutNamespaces},
				PreferredAntiAffinity: []nt.WeightedTerm{{A: 60, B: term("zone")}, {A: 2, B: aboutNamespaces}},
			},
		},
	}
	same(t, asked(t, cluster, facts.ClusterPreferencesTopologyKeys), []string{"host", "zone"})
	same(t, asked(t, cluster, func() []int64 { return facts.ClusterPreferencesWeights("zone") }), []int64{-2, -2})
	same(t, asked(t, cluster, func() [][]uint32 {
		return [][]uint32{
			facts.ClusterPreferencesPreferredTerms("zone"), facts.ClusterPreferencesRequiredTerms("host"),
			facts.ClusterPreferencesRequiredTerms("zone"), facts.ClusterAffinityAntiAffinityTerms("zone"),
		}
	}), [][]uint32{{2, 1}, {1, 0}, {0, 0}, {0, 1}})
	same(t, asked(t, cluster, facts.ClusterAffinityTopologyKeys), []string{"zone"})
	same(t, asked(t, cluster, facts.PodAffinityAffinity), cluster.Pod.Affinity)
	same(t, asked(t, cluster, facts.PodPreferredAffinityAffinity), cluster.Pod.PreferredAffinity)
	same(t, asked(t, cluster, func() []facts.PodPlacementPreferredTerm {
		terms, _ := facts.PodPlacementPreferredTerms()
		return terms
	}), cluster.Pod.PreferredNodes)
}

func TestAPodOnANodeThatIsNotThereIsRefused(t *testing.T) {
	_, err := nt.Cluster{Pods: []nt.Pod{{NodeName: "x"}}}.Evaluate(over(nil), nil)
	if err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Fatal(err)
	}
}
