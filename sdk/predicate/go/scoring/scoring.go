// Package scoring exports a scorer from a component. It is a package of its own because what a module imports decides what it exports: one
// that only rejects nodes must not say that it scores them.
package scoring

import (
	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/internal/scorer"
)

func init() { scorer.IsExported = true }

// Export makes a scorer that of the component, and its Filter, where it has one, its predicate. Call it in `init`: `main` does not run there.
func Export(definition nodesift.ScorerDefinition) { nodesift.Export(definition) }
