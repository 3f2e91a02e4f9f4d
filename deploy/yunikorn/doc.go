// Package yunikorn lets YuniKorn's Kubernetes shim ask a nodesift sidecar instead of running kube-scheduler's plugins itself.
//
// [New] makes a [Manager] from the predicate manager that the shim has, and takes its place: it has the methods of the shim's
// interface PredicateManager. The first question about a pod asks the sidecar once for all nodes; the questions about its other
// nodes are lookups. Where the sidecar cannot answer, the shim's own manager does, or the pod waits, as it does until the policy of
// the sidecar is known: [Options.Unavailable].
//
// [Manager.AssumePod] and [Manager.ForgetPod] tell the sidecar what the shim assumes and forgets. Without them it would not
// know of pods that are placed and not yet bound. They wait for nothing; a question waits for what is on its way.
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
//
// # What holds the locks of the shim
//
// A question, for [Options.Timeout] at most. After one without an answer, none is asked until one in the background has been
// answered; placements are delivered all the while. [Options.Outages] is told of that, and [Manager.Health] has the numbers. Where it
// is the pod that takes too long, it is asked about in the background, and all other pods as before.
package yunikorn
