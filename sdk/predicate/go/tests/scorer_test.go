package tests

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	nt "github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

// scoring makes a scorer of a function over all nodes.
func scoring(score func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores) nodesift.Scorer[none] {
	return nodesift.Scorer[none]{Name: "Test", Summary: "tests", Score: func(pod *nodesift.Pod, nodes *nodesift.Nodes, _ *none) *nodesift.Scores {
		return score(pod, nodes)
	}}
}

func TestBothWaysGiveTheSameScores(t *testing.T) {
	r := random(t)
	columns := scoring(func(pod *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Scores {
		if _, isPlain := pod.Label("plain"); isPlain {
			return nodesift.Skip()
		}
		raw, free, zones := make([]int64, nodes.Count()), nodes.Free("cpu"), nodes.Labels("zone")
		for row := range raw {
			raw[row] = free[row]
			if zones.Codes[row] == 0 {
				raw[row] = nodesift.NoScore
			}
		}
		return nodesift.ByRow(raw)
	})
	nodewise := nodesift.NodeScorer[none]{
		Name: "Test", Summary: "tests",
		PreScore: func(pod *nodesift.Pod, _ *none) *nodesift.Scores {
			if _, isPlain := pod.Label("plain"); isPlain {
				return nodesift.Skip()
			}
			return nil
		},
		Score: func(_ *nodesift.Pod, node *nodesift.Node, _ *none) int64 {
			if _, hasZone := node.Label("zone"); !hasZone {
				return nodesift.NoScore
			}
			return node.Free("cpu")
		},
	}
	compared := 0
	for range 500 {
		cluster := nt.Cluster{}
		if r.IntN(5) == 0 {
			cluster.Pod.Labels = nt.Texts{"plain": ""}
		}
		var expected []string
		for number := range r.IntN(20) {
			node := nt.Node{Name: fmt.Sprint("n", number), Allocatable: nt.Amounts{"cpu": r.Int64N(6)}, Requested: nt.Amounts{"cpu": r.Int64N(8)}}
			score := "none"
			if r.IntN(4) > 0 {
				node.Labels = nt.Texts{"zone": ""}
				score = fmt.Sprint(node.Allocatable["cpu"] - node.Requested["cpu"])
			}
			cluster.Nodes = append(cluster.Nodes, node)
			expected = append(expected, node.Name+": "+score)
		}
		if cluster.Pod.Labels != nil {
			expected = []string{"skipped"}
		}
		compared += len(expected)
		for _, scorer := range []nodesift.ScorerDefinition{columns, nodewise} {
			nt.Equal(t, cluster.Scores(t, scorer, nil), expected...)
			// What only scores has a filter that fits all.
			nt.Equal(t, cluster.Rejected(t, scorer, nil))
		}
	}
	if compared == 0 {
		t.Fatal("nothing was compared")
	}
}

func TestAPodThatCannotBeScoredIsToldWithTheReason(t *testing.T) {
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}}
	nt.Equal(t, cluster.Scores(t, scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores {
		return nodesift.Failed("weight: no integer")
	}), nil), "failed: weight: no integer")
}

func TestAScorerCanRejectNodesAsWell(t *testing.T) {
	scorer := nodesift.NodeScorer[none]{
		Name: "Test", Summary: "tests", Normalization: nodesift.NormalizeByLargest,
		Score: func(*nodesift.Pod, *nodesift.Node, *none) int64 { return 7 },
		Filter: func(_ *nodesift.Pod, node *nodesift.Node, _ *none) *nodesift.Failure {
			if node.IsUnschedulable() {
				return other
			}
			return nil
		},
	}
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b", Unschedulable: true}}}
	nt.Equal(t, cluster.Rejected(t, scorer, nil), "b: other team")
	nt.Equal(t, cluster.Scores(t, scorer, nil), "a: 7", "b: 7")
	configured, err := nodesift.Configure(scorer, "{}")
	if err != nil || configured.Normalization() != nodesift.NormalizeByLargest {
		t.Fatal(configured.Normalization(), err)
	}
	if _, err := nodesift.Configure(nodesift.Scorer[none]{Name: "Test", Summary: "tests"}, "{}"); err == nil {
		t.Fatal("a scorer without Score is accepted")
	}
}

