package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
	nt "github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

type none = nodesift.NoArgs

var (
	other = nodesift.Unresolvable("other team")
	small = nodesift.Unschedulable("too small", "as said")
)

// over makes a predicate of a function over all nodes.
func over(filter func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Failure) nodesift.Predicate[none] {
	return nodesift.Predicate[none]{Name: "Test", Summary: "tests", Filter: func(pod *nodesift.Pod, nodes *nodesift.Nodes, _ *none) *nodesift.Failure {
		return filter(pod, nodes)
	}}
}

func perNode(filter func(*nodesift.Pod, *nodesift.Node) *nodesift.Failure) nodesift.NodePredicate[none] {
	return nodesift.NodePredicate[none]{Name: "Test", Summary: "tests", Filter: func(pod *nodesift.Pod, node *nodesift.Node, _ *none) *nodesift.Failure {
		return filter(pod, node)
	}}
}

func TestTheThreeWaysSayTheSame(t *testing.T) {
	r := random(t)
	columns := over(func(pod *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		team, _ := pod.Label("team")
		labels, free, wanted := nodes.Labels("team"), nodes.Free("cpu"), nodes.Labels("team").Code(team)
		for row := range nodes.Count() {
			if labels.Codes[row] != wanted {
				nodes.RejectRow(row, other)
			}
			if free[row] < pod.Request("cpu") {
				nodes.RejectRow(row, small)
			}
		}
		return nil
	})
	sets := over(func(pod *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		team, _ := pod.Label("team")
		nodes.Reject(nodes.LabelIn("team", team).Not(), other)
		nodes.Reject(nodes.All().And(nodes.FreeAtLeast("cpu", pod.Request("cpu")).Not()), small)
		return nil
	})
	nodewise := perNode(func(pod *nodesift.Pod, node *nodesift.Node) *nodesift.Failure {
		wanted, _ := pod.Label("team")
		if team, has := node.Label("team"); !has || team != wanted {
			return other
		}
		if node.Free("cpu") < pod.Request("cpu") {
			return small
		}
		return nil
	})
	rejections := 0
	for range 500 {
		cluster := nt.Cluster{Pod: nt.Pod{Labels: nt.Texts{"team": fmt.Sprint(r.IntN(3))}, Requests: nt.Amounts{"cpu": r.Int64N(4)}}}
		var expected []string
		for number := range r.IntN(20) {
			node := nt.Node{Name: fmt.Sprint("n", number), Allocatable: nt.Amounts{"cpu": r.Int64N(6)}, Requested: nt.Amounts{"cpu": r.Int64N(2)}}
			if r.IntN(4) > 0 {
				node.Labels = nt.Texts{"team": fmt.Sprint(r.IntN(3))}
			}
			team, has := node.Labels["team"]
			switch {
			case !has || team != cluster.Pod.Labels["team"]:
				expected = append(expected, node.Name+": other team")
			case node.Allocatable["cpu"]-node.Requested["cpu"] < cluster.Pod.Requests["cpu"]:
				expected = append(expected, node.Name+": too small; as said")
			}
			cluster.Nodes = append(cluster.Nodes, node)
		}
		rejections += len(expected)
		for _, predicate := range []nodesift.Definition{columns, sets, nodewise} {
			nt.Equal(t, cluster.Rejected(t, predicate, nil), expected...)
		}
	}
	if rejections == 0 {
		t.Fatal("nothing was compared")
	}
}

func TestAVerdictThatDependsOnOtherNodesIsFound(t *testing.T) {
	predicate := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		if nodes.Count() > 1 {
			nodes.RejectRow(0, other)
		}
		return nil
	})
	_, err := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}}.Evaluate(predicate, nil)
	if err == nil || !strings.Contains(err.Error(), "the node a depends on the other nodes") {
		t.Fatal(err)
	}
}

func TestAPodCanFitNoNode(t *testing.T) {
	predicate := over(func(pod *nodesift.Pod, _ *nodesift.Nodes) *nodesift.Failure {
		if pod.Priority() < 0 {
			return nodesift.Error("the priority is negative")
		}
		return nil
	})
	cluster := nt.Cluster{Pod: nt.Pod{Priority: -1}, Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}}
	nt.Equal(t, cluster.Rejected(t, predicate, nil), "a: the priority is negative", "b: the priority is negative")
}

