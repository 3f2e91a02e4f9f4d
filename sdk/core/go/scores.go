package nodesift

import (
	"fmt"
	"slices"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Scored requests scores of the nodes that fit, by the scorers of the policy: of so many nodes, the best first. [Set.Scores] and
// [Set.Total] have them. The most is `scoredNodes` of [Capabilities.Limits]; the sidecar refuses more with [ErrOverloaded].
func Scored(top uint32) FeasibleOption {
	return feasibleFunc(func(to *feasible) { to.request.Scores = &nodesiftv1.ScoreRequest{Top: top} })
}

// Scores are the scores of the nodes that one pod fits. Totals say something beside others of the same answer only: with other nodes that
// fit, the same node has another one.
type Scores struct {
	// By total from the highest, then by name. Empty where no node fits, and where there is an error.
	Best []ScoredNode
	// The number of nodes that have the total of the last one of Best and are not among these.
	Ties int
	// The scorers of the policy, in its order. Empty where no node fits, and where the policy has none.
	Scorers []ScorerOutcome
	// Why the pod has no scores, with the name of the scorer; kube-scheduler ends the cycle of such a pod with an error. Empty where it
	// has some.
	Error string
	// Scorers whose call failed. Those that the policy ignores have added nothing.
	Faults []Fault
}

// IsLate tells that the pod has no scores because the time of the request for them was up before a scorer answered. Which nodes fit is known
// all the same.
func (s Scores) IsLate() bool {
	return slices.ContainsFunc(s.Faults, func(fault Fault) bool { return fault.Kind == "RequestDeadline" })
}

// ScoredNode is a node that fits, with its total: the sum of weight times score, from 0 to 100 each, over all scorers.
type ScoredNode struct {
	Node  string
	Total int64
}

// ScorerOutcome is a scorer of the policy, and what became of it for a pod.
type ScorerOutcome struct {
	Name string
	// The factor of its scores in totals: 1 to 1,000,000.
	Weight int64
	// Scored, Skipped, Failed or NotAsked; only those of the first are in totals.
	Outcome string
}

// Scores are those of the nodes that fit. Only with [Scored]. Shared: not to be changed.
func (s Set) Scores() Scores { return s.get().scores }

// Total is the total of a node that is among the best ones of [Set.Scores], without a search.
func (s Set) Total(node string) (total int64, ok bool) {
	a := s.get()
	row, ok := a.names.Row(node)
	if !ok || int(row) >= len(a.totals) || a.totals[row] < 0 {
		return 0, false
	}
	return a.totals[row], true
}

// readScores reads the scores of a pod, once the table of its answer and the nodes that fit are known.
func (a *answer) readScores(of *nodesiftv1.PodScores) error {
	if of == nil {
		return nil
	}
	a.scores = Scores{Ties: int(of.GetTies()), Error: of.GetError(), Faults: faultsOf(of.GetFaults())}
	for _, scorer := range of.GetScorers() {
		a.scores.Scorers = append(a.scores.Scorers, ScorerOutcome{scorer.GetScorer(), int64(scorer.GetWeight()), scorer.GetOutcome()})
	}
	if len(of.GetBest()) == 0 {
		return nil
	}
	a.scores.Best = make([]ScoredNode, 0, len(of.GetBest()))
	a.totals = make([]int64, a.names.Len())
	for row := range a.totals {
		a.totals[row] = noTotal
	}
	for _, node := range of.GetBest() {
		row, known := node.GetRow(), node.Row != nil
		if a.ownTable {
			row, known = a.names.Row(node.GetNode())
		}
		// A row of nodes that fit is one of the table.
		if !known || !bit(a.fits, row) || a.totals[row] != noTotal || node.GetTotal() < 0 {
			return fmt.Errorf("%w: row %d %q, with the total %d, is no node that fits, is named twice, or has no total of scores",
				ErrTable, row, node.GetNode(), node.GetTotal())
		}
		a.totals[row] = node.GetTotal()
		a.scores.Best = append(a.scores.Best, ScoredNode{a.names.Name(row), node.GetTotal()})
	}
	return nil
}

// noTotal is in the place of the total of a row that has none: no total is negative.
const noTotal = -1
