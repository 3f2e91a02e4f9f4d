// Package plugin is the plugin Nodesift of kube-scheduler: it asks a nodesift sidecar which nodes can run a pod.
package plugin
