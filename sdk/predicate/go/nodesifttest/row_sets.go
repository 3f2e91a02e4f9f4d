package nodesifttest

import (
	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// rowSets are the sets of a call, by their handles.
type rowSets struct {
	sets     [][]bool
	failures []*nodesift.Failure
	// isScoring says that the call is one that scores, in which there are no sets.
	isScoring bool
}

// make adds the rows for which holds is true.
func (s *rowSets) make(holds func(row int) bool) uint32 {
	if s.isScoring {
		panic("a scorer makes a row set: the host ends the call there")
	}
	set := make([]bool, len(s.failures))
	for row := range set {
		set[row] = holds(row)
	}
	s.sets = append(s.sets, set)
	return uint32(len(s.sets) - 1)
}

func (s *rowSets) add(host *facts.Host) {
	host.RowSetsAll = func() uint32 { return s.make(func(int) bool { return true }) }
	host.RowSetsAnd = func(a, b uint32) uint32 {
		return s.make(func(row int) bool { return s.sets[a][row] && s.sets[b][row] })
	}
	host.RowSetsOr = func(a, b uint32) uint32 {
		return s.make(func(row int) bool { return s.sets[a][row] || s.sets[b][row] })
	}
	host.RowSetsNot = func(a uint32) uint32 { return s.make(func(row int) bool { return !s.sets[a][row] }) }
	host.RowSetsCount = func(a uint32) uint32 {
		count := uint32(0)
		for _, is := range s.sets[a] {
			if is {
				count++
			}
		}
		return count
	}
	host.RowSetsReject = func(a uint32, failure facts.RowSetsFailure) {
		for row, is := range s.sets[a] {
			if is && s.failures[row] == nil {
				s.failures[row] = &nodesift.Failure{Status: nodesift.Status(failure.Status), Reasons: failure.Reasons}
			}
		}
	}
}
