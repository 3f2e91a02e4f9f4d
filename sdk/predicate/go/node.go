package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// Node is one node. One value stands for each node in turn: keep what it says, not the value.
type Node struct {
	nodes *Nodes
	row   int
}

// Name gives `metadata.name`. Reads node-identity.
func (n *Node) Name() string { return n.nodes.Names()[n.row] }

// Label gives the value of a label. Reads node-labels.
func (n *Node) Label(key string) (string, bool) { return n.nodes.Labels(key).Text(n.row) }

// Annotation gives the value of an annotation that the policy lists. Reads node-annotations.
func (n *Node) Annotation(key string) (string, bool) { return n.nodes.Annotations(key).Text(n.row) }

// Info gives what the node says of itself. Reads node-info.
func (n *Node) Info(field facts.NodeInfoField) (string, bool) { return n.nodes.Info(field).Text(n.row) }

// Taints gives `spec.taints`. Reads node-taints.
func (n *Node) Taints() []facts.NodeTaintsTaint { return n.nodes.Taints()[n.row] }

// IsUnschedulable gives `spec.unschedulable`. Reads node-taints.
func (n *Node) IsUnschedulable() bool { return n.nodes.UnschedulableFlags()[n.row] != 0 }

// Allocatable gives `status.allocatable` of a resource; 0 where the node does not list it. Reads node-resources.
func (n *Node) Allocatable(resource string) int64 { return n.nodes.Allocatable(resource)[n.row] }

// Requested gives what all pods on the node request together. Reads node-resources.
func (n *Node) Requested(resource string) int64 { return n.nodes.Requested(resource)[n.row] }

// Free gives `Allocatable` minus `Requested`. Reads node-resources.
func (n *Node) Free(resource string) int64 { return n.nodes.Free(resource)[n.row] }

// Pods gives the number of pods on the node. Reads node-resources.
func (n *Node) Pods() int64 { return n.nodes.Pods()[n.row] }

// PodLimit gives `status.allocatable.pods`. Reads node-resources.
func (n *Node) PodLimit() int64 { return n.nodes.PodLimit()[n.row] }

// Condition gives the status of a condition, for example of `Ready`: `True`, `False`, `Unknown`, or nothing. Reads node-conditions.
func (n *Node) Condition(kind string) string {
	return [...]string{"", "True", "False", "Unknown"}[n.nodes.Conditions(kind)[n.row]]
}

// HasImage says whether `status.images` names the image; it lists only the largest. Reads node-images.
func (n *Node) HasImage(image string) bool { return n.nodes.ImageFlags(image)[n.row] != 0 }
