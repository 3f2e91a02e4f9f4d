// Package facts has every function of the contract, as it is: `NodeLabelsColumn` is `column` of the interface `node-labels`. The package
// nodesift has most of it in an easier form; use this one for the rest.
//
// What a predicate calls, and nothing else, becomes an import of its component. In tests the functions are those of a [Host].
//
// The files types.go, native.go and wasm.go are made from the contract; abi.go and memory.go are what wasm.go needs.
package facts

// Tuple2 holds two values.
type Tuple2[A, B any] struct {
	A A
	B B
}

// Tuple3 holds three values.
type Tuple3[A, B, C any] struct {
	A A
	B B
	C C
}

// Result is a value, or an error where IsError is true.
type Result[T, E any] struct {
	IsError bool
	Value   T
	Error   E
}
