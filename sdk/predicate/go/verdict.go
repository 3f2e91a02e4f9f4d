package nodesift

import "errors"

// Verdict is what one call says. The zero value: every row fits, but for rows of rejected row sets.
type Verdict struct {
	// FitsNone is why the pod fits no node, whatever the nodes are.
	FitsNone *Failure
	// Codes has an entry per row: 0 where it fits, k where it fails with Failures[k-1]. Nil: every row fits.
	Codes []uint16
	// Failures are what Codes refers to.
	Failures []*Failure
}

// Configured is a predicate or a scorer with its arguments. Tests and the component run it in the same way.
type Configured struct {
	calls         calls
	normalization Normalization
}

// Configure reads the arguments that a policy gives as JSON. The text of an error begins with the path of the argument.
func Configure(predicate Definition, args string) (Configured, error) {
	name, _, summary := predicate.describe()
	if name == "" || summary == "" {
		return Configured{}, errors.New("a predicate needs a Name and a Summary")
	}
	calls, err := predicate.configure(args)
	if err != nil {
		return Configured{}, err
	}
	configured := Configured{calls: calls}
	if scorer, scores := predicate.(ScorerDefinition); scores {
		configured.normalization = scorer.normalization()
	}
	return configured, nil
}

// Run evaluates the predicate for the pod of the call on this number of rows.
func (c Configured) Run(rows int) Verdict {
	nodes := &Nodes{count: rows, codes: newCodes(rows)}
	failure := c.calls.filter(&Pod{}, nodes)
	if failure != nil {
		return Verdict{FitsNone: failure}
	}
	if nodes.usesSets && nodes.codes.rows != nil {
		panic("reject row sets, or reject rows by number: not both in one call")
	}
	return Verdict{Codes: nodes.codes.rows, Failures: nodes.codes.failures}
}
