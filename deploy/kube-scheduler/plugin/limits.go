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

	// kube-scheduler's own defaults, of DefaultPreemptionArgs.
	defaultMinCandidateNodesPercentage = 10
	defaultMinCandidateNodesAbsolute   = 100
)
