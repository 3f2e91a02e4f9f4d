package nodesift

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// scored is an answer about the nodes a, b and c, of which the first and the last fit.
func scored(t *testing.T) *answer {
	table := &nodesiftv1.RowTable{Epoch: 7, Whole: true, Count: 3}
	for row, name := range []string{"a", "b", "c"} {
		table.Changes = append(table.Changes, &nodesiftv1.RowName{Row: uint32(row), Node: name})
	}
	names, err := (*RowNames)(nil).With(table)
	if err != nil {
		t.Fatal(err)
	}
	return &answer{names: names, fits: []byte{0b101}, feasible: 2}
}

func total(row uint32, total int64) *nodesiftv1.ScoredNode {
	return &nodesiftv1.ScoredNode{Row: proto.Uint32(row), Total: total}
}

func TestTotalsAreThoseOfTheNodesInTheRows(t *testing.T) {
	a := scored(t)
	err := a.readScores(&nodesiftv1.PodScores{Best: []*nodesiftv1.ScoredNode{total(2, 700), total(0, 0)},
		Scorers: []*nodesiftv1.ScorerAnswer{{Scorer: "SpotLast", Weight: 7, Outcome: "Scored"}}})
	if err != nil {
		t.Fatal(err)
	}
	set := Set{a}
	if best := set.Scores().Best; !slices.Equal(best, []ScoredNode{{"c", 700}, {"a", 0}}) {
		t.Errorf("the best are %v", best)
	}
	if scorers := set.Scores().Scorers; !slices.Equal(scorers, []ScorerOutcome{{"SpotLast", 7, "Scored"}}) {
		t.Errorf("the scorers are %v", scorers)
	}
	for node, want := range map[string]int64{"a": 0, "c": 700} {
		if got, ok := set.Total(node); !ok || got != want {
			t.Errorf("the total of %s is %d, %t", node, got, ok)
		}
	}
	for _, node := range []string{"b", "d"} {
		if got, ok := set.Total(node); ok {
			t.Errorf("%s has a total, %d", node, got)
		}
	}
	if _, ok := (Set{}).Total("a"); ok {
		t.Error("a Set without an answer has a total")
	}
}

func TestTotalsOfOtherNodesThanThoseThatFitAreRefused(t *testing.T) {
	for what, best := range map[string][]*nodesiftv1.ScoredNode{
		"a node that does not fit": {total(1, 5)}, "a row that the table lacks": {total(9, 5)}, "a row twice": {total(0, 5), total(0, 6)},
		"a negative total": {total(0, -5)}, "no row": {{Node: "a", Total: 5}},
	} {
		if err := scored(t).readScores(&nodesiftv1.PodScores{Best: best}); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
