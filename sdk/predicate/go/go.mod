module github.com/nodesift/nodesift/sdk/predicate/go

go 1.24
