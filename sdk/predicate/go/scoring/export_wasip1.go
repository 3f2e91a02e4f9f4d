// Code generated from the contract by `make contract`. DO NOT EDIT.

//go:build wasip1

package scoring

import (
	"unsafe"

	"github.com/nodesift/nodesift/sdk/predicate/go/internal/scorer"
)

//go:wasmexport nodesift:predicate/scorer@0.2.0#normalize-by
func exportNormalizeBy() uint32 {
	return scorer.NormalizeBy()
}

//go:wasmexport nodesift:predicate/scorer@0.2.0#score
func exportScore(rows uint32) unsafe.Pointer {
	return scorer.Score(rows)
}
