package tests

import (
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

func TestAPodOnANodeThatIsNotThereIsRefused(t *testing.T) {
	_, err := nt.Cluster{Pods: []nt.Pod{{NodeName: "x"}}}.Evaluate(over(nil), nil)
	if err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Fatal(err)
	}
}
