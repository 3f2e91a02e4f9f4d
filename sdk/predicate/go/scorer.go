package nodesift

import (
	"math"
	"strconv"
)

// ScorerDefinition is a [Scorer] or a [NodeScorer]. It is a [Definition] too: what only scores has a filter that fits all.
type ScorerDefinition interface {
	Definition
	normalization() Normalization
}

// Normalization is how the host makes scores from 0 to 100 of raw scores, over the nodes on which the pod fits. Divisions of whole numbers
// cut toward zero. A score outside of 0 to 100 after this is a fault of the scorer.
type Normalization uint8

// The normalizations, as the contract numbers them.
const (
	// NormalizeNone: raw scores are scores already.
	NormalizeNone Normalization = iota
	// NormalizeByLargest: `100 * raw / m`, where m is the largest raw score and at least 0. Raw scores are scores where m is 0.
	NormalizeByLargest
	// NormalizeByLargestReversed: 100 minus the score of NormalizeByLargest; 100 on every node where m is 0.
	NormalizeByLargestReversed
	// NormalizeByRange: `100 * (raw - lo) / (hi - lo)`, where lo and hi are the smallest and the largest raw score; 0 on every node where
	// these are equal. It is computed in floating point, as by InterPodAffinity of kube-scheduler.
	NormalizeByRange
	// NormalizeByDistance: `100 * (hi + lo - raw) / hi`, where lo and hi are the smallest and the largest raw score, hi at least 0; 100
	// where hi is 0. PodTopologySpread of kube-scheduler.
	NormalizeByDistance
)

// String gives the name in the contract.
func (n Normalization) String() string {
	names := [...]string{"none", "by-largest", "by-largest-reversed", "by-range", "by-distance"}
	if int(n) >= len(names) {
		return "unknown"
	}
	return names[n]
}

// NoScore is a raw score that stands for none: the node counts for no smallest or largest score, and its score is 0.
const NoScore = math.MinInt64

// Scores are what a scorer says of a pod: [ByRow], [Skip] or [Failed].
type Scores struct {
	kind   scoresKind
	raw    []int64
	reason string
}

type scoresKind uint8

// As the contract numbers them.
const (
	skipped scoresKind = iota
	byRow
	failed
)

// ByRow gives one raw score per row; higher is better, unless the normalization says otherwise. [NoScore] stands for none.
func ByRow(raw []int64) *Scores { return &Scores{kind: byRow, raw: raw} }

// Skip says nothing about the pod: the scorer adds nothing on any node. Zeros are not the same, since a reversed normalization makes 100 of
// them. This is Skip of PreScore in kube-scheduler.
func Skip() *Scores { return &Scores{kind: skipped} }

// Failed says that the pod cannot be scored, and why. In kube-scheduler the pod's scheduling cycle ends with this error.
func Failed(reason string) *Scores { return &Scores{kind: failed, reason: reason} }

// IsSkipped says whether the scorer says nothing about the pod.
func (s *Scores) IsSkipped() bool { return s.kind == skipped }

// IsFailed says whether the pod cannot be scored.
func (s *Scores) IsFailed() bool { return s.kind == failed }

// Raw gives the raw scores by row; nil where there are none.
func (s *Scores) Raw() []int64 { return s.raw }

// Reason gives why the pod cannot be scored.
func (s *Scores) Reason() string { return s.reason }

// Scorer is a function of the pod and all nodes of a call that says how good each node is. Where it reads only facts of the pod and of
// nodes, the score of a node must not depend on the other nodes.
type Scorer[Args any] struct {
	// Name is the name as used in policies.
	Name string
	// Version is the version of the scorer, in any scheme.
	Version string
	// Summary says in one line which nodes have high scores.
	Summary string
	// Defaults stand for arguments that a policy leaves out.
	Defaults Args
	// Check is optional: an error refuses the policy with its text, which should begin with the path of the argument.
	Check func(args *Args) error
	// Normalization is how the host makes scores of raw scores.
	Normalization Normalization
	// Score gives [ByRow], [Skip] or [Failed]. There are no row sets. Rows on which the pod does not fit are among the nodes; what is said
	// of these counts for nothing.
	Score func(pod *Pod, nodes *Nodes, args *Args) *Scores
	// Filter is optional, as in a [Predicate]: without it every node fits.
	Filter func(pod *Pod, nodes *Nodes, args *Args) *Failure
}

