// Package yunikorn lets YuniKorn's Kubernetes shim ask a nodesift sidecar instead of running kube-scheduler's plugins itself.
//
// [New] makes a [Manager] from the predicate manager that the shim has, and takes its place: it has the methods of the shim's
// interface PredicateManager. The first question about a pod asks the sidecar once for all nodes; the questions about its other
// nodes are lookups. The shim's own manager answers where the sidecar cannot.
//
// [Manager.AssumePod] and [Manager.ForgetPod] tell the sidecar what the shim assumes and forgets. Without them it would not
// know of pods that are placed and not yet bound.
//
// [Staged] is the same for a shim whose interface has PreFilter and Filter.
//
// What the shim's interfaces name of Kubernetes' scheduler are type parameters, which the compiler infers. So this module fits
// any version of them and depends on k8s.io/api alone. The README has the lines to insert.
//
// # When an answer is used again
//
// The answer about a pod is used for a node as long as all of this holds; otherwise the sidecar is asked again:
//
//   - It is about the same pod in the same version, and about the same phase.
//   - No pod has been assumed or forgotten since.
//   - No later answer, about whichever pod, has shown a newer generation of the sidecar's cache.
//   - No node has come or gone in the node index.
//   - The shim's Node is not newer than the newest of the answer's snapshot.
//   - It is not older than [Options.MaxAge], whatever else may have changed.
package yunikorn
