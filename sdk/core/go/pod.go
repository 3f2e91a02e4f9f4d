package nodesift

import (
	"encoding/json"
	"fmt"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Pod says which pod a call is about. By UID is the smallest request, and the fastest.
type Pod struct {
	message *nodesiftv1.Pod
	err     error
}

// PodUID is a pod of the cache, by metadata.uid.
func PodUID(uid string) Pod {
	return Pod{message: &nodesiftv1.Pod{Pod: &nodesiftv1.Pod_Uid{Uid: uid}}}
}

// PodName is a pod of the cache, by namespace and name.
func PodName(namespace, name string) Pod {
	named := &nodesiftv1.PodName{Namespace: namespace, Name: name}
	return Pod{message: &nodesiftv1.Pod{Pod: &nodesiftv1.Pod_Name{Name: named}}}
}

// PodJSON is a whole pod, as the API server writes it. It need not be in the cache.
func PodJSON(text []byte) Pod {
	return Pod{message: &nodesiftv1.Pod{Pod: &nodesiftv1.Pod_Json{Json: string(text)}}}
}

// Object is what identifies a Kubernetes object. *v1.Pod of k8s.io/api is one, where U is types.UID.
type Object[U ~string] interface {
	GetUID() U
	GetNamespace() string
	GetName() string
}

// PodOf is a pod of the cache, by its UID or, without one, by namespace and name.
func PodOf[U ~string](pod Object[U]) Pod {
	if uid := pod.GetUID(); uid != "" {
		return PodUID(string(uid))
	}
	return PodName(pod.GetNamespace(), pod.GetName())
}

// WholePod is a whole pod, such as a *v1.Pod of k8s.io/api, or whatever else encoding/json makes one of. It need not be in the
// cache.
func WholePod(pod any) Pod {
	text, err := json.Marshal(pod)
	if err != nil {
		return Pod{err: fmt.Errorf("%w: the pod has no JSON: %w", ErrInvalid, err)}
	}
	return PodJSON(text)
}

// At requires this resourceVersion of a pod that is named by UID or by name. Where the sidecar has another one, or does not have
// the pod, calls fail with [ErrChanged]; a core then sends the pod whole.
func (p Pod) At(resourceVersion string) Pod {
	if p.err != nil || p.message == nil {
		return p
	}
	return Pod{message: &nodesiftv1.Pod{Pod: p.message.GetPod(), ResourceVersion: resourceVersion}}
}

func (p Pod) encode() (*nodesiftv1.Pod, error) {
	if p.err == nil && p.message == nil {
		return nil, fmt.Errorf("%w: no pod is named", ErrInvalid)
	}
	return p.message, p.err
}

// Node is a whole node for an [Overlay].
type Node struct {
	text string
	err  error
}

// NodeJSON is a node, as the API server writes it.
func NodeJSON(text []byte) Node { return Node{text: string(text)} }

// WholeNode is a node, such as a *v1.Node of k8s.io/api.
func WholeNode(node any) Node {
	text, err := json.Marshal(node)
	if err != nil {
		return Node{err: fmt.Errorf("%w: the node has no JSON: %w", ErrInvalid, err)}
	}
	return NodeJSON(text)
}

// PlacedPod is a pod and the node that it is put on.
type PlacedPod struct {
	Pod  Pod
	Node string
}

// Overlay is a hypothetical change of the cluster, for one call: first nodes, then removed pods, then added pods. A pod that
// the cache has on another node is moved.
type Overlay struct {
	Nodes       []Node
	RemovedPods []Pod
	AddedPods   []PlacedPod
}

func (o Overlay) encode() (*nodesiftv1.Overlay, error) {
	message := &nodesiftv1.Overlay{}
	for _, node := range o.Nodes {
		if node.err != nil {
			return nil, node.err
		}
		message.Nodes = append(message.Nodes, &nodesiftv1.Node{Node: &nodesiftv1.Node_Json{Json: node.text}})
	}
	for _, pod := range o.RemovedPods {
		encoded, err := pod.encode()
		if err != nil {
			return nil, err
		}
		message.RemovedPods = append(message.RemovedPods, encoded)
	}
	for _, placed := range o.AddedPods {
		encoded, err := placed.Pod.encode()
		if err != nil {
			return nil, err
		}
		message.AddedPods = append(message.AddedPods, &nodesiftv1.PlacedPod{Pod: encoded, Node: placed.Node})
	}
	return message, nil
}
