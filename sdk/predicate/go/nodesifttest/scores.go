package nodesifttest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
)

// Scoring is what a scorer has done.
type Scoring struct {
	// Scores are raw: the host makes scores from 0 to 100 of them.
	Scores *nodesift.Scores
	// Lines are those of the log.
	Lines []Line

	normalization nodesift.Normalization
}

// Scores gives the raw scores of the nodes in their order, each as `name: score`, and `name: none` without one; or `skipped`, or `failed:
// reason`, alone. The test fails where the arguments are refused, or the score of a node depends on the other nodes.
func (c Cluster) Scores(t testing.TB, scorer nodesift.ScorerDefinition, args Args) []string {
	t.Helper()
	done, err := c.Score(scorer, args)
	if err != nil {
		t.Fatal(err)
	}
	if done.Scores.IsSkipped() || done.Scores.IsFailed() {
		return []string{at(done.Scores, 0)}
	}
	var lines []string
	for row, score := range done.Scores.Raw() {
		lines = append(lines, c.Nodes[row].Name+": "+shown(score))
	}
	return lines
}

// Normalized gives the scores from 0 to 100 that the host makes of raw scores, in the order of the nodes and over those that are not
// Infeasible, each as `name: score`; otherwise as [Cluster.Scores]. The test fails too where a score is not from 0 to 100.
func (c Cluster) Normalized(t testing.TB, scorer nodesift.ScorerDefinition, args Args) []string {
	t.Helper()
	done, err := c.Score(scorer, args)
	if err != nil {
		t.Fatal(err)
	}
	if done.Scores.IsSkipped() || done.Scores.IsFailed() {
		return []string{at(done.Scores, 0)}
	}
	var names []string
	var raw []int64
	for row, score := range done.Scores.Raw() {
		if node := c.Nodes[row]; !node.Infeasible {
			names, raw = append(names, node.Name), append(raw, score)
		}
	}
	normalization := done.normalization
	var lines []string
	for row, score := range normalized(normalization, raw) {
		if score < 0 || score > maxScore {
			t.Fatalf("the node %s has the score %d by the normalization %s: the host takes 0 to 100", names[row], score, normalization)
		}
		lines = append(lines, names[row]+": "+shown(score))
	}
	return lines
}

// Score gives all that the scorer has done, or why its arguments are refused.
func (c Cluster) Score(scorer nodesift.ScorerDefinition, args Args) (Scoring, error) {
	if args == nil {
		args = Args{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return Scoring{}, err
	}
	return both(c, scorer, string(text), Cluster.score, func(all, alone Scoring, row int) error {
		if at(all.Scores, row) == at(alone.Scores, 0) {
			return nil
		}
		return fmt.Errorf("the score of the node %s depends on the other nodes: %s; without them, %s",
			c.Nodes[row].Name, at(all.Scores, row), at(alone.Scores, 0))
	})
}

func (c Cluster) score(configured nodesift.Configured, nodes []Node) (Scoring, error) {
	var done Scoring
	defer c.bind(nodes, &rowSets{isScoring: true}, &done.Lines)()
	done.Scores = configured.Score(len(nodes))
	done.normalization = configured.Normalization()
	return done, nil
}

// at gives what is said of a row, in words.
func at(scores *nodesift.Scores, row int) string {
	switch {
	case scores.IsSkipped():
		return "skipped"
	case scores.IsFailed():
		return "failed: " + scores.Reason()
	}
	return shown(scores.Raw()[row])
}

func shown(score int64) string {
	if score == nodesift.NoScore {
		return "none"
	}
	return strconv.FormatInt(score, 10)
}
