package yunikorn

import "time"

const (
	// DefaultTimeout is the time of one question. The shim asks under its lock, so it is short: a question about 5,000 nodes
	// takes about a millisecond.
	DefaultTimeout = 20 * time.Millisecond

	// DefaultMaxAge is how long an answer is used. One pass over 5,000 nodes takes a few milliseconds, and a change that only
	// the watch of the sidecar brings is seen after this time at the latest.
	DefaultMaxAge = 50 * time.Millisecond

	// DefaultTimeToLive is how long the sidecar counts a pod that it sees neither bound nor forgotten: longer than the shim
	// waits for volumes (service.volumeBindTimeout, 10 minutes).
	DefaultTimeToLive = 15 * time.Minute

	// A question waits for a snapshot that has the pod and the node as the shim has them, for this part of its time at most.
	// The watches of both bring the same events, some milliseconds apart.
	patienceShare = 2

	// Rest after a failure, doubled with each further one. Meanwhile nothing is asked, so that a sidecar which does not answer
	// costs the time of a question once per rest and not once per node.
	restMin = 50 * time.Millisecond
	restMax = 2 * time.Second

	// maxKept is the number of answers kept. The core goes through the nodes for one pod at a time, in at most two phases; the
	// rest is for preemption, which asks for several pods at once. An answer about 5,000 nodes takes 20 kB.
	maxKept = 64

	// minSweep is the number of placements from which on those that have expired are looked for.
	minSweep = 1024
)