func TestFailuresBeyondTheLimitKeepTheirStatus(t *testing.T) {
	const rows = 5_000
	predicate := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		for row := range nodes.Count() {
			nodes.RejectRow(row, nodesift.Unresolvable(fmt.Sprint("reason ", row)))
			nodes.RejectRow(row, small)
		}
		return nil
	})
	configured, err := nodesift.Configure(predicate, "{}")
	if err != nil {
		t.Fatal(err)
	}
	verdict := configured.Run(rows)
	if len(verdict.Failures) > 4_096 || len(verdict.Failures) < 4_000 || slices.Contains(verdict.Codes, 0) {
		t.Fatal(len(verdict.Failures))
	}
	last := verdict.Failures[verdict.Codes[rows-1]-1]
	if last.Status != nodesift.StatusUnschedulableAndUnresolvable || !strings.Contains(last.Reasons[0], "left out") {
		t.Fatal(last)
	}
	// Equal failures are one.
	configured, err = nodesift.Configure(over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		for row := range nodes.Count() {
			nodes.RejectRow(row, nodesift.Unresolvable("same"))
		}
		return nil
	}), "{}")
	if err != nil {
		t.Fatal(err)
	}
	if verdict = configured.Run(rows); len(verdict.Failures) != 1 {
		t.Fatal(verdict.Failures)
	}
}

func TestSetsAndRowsAreNotMixed(t *testing.T) {
	defer func() {
		if thrown := recover(); thrown == nil || !strings.Contains(fmt.Sprint(thrown), "not both") {
			t.Fatal(thrown)
		}
	}()
	predicate := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		nodes.Reject(nodes.All(), other)
		nodes.RejectRow(0, other)
		return nil
	})
	nt.Cluster{Nodes: []nt.Node{{Name: "a"}}}.Rejected(t, predicate, nil)
}

func TestWhatATestGivesTakesThePlaceOfAFunction(t *testing.T) {
	predicate := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		for row, count := range facts.ClusterPodsMatching(nil, false) {
			if count > 1 {
				nodes.RejectRow(row, other)
			}
		}
		return nil
	})
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}, IsClusterWide: true}
	nt.Equal(t, cluster.Rejected(t, predicate, nil))
	cluster.Facts = func(host *facts.Host) {
		host.ClusterPodsMatching = func([]facts.ClusterPodsPodSelector, bool) []uint32 { return []uint32{1, 2} }
	}
	nt.Equal(t, cluster.Rejected(t, predicate, nil), "b: other team")
}

func TestPodsAndNodesSayWhatTheTestGives(t *testing.T) {
	effect := facts.PodTolerationsEffectNoSchedule
	predicate := perNode(func(pod *nodesift.Pod, node *nodesift.Node) *nodesift.Failure {
		text, _ := node.Info(facts.NodeInfoFieldArchitecture)
		note, _ := node.Annotation("note")
		nodesift.LogInfo(fmt.Sprint(node.Name(), text, note, node.Condition("Ready"), node.Condition("Odd"), node.Condition("Absent"),
			node.HasImage("a"), node.Created(), node.PodLimit(), node.IsUnschedulable(), len(node.Taints()), pod.Images(), pod.SchedulerName(), pod.Namespace()))
		return nil
	})
	cluster := nt.Cluster{
		Pod: nt.Pod{Images: []string{"b", "a", "b"}},
		Nodes: []nt.Node{{
			Name: "n", Annotations: nt.Texts{"note": "x"}, Info: map[facts.NodeInfoField]string{facts.NodeInfoFieldArchitecture: "arm64"},
			Conditions: map[string]string{"Ready": "True", "Odd": "odd"}, Images: []string{"a"}, Created: 7, Unschedulable: true,
			Taints: []facts.NodeTaintsTaint{{Key: "k", Effect: effect}},
		}},
	}
	done, err := cluster.Evaluate(predicate, nil)
	expected := fmt.Sprint("n", "arm64", "x", "True", "Unknown", "", true, int64(7), int64(110), true, 1, []string{"a", "b"}, "default-scheduler", "default")
	if err != nil || len(done.Lines) != 1 || done.Lines[0].Text != expected {
		t.Fatal(err, done.Lines, expected)
	}
	untolerated := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		nodes.Reject(nodes.Untolerated().Or(nodes.AnnotationExists("absent")), other)
		return nil
	})
	nt.Equal(t, cluster.Rejected(t, untolerated, nil), "n: other team")
	cluster.Pod.Tolerations = []facts.PodTolerationsToleration{{Key: "k", Operator: facts.PodTolerationsOperatorExists}}
	nt.Equal(t, cluster.Rejected(t, untolerated, nil))
}

func TestMomentsAndConfigMapsAreThoseOfTheTest(t *testing.T) {
	predicate := over(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Failure {
		text, isThere := nodesift.ConfigEntry("ops/teams", "red")
		if _, isOther := nodesift.ConfigEntry("ops/other", "red"); isOther || !isThere || text != "closed" || !nodesift.Passed(100) {
			return nil
		}
		nodes.Reject(nodes.All(), other)
		return nil
	})
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}}, Now: 100, ConfigMaps: map[string]nt.Texts{"ops/teams": {"red": "closed"}}}
	nt.Equal(t, cluster.Rejected(t, predicate, nil), "a: other team")
	cluster.Now = 99
	nt.Equal(t, cluster.Rejected(t, predicate, nil))
}