func TestScoresFrom0To100AreThoseOfTheHost(t *testing.T) {
	raw := []int64{4, nodesift.NoScore, 1, 100, 2}
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d", Infeasible: true}, {Name: "e"}}, IsClusterWide: true}
	by := func(normalization nodesift.Normalization, raw []int64) nodesift.ScorerDefinition {
		scorer := scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores { return nodesift.ByRow(raw) })
		scorer.Normalization = normalization
		return scorer
	}
	for normalization, expected := range map[nodesift.Normalization][]string{
		nodesift.NormalizeNone:              {"a: 4", "b: 0", "c: 1", "e: 2"},
		nodesift.NormalizeByLargest:         {"a: 100", "b: 0", "c: 25", "e: 50"},
		nodesift.NormalizeByLargestReversed: {"a: 0", "b: 0", "c: 75", "e: 50"},
		nodesift.NormalizeByRange:           {"a: 100", "b: 0", "c: 0", "e: 33"},
		nodesift.NormalizeByDistance:        {"a: 25", "b: 0", "c: 100", "e: 75"},
	} {
		nt.Equal(t, cluster.Normalized(t, by(normalization, raw), nil), expected...)
		nt.Equal(t, cluster.Scores(t, by(normalization, raw), nil), "a: 4", "b: none", "c: 1", "d: 100", "e: 2")
	}
	nothing := make([]int64, len(raw))
	for normalization, score := range map[nodesift.Normalization]int{
		nodesift.NormalizeByLargest: 0, nodesift.NormalizeByLargestReversed: 100, nodesift.NormalizeByRange: 0, nodesift.NormalizeByDistance: 100,
	} {
		nt.Equal(t, cluster.Normalized(t, by(normalization, nothing), nil),
			fmt.Sprint("a: ", score), fmt.Sprint("b: ", score), fmt.Sprint("c: ", score), fmt.Sprint("e: ", score))
	}
	skipping := scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores { return nodesift.Skip() })
	nt.Equal(t, cluster.Normalized(t, skipping, nil), "skipped")
	outside := refusal{TB: t}
	func() {
		defer func() { _ = recover() }()
		cluster.Normalized(&outside, by(nodesift.NormalizeNone, []int64{0, 0, 101, 0, 0}), nil)
	}()
	if outside.text != "the node c has the score 101 by the normalization none: the host takes 0 to 100" {
		t.Error(outside.text)
	}
}

// refusal keeps why a test has failed.
type refusal struct {
	testing.TB
	text string
}

func (r *refusal) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	panic(r.text)
}

func TestAScoreThatDependsOnOtherNodesIsFound(t *testing.T) {
	scorer := scoring(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Scores {
		return nodesift.ByRow(append(make([]int64, nodes.Count()-1), int64(nodes.Count())))
	})
	_, err := nt.Cluster{Nodes: []nt.Node{{Name: "a"}, {Name: "b"}}}.Score(scorer, nil)
	if err == nil || err.Error() != "the score of the node a depends on the other nodes: 0; without them, 1" {
		t.Fatal(err)
	}
}

// panicked gives the text of the panic of a function.
func panicked(run func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	run()
	return ""
}

func TestWhatTheHostRefusesOfAScorerPanics(t *testing.T) {
	cluster := nt.Cluster{Nodes: []nt.Node{{Name: "a"}}}
	many := nodesift.ByRow([]int64{1, 2})
	for reason, scorer := range map[string]nodesift.ScorerDefinition{
		"not nil":         scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores { return nil }),
		"and not 2 for 1": scoring(func(*nodesift.Pod, *nodesift.Nodes) *nodesift.Scores { return many }),
		"makes a row set": scoring(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Scores {
			nodes.LabelExists("a")
			return nodesift.Skip()
		}),
		"rejects no nodes": scoring(func(_ *nodesift.Pod, nodes *nodesift.Nodes) *nodesift.Scores {
			nodes.RejectRow(0, other)
			return nodesift.Skip()
		}),
		"PreScore gives nil": nodesift.NodeScorer[none]{
			Name: "Test", Summary: "tests",
			PreScore: func(*nodesift.Pod, *none) *nodesift.Scores { return many },
			Score:    func(*nodesift.Pod, *nodesift.Node, *none) int64 { return 0 },
		},
	} {
		if text := panicked(func() { cluster.Scores(t, scorer, nil) }); !strings.Contains(text, reason) {
			t.Errorf("%s, expected is %s", text, reason)
		}
	}
	// This program does not import the package scoring.
	if text := panicked(func() { nodesift.Export(scoring(nil)) }); !strings.Contains(text, "scoring.Export") {
		t.Error(text)
	}
}

func TestNormalizationsAreThoseOfTheContract(t *testing.T) {
	contract, err := os.ReadFile("../../wit/predicate.wit")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(contract), "enum normalization {")
	body, _, _ = strings.Cut(body, "}")
	names := regexp.MustCompile(`(?m)^ *([a-z-]+),$`).FindAllStringSubmatch(body, -1)
	if len(names) != 5 {
		t.Fatal(names)
	}
	for number, name := range names {
		if nodesift.Normalization(number).String() != name[1] {
			t.Errorf("%d is %s, and in the contract %s", number, nodesift.Normalization(number), name[1])
		}
	}
}
