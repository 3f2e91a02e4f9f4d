// Code generated from the contract by `make contract`. DO NOT EDIT.

package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// Created gives `created` of nodes, in seconds since 1970; NoInteger without one. Reads node-age.
func (n *Nodes) Created() []int64 {
	return n.amount(moment, "node-age.created", func(string) []int64 { return facts.NodeAgeCreated() })
}

// Created gives `created` of the node, in seconds since 1970; NoInteger without one. Reads node-age.
func (n *Node) Created() int64 { return n.nodes.Created()[n.row] }
