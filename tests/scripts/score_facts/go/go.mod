module score-facts

go 1.24

require github.com/nodesift/nodesift/sdk/predicate/go v0.1.0

replace github.com/nodesift/nodesift/sdk/predicate/go => ../sdk-go
