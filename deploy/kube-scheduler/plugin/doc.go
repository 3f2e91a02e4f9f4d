// Package plugin is Nodesift, a plugin of kube-scheduler that asks a nodesift sidecar which nodes can run a pod.
//
// [New] is its factory, for app.WithPlugin. One call per scheduling cycle asks about all nodes; what Filter does then is a lookup.
//
//	args.go          arguments
//	plugin.go        the plugin and what its parts share
//	prefilter.go     one call for the cluster: PreFilter
//	cycle.go         what a cycle knows, and hypothetical changes of it: Filter, AddPod, RemovePod
//	score.go         scores of the nodes that are left: PreScore, Score
//	scoring.go       which scorers the sidecar has, and kube-scheduler's own in their place
//	reserve.go       placements: Reserve, Unreserve
//	negotiate.go     pods about which external parties decide: Permit, PreBind, PostBind, and what PreFilter and Filter do
//	parties.go       which parties decide about a pod
//	candidates.go    nodes about which they are asked
//	negotiations.go  what is under way with them, from the first question to an agreement
//	allocation.go    from a chosen node to an allocation, and its confirmation
//	ledger.go        placements that the API server has not shown yet
//	unavailable.go   who decides while the sidecar does not answer
//	outage.go        pods placed meanwhile, which are judged afterwards
//	comeback.go      whether the sidecar answers again, where no cycle asks it
//	slow.go          pods for which the sidecar needs more time than a call has
//	sidecar.go       the connection, shared by all profiles of a process, and its breaker
//	observed.go      what informers have shown: resourceVersions, bound and deleted pods
//	nominations.go   nominations that the API server has not shown yet
//	intree.go        kube-scheduler's own filters, while the sidecar does not answer
//	policy.go        which predicates the sidecar evaluates
//	sign.go          signatures, for opportunistic batching
//	events.go        queueing hints
//	preemption.go    PostFilter; dryrun.go: victims on many nodes in one call
//	metrics.go       metrics in the registry of the scheduler
//	limits.go        constants
package plugin
