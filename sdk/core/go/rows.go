package nodesift

import (
	"fmt"
	"iter"
	"maps"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// RowNames is one state of the node index: the node name of each row of bitmaps. It never changes, so it can be shared. Nil is
// the index of which nothing is known.
type RowNames struct {
	epoch, generation uint64
	names             []string
	// Where to look for a name. Several tables share `rows`, so what they say counts only where `names` agrees; `recent` has
	// what changed since `rows` was made.
	rows, recent map[string]uint32
}

// Known is the value of `bitmaps` in a request whose answer should be the difference from this table.
func (r *RowNames) Known() *nodesiftv1.Bitmaps {
	if r == nil {
		return &nodesiftv1.Bitmaps{}
	}
	return &nodesiftv1.Bitmaps{Epoch: r.epoch, Generation: r.generation}
}

// Len is the number of rows, which is the number of nodes.
func (r *RowNames) Len() int {
	if r == nil {
		return 0
	}
	return len(r.names)
}

// Name is the name of the node in a row, and empty where there is no such row.
func (r *RowNames) Name(row uint32) string {
	if int64(row) >= int64(r.Len()) {
		return ""
	}
	return r.names[row]
}

// Row is the row of a node.
func (r *RowNames) Row(node string) (row uint32, ok bool) {
	if r == nil {
		return 0, false
	}
	if row, ok := r.recent[node]; ok && r.Name(row) == node {
		return row, true
	}
	row, ok = r.rows[node]
	return row, ok && r.Name(row) == node
}

// Decode returns the names of the nodes whose bit is set, in the order of rows. Row r is bit r % 8, from the lowest, of byte
// r / 8.
func (r *RowNames) Decode(bitmap []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for row := range r.Len() {
			if bit(bitmap, uint32(row)) && !yield(r.names[row]) {
				return
			}
		}
	}
}

// With is the table after a difference from this one, or the whole table where the message holds one. It fails with
// [ErrTable] where the message is about another table, or leaves a row without a name of its own.
func (r *RowNames) With(change *nodesiftv1.RowTable) (*RowNames, error) {
	if change.GetEpoch() == 0 {
		return nil, fmt.Errorf("%w: it has no epoch", ErrTable)
	}
	var old []string
	if !change.GetWhole() {
		if known := r.Known(); known.GetEpoch() != change.GetEpoch() {
			return nil, fmt.Errorf("%w: a difference of epoch %d, and the table is of epoch %d", ErrTable, change.GetEpoch(), known.GetEpoch())
		}
		old = r.names
	}
	next := &RowNames{epoch: change.GetEpoch(), generation: change.GetGeneration()}
	count := int(change.GetCount())
	if len(change.GetChanges()) == 0 && count == len(old) && !change.GetWhole() {
		next.names, next.rows, next.recent = r.names, r.rows, r.recent
		return next, nil
	}
	if len(old)+len(change.GetChanges()) < count {
		return nil, fmt.Errorf("%w: it has %d rows, and names fewer", ErrTable, count)
	}
	next.names = make([]string, count)
	copy(next.names, old)
	for _, row := range change.GetChanges() {
		if row.GetRow() >= change.GetCount() || row.GetNode() == "" {
			return nil, fmt.Errorf("%w: row %d of %d is %q", ErrTable, row.GetRow(), count, row.GetNode())
		}
		next.names[row.GetRow()] = row.GetNode()
	}
	for row := min(len(old), count); row < count; row++ {
		if next.names[row] == "" {
			return nil, fmt.Errorf("%w: row %d of %d has no name", ErrTable, row, count)
		}
	}
	if change.GetWhole() || len(r.recent)+len(change.GetChanges()) > maxRecentNames {
		next.rows = make(map[string]uint32, count)
		for row, name := range next.names {
			if err := next.note(next.rows, name, uint32(row)); err != nil {
				return nil, err
			}
		}
		return next, nil
	}
	next.rows, next.recent = r.rows, maps.Clone(r.recent)
	if next.recent == nil {
		next.recent = make(map[string]uint32, len(change.GetChanges()))
	}
	for _, row := range change.GetChanges() {
		if err := next.note(next.recent, row.GetNode(), row.GetRow()); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// note writes down where a name is. It refuses a name that has another row too.
func (r *RowNames) note(rows map[string]uint32, name string, row uint32) error {
	if other, ok := r.Row(name); ok && other != row {
		return fmt.Errorf("%w: %q is in the rows %d and %d", ErrTable, name, other, row)
	}
	rows[name] = row
	return nil
}

func bit(bitmap []byte, row uint32) bool {
	at := int(row / 8)
	return at < len(bitmap) && bitmap[at]>>(row%8)&1 == 1
}
