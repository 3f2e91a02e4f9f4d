package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// RowSet is a set of rows that the host holds: an operation costs about a microsecond, however many nodes there are. It is of no use after
// the call.
type RowSet struct{ handle uint32 }

// And gives the rows in both.
func (s RowSet) And(other RowSet) RowSet { return RowSet{facts.RowSetsAnd(s.handle, other.handle)} }

// Or gives the rows in either.
func (s RowSet) Or(other RowSet) RowSet { return RowSet{facts.RowSetsOr(s.handle, other.handle)} }

// Not gives the other rows.
func (s RowSet) Not() RowSet { return RowSet{facts.RowSetsNot(s.handle)} }

// Count gives the number of rows. The verdict for a row must not depend on it.
func (s RowSet) Count() int { return int(facts.RowSetsCount(s.handle)) }

// All gives every row.
func (n *Nodes) All() RowSet { return RowSet{facts.RowSetsAll()} }

// LabelIn gives the rows whose label has one of these values. Reads node-labels.
func (n *Nodes) LabelIn(key string, values ...string) RowSet {
	return RowSet{facts.NodeLabelsRowsIn(key, values)}
}

// LabelExists gives the rows that have the label. Reads node-labels.
func (n *Nodes) LabelExists(key string) RowSet { return RowSet{facts.NodeLabelsRowsWith(key)} }

// AnnotationIn gives the rows whose annotation has one of these values. Reads node-annotations.
func (n *Nodes) AnnotationIn(key string, values ...string) RowSet {
	return RowSet{facts.NodeAnnotationsRowsIn(key, values)}
}

// AnnotationExists gives the rows that have the annotation. Reads node-annotations.
func (n *Nodes) AnnotationExists(key string) RowSet {
	return RowSet{facts.NodeAnnotationsRowsWith(key)}
}

// FreeAtLeast gives the rows on which at least this amount of the resource is free. Reads node-resources.
func (n *Nodes) FreeAtLeast(resource string, amount int64) RowSet {
	return RowSet{facts.NodeResourcesRowsWithFree(resource, amount)}
}

// Untolerated gives the rows with a taint NoSchedule or NoExecute that the pod does not tolerate. Reads node-taints.
func (n *Nodes) Untolerated() RowSet { return RowSet{facts.NodeTaintsRowsUntolerated()} }

// Unschedulable gives the rows with `spec.unschedulable`. Reads node-taints.
func (n *Nodes) Unschedulable() RowSet { return RowSet{facts.NodeTaintsRowsUnschedulable()} }

// Reject rejects the rows of a set. A row that was rejected before keeps its failure. One call rejects row sets, or rows by number, not
// both.
func (n *Nodes) Reject(rows RowSet, failure *Failure) {
	if failure == nil {
		panic("rows are rejected with nodesift.Unresolvable, Unschedulable or Error, not with nil")
	}
	n.usesSets = true
	facts.RowSetsReject(rows.handle, facts.RowSetsFailure{Status: facts.RowSetsStatus(failure.Status), Reasons: failure.Reasons})
}
