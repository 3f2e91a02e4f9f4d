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
	// Nodes that a sidecar gives scores of, of one pod, where it has not said how many. Where more are left, kube-scheduler's own plugins
	// score them.
	leastScored = 1000
	// A dry run of preemption is many evaluations in one call. kube-scheduler's own takes hundreds of milliseconds then.
	preemptionTimeout = 2 * time.Second
	// Time to learn the policy, which no cycle waits for.
	policyTimeout = 2 * time.Second
	// Pause between two attempts to learn it at first: one call a second costs nothing.
	policyPause = time.Second

	// How long a sidecar that answers may lack a resourceVersion before it is asked without. Its watch is behind by milliseconds, and by
	// seconds where it begins anew; a version that is not there by then is of before a restore of etcd, or the watch does not work,
	// which the sidecar says by itself: its answers are stale.
	versionPatience = 30 * time.Second
	// Answers in a row that have to say so: with the pause of the breaker they take seconds, in which a sidecar that goes on after a halt
	// catches up.
	versionAnswers = 5

	// Failed calls in a row after which the sidecar is not called, and for how long. Then one call tries again.
	breakerFailures = 3
	breakerPause    = time.Second

	// How long a placement counts in the sidecar: the most that it takes. The ledger ends it earlier.
	placementLifetime = time.Hour
	// Age after which a placement that is still waiting, for volumes or for its group, is reported again.
	placementRenewal = 30 * time.Minute
	// Changes that a question takes along: where each takes 2 ms, which is 200 times as long as usual, they take 8 ms of its 20 ms.
	// More are told beside the cycles.
	maxChangesWithQuestion = 4
	// Changes of the first request beside the cycles, and of the largest. Where each takes 2 ms they take 100 ms and 0.4 s, within the
	// time for a request; at the usual 10 µs this is more placements a second than any scheduler makes.
	firstBatch = 50
	maxBatch   = 200
	// Time for a request with changes beside the cycles: longer than that of the sidecar for a request, 2 s, so that it says itself that
	// it was too slow, and the stream goes on.
	catchUpTimeout = 3 * time.Second
	// Time for a question that ends a stream on which a request has had no answer: the least that a request can have.
	endTimeout = time.Millisecond

	// Questions in a row without an answer about pods of one controller after which none is asked about them, fewer than open the breaker;
	// and for how long first. Each further one doubles the time, up to the longest back-off of a pod.
	slowQuestions = 2
	slowPause     = time.Second
	maxSlowPause  = 10 * time.Second
	// Controllers with such pods that are remembered, 60 bytes each.
	maxSlow = 1024

	// How long a placement that the sidecar does not take in keeps answers from counting. By then its watch has shown it the node, or
	// room that it lacked has become free. A run of refusals keeps them no longer, and ends with a pause of this length.
	refusalPatience = 5 * time.Second
	// Pause between two attempts to tell a placement that was set aside: one call a second costs nothing.
	refusalPause = time.Second
	// Placements set aside that are told in one turn, a call each, so that one that has no answer holds few others up.
	maxSetAsideAtOnce = 16

	// Pods placed without an answer that are judged once there are answers, at half a millisecond each, and those that a log line names.
	maxJudged = 1000
	maxNamed  = 20
	// Time to judge one of them, which no cycle waits for.
	judgeTimeout = 500 * time.Millisecond
	// Pause before each question whether the sidecar answers again, while pods wait to be judged: one call a second costs nothing.
	judgePause = time.Second
	// Bytes of the reasons in an event: the API takes 1,024 with all that is around them.
	maxWhy = 512

	// Times for external parties to agree, and to allocate: the sidecar's own default, and the most and the least that it takes.
	defaultNegotiationTimeout = 30 * time.Second
	maxNegotiationTimeout     = 10 * time.Minute
	minNegotiationTimeout     = 10 * time.Millisecond
	// How much longer than its time a call to negotiate may take: the sidecar ends it before, unless it hangs.
	streamSlack = 5 * time.Second
	// How long an agreement waits for a cycle that takes it. The sidecar has it for 30 s.
	agreementLifetime = 25 * time.Second
	// Pause after which parties are asked again that have refused, or have not allocated. Each time in a row doubles it, up to the longest
	// time for which the sidecar keeps a refusal.
	negotiationPause    = time.Second
	maxNegotiationPause = 30 * time.Second
	// Pause before what parties say is followed again where that has ended.
	followPause = time.Second
	// Reasons of parties that are told of a pod.
	maxReasons = 4
	// Time to give a negotiation up, which no cycle waits for; how often that is tried, and the pause after the first time, which doubles.
	releaseTimeout = 2 * time.Second
	releaseTries   = 5
	releasePause   = time.Second
	// Pause between two looks whether a pod that waits in Permit is known to do so, which takes the framework some microseconds.
	waitingPause = time.Millisecond
	// Pods for which parties are asked or allocate at a time, a stream each: as many as the sidecar has places for one client.
	maxNegotiations = 1500
	// Bytes that the sidecar lets the negotiations of one client hold. It counts what it is sent: some 17 kB for a pod with 128 candidates,
	// 4 kB for each of its parties, and 16 bytes for each name of its order: once where several pods have the same, on which no pod relies
	// here, since the others may be over before it.
	sidecarBytes     = 12 << 20
	negotiationBytes = 17 << 10
	seatBytes        = 4 << 10
	nameBytes        = 16
	// One namespace may have this fraction of the places and of the bytes, so that the pods of one tenant, whose parties may never answer,
	// leave as many to all others.
	namespaceShare = 2
	// And this fraction of its bytes before its orders are short.
	longOrders = 2
	// Pods with those that wait for another try, half a kilobyte each.
	maxRefused = 20_000
	// Nodes that parties are asked about in all, and that are selected of those they have agreed on: the most that the sidecar takes.
	maxOrder    = 16_384
	maxSelected = 256
	// Names of nodes in orders that are sent while parties are asked, beside one that pods share: 64 MB. With more, an order has as many as
	// one round has candidates.
	maxOrderNames = 4 << 20
	roundOrder    = 256

	// kube-scheduler's own defaults, of DefaultPreemptionArgs.
	defaultMinCandidateNodesPercentage = 10
	defaultMinCandidateNodesAbsolute   = 100
)
