// Package nodesift asks a nodesift sidecar which nodes can run a pod, and why the others cannot, in the verdicts, codes and
// reasons of kube-scheduler.
//
// [Dial] makes a [Client]. [Client.Feasible] asks once for all nodes, and returns a [Set] that tells of each node whether the
// pod fits ([Set.Fits]) and why not ([Set.Why]): lookups in constant time, without allocations.
//
//	client, err := nodesift.Dial("unix:///run/nodesift/nodesift.sock")
//	…
//	set, err := client.Feasible(ctx, nodesift.PodUID(uid))
//	if err != nil {
//		return err
//	}
//	if !set.Fits(node) {
//		predicate, code, reasons := set.Why(node)
//		…
//	}
//
// # Pods
//
// A pod is named by [PodUID] or [PodName] where the sidecar has it from its watch, which is the fastest, or given whole, by
// [PodJSON] or [WholePod]. [PodOf] takes a *v1.Pod of k8s.io/api; this module depends on gRPC alone.
//
// # Bitmaps and the node index
//
// Answers are bitmaps over rows. Which node is in which row is the node index, which the client follows from [Dial] on, across
// lost connections and restarts of the sidecar ([Index]). Each answer comes with the difference from the table that its request
// has named, so a Set reads its bitmaps with the table that they belong to, however the cluster has changed since. What does
// not belong together fails with [ErrTable]; it is never read.
//
// # Faults and stale answers
//
// Where a predicate could not be evaluated, its failure policy has answered in its place. Feasible then returns the Set and an
// error that is [ErrFault]; where the sidecar has not heard from the API server for too long, one that is [ErrStale]. A core
// that goes on all the same says so with [AllowFaults] and [AllowStale]. The other errors tell what went wrong by kind, such as
// [ErrUnavailable] and [ErrDeadline], and in the words of the sidecar ([Error]).
//
// # Placements
//
// A pod that a core has placed counts on its node once [Client.Assume] has returned, until the watch shows what has become of
// it or [Client.Forget] ends it. [AtLeast] and [AtLeastGeneration] make a call wait for a snapshot that is new enough.
// [WithOverlay] asks about a cluster that is not there, and [Client.PreemptionPredicates] about one from which victims have
// gone; [Client.Reprieve] does kube-scheduler's dry run of preemption on many nodes at once. [Skip] leaves predicates of the policy
// to the core, and [Nominated] gives pods that the sidecar cannot know to be nominated.
//
// Many placements at once, such as all that a restarted sidecar has forgotten, are one call of [Client.Place].
//
// A core that places one pod after the other asks on a [Stream], which costs less, and reports placements without waiting:
// [Stream.Change], or [AssumeFirst] with the next request. [Pod.At] makes sure that the sidecar judges the version of a pod that
// the core has.
//
// What has no method here, such as Explain, [Client.Stub] has as generated code.
package nodesift
