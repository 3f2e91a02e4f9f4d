package plugin

import "time"

const (
	defaultAddress = "unix:///run/nodesift/nodesift.sock"

	// Time for a call. An answer takes less than a millisecond; 20 ms leave room for garbage collection on both sides, and a
	// scheduling cycle that waits that long now and then still makes progress.
	defaultCallTimeout = 20 * time.Millisecond
	// A scheduling cycle holds all other pods up, so no call may take longer than this.
	maxCallTimeout = 5 * time.Second
	// Both processes watch the same API server, so one is behind the other by a few milliseconds at most.
	defaultConsistencyTimeout = 5 * time.Millisecond
	// A dry run of preemption is many evaluations in one call. kube-scheduler's own takes hundreds of milliseconds then.
	preemptionTimeout = 2 * time.Second
	// Time to learn the policy, which no cycle waits for.
	policyTimeout = 2 * time.Second

	// Failed calls in a row after which the sidecar is not called, and for how long. Then one call tries again.
	breakerFailures = 3
	breakerPause    = time.Second

	// How long a placement counts in the sidecar: the most that it takes. The ledger ends it earlier.
	placementLifetime = time.Hour
	// Age after which a placement that is still waiting, for volumes or for its group, is reported again.
	placementRenewal = 30 * time.Minute
	// Changes in one request; the sidecar takes 1,000.
	maxChanges = 1000
	// Changes that a question takes along, at some 10 µs each a small part of its time. More are told beside the cycles.
	maxChangesWithQuestion = 100
	// Time for a request with changes beside the cycles: that of the sidecar for a request.
	catchUpTimeout = 2 * time.Second

	// kube-scheduler's own defaults, of DefaultPreemptionArgs.
	defaultMinCandidateNodesPercentage = 10
	defaultMinCandidateNodesAbsolute   = 100
)
