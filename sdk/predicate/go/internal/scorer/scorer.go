// Package scorer joins the package nodesift, which runs a scorer, to the package scoring, which exports it from a component. A module that
// does not import scoring does not export a scorer.
package scorer

import "unsafe"

// IsExported says that the module exports the functions of a scorer: the package scoring is in it.
var IsExported bool

// The package nodesift sets both in a component.
var (
	// NormalizeBy gives the number of the normalization.
	NormalizeBy func() uint32
	// Score gives the scores of a call, as the contract lays them out.
	Score func(rows uint32) unsafe.Pointer
)
