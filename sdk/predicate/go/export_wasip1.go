// Code generated from the contract by `make contract`. DO NOT EDIT.

//go:build wasip1

package nodesift

import "unsafe"

//go:wasmexport nodesift:predicate/predicate@0.2.0#describe
func exportDescribe() unsafe.Pointer {
	return describe()
}

//go:wasmexport nodesift:predicate/predicate@0.2.0#configure
func exportConfigure(text unsafe.Pointer, length uint32) unsafe.Pointer {
	return configure(text, length)
}

//go:wasmexport nodesift:predicate/predicate@0.2.0#filter
func exportFilter(rows uint32) unsafe.Pointer {
	return filter(rows)
}