// NodeScorer is a function of the pod and one node that says how good the node is.
type NodeScorer[Args any] struct {
	// Name is the name as used in policies.
	Name string
	// Version is the version of the scorer, in any scheme.
	Version string
	// Summary says in one line which nodes have high scores.
	Summary string
	// Defaults stand for arguments that a policy leaves out.
	Defaults Args
	// Check is optional: an error refuses the policy with its text, which should begin with the path of the argument.
	Check func(args *Args) error
	// Normalization is how the host makes scores of raw scores.
	Normalization Normalization
	// PreScore is optional, and called before the nodes are scored: nil goes on with them, and [Skip] or [Failed] is said in their place.
	PreScore func(pod *Pod, args *Args) *Scores
	// Score gives the raw score of one node; higher is better, unless the normalization says otherwise. [NoScore] stands for none. It is
	// called once per node.
	Score func(pod *Pod, node *Node, args *Args) int64
	// Filter is optional, as in a [NodePredicate]: without it every node fits.
	Filter func(pod *Pod, node *Node, args *Args) *Failure
}

func (s Scorer[Args]) describe() (name, version, summary string) { return s.Name, s.Version, s.Summary }

func (s Scorer[Args]) normalization() Normalization { return s.Normalization }

func (s Scorer[Args]) configure(text string) (calls, error) {
	if s.Score == nil {
		return calls{}, errWithoutScore
	}
	args, err := parseArgs(text, s.Defaults, s.Check)
	if err != nil {
		return calls{}, err
	}
	made := calls{
		filter: fitsAll,
		score:  func(pod *Pod, nodes *Nodes) *Scores { return s.Score(pod, nodes, args) },
	}
	if s.Filter != nil {
		made.filter = func(pod *Pod, nodes *Nodes) *Failure { return s.Filter(pod, nodes, args) }
	}
	return made, nil
}

func (s NodeScorer[Args]) describe() (name, version, summary string) {
	return s.Name, s.Version, s.Summary
}

func (s NodeScorer[Args]) normalization() Normalization { return s.Normalization }

func (s NodeScorer[Args]) configure(text string) (calls, error) {
	if s.Score == nil {
		return calls{}, errWithoutScore
	}
	args, err := parseArgs(text, s.Defaults, s.Check)
	if err != nil {
		return calls{}, err
	}
	made := calls{filter: fitsAll, score: func(pod *Pod, nodes *Nodes) *Scores {
		if s.PreScore != nil {
			if said := s.PreScore(pod, args); said != nil {
				if said.kind == byRow {
					panic("PreScore gives nil, nodesift.Skip or nodesift.Failed: nodes are scored one at a time")
				}
				return said
			}
		}
		raw, node := make([]int64, nodes.Count()), Node{nodes: nodes}
		for row := range raw {
			node.row = row
			raw[row] = s.Score(pod, &node, args)
		}
		return ByRow(raw)
	}}
	if s.Filter != nil {
		made.filter = perNode(s.Filter, args)
	}
	return made, nil
}

func fitsAll(*Pod, *Nodes) *Failure { return nil }

// Normalization gives how the host makes scores of raw scores; NormalizeNone of what does not score.
func (c Configured) Normalization() Normalization { return c.normalization }

// Score scores this number of rows for the pod of the call.
func (c Configured) Score(rows int) *Scores {
	if c.calls.score == nil {
		panic("the predicate is no scorer")
	}
	nodes := &Nodes{count: rows, codes: newCodes(rows)}
	scores := c.calls.score(&Pod{}, nodes)
	switch {
	case scores == nil:
		panic("Score gives nodesift.ByRow, Skip or Failed, not nil")
	case nodes.usesSets || nodes.codes.rows != nil:
		panic("Score rejects no nodes: Filter does")
	case scores.kind == byRow && len(scores.raw) != rows:
		panic("Score gives one score per row, and not " + strconv.Itoa(len(scores.raw)) + " for " + strconv.Itoa(rows))
	}
	return scores
}
