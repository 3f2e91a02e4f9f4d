package yunikorn

import "time"

const (
	// DefaultTimeout is the time of one question, all that it waits for included. The shim asks under its lock, so it is short: a
	// question about 5,000 nodes takes about a millisecond.
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

	// Placements are delivered in the background, so they have more time than a question. It is short all the same, because a
	// call that hangs is noticed and repeated no sooner. Each call has it.
	deliveryTimeout = 500 * time.Millisecond
	// Calls that deliver placements at once: while one is on its way the next is made. More would only wait in the sidecar, where one
	// after the other changes the cache.
	deliveriesInFlight = 4
	// Placements of one call. A sidecar takes one in some microseconds. Where it takes 2 ms for each, and one call after the other, all
	// calls on their way take 400 ms, which is within the time of each; where it takes 2 ms for a call, this is 100,000 placements a
	// second.
	perDelivery = 50
	// Bytes of pods in one call that are sent whole, unless a single one has more. The sidecar takes 4 MiB, and the calls at once share
	// its room for requests.
	wholeBytes = 1 << 20

	// Time of a question in the background, by which the manager sees whether the sidecar answers.
	tryTimeout = 500 * time.Millisecond
	// Rest between two calls in the background that had no answer, doubled with each further one. Nobody waits for them, so the
	// longest rest is short: with the time of a call, a sidecar that answers again is noticed within a second.
	restMin = 50 * time.Millisecond
	restMax = 250 * time.Millisecond

	// Tries that ask for a snapshot as new as the question without an answer did, some five seconds. Then any snapshot will do: a
	// version that never comes must not keep the sidecar from being asked about all else.
	versionedTries = 20
	// How long a placement that does not come through, whatever its calls end with, keeps questions from being asked that the sidecar
	// would answer. Long enough for a node that the sidecar sees later than the shim.
	overduePatience = 5 * time.Second
	// How often it is found out meanwhile whether the sidecar answers questions: often enough to count those seconds by.
	probePace = 250 * time.Millisecond
	// Rest between two calls with placements that are overdue. Nobody waits for them; there are several in the time in which a pod is
	// bound, after which the sidecar sees it itself.
	overdueRest = time.Second

	// How long a pod is not asked about whose question had no answer, doubled each time: each such question may hold the lock of the
	// shim for all of its time, and none is asked after it until one in the background has been answered.
	asideMin = 100 * time.Millisecond
	asideMax = 10 * time.Second
	// Controllers whose pods are set aside, 80 bytes each.
	maxAside = 1024
	// How long before a question whose time was over another one must have been answered for that to be the pod's own failure.
	recently = time.Second
	// How long an answer in the background is used that something has overtaken: as long as it takes the core to come to the pod again,
	// and others of its kind to be asked about.
	lateAge = 10 * time.Second
	// Such answers, of 20 kB each for 5,000 nodes, and questions that wait for theirs.
	maxLate = 256

	// maxKept is the number of answers kept. The core goes through the nodes for one pod at a time, in at most two phases; the
	// rest is for preemption, which asks for several pods at once. An answer about 5,000 nodes takes 20 kB.
	maxKept = 64

	// minSweep is the number of placements, or of those that wait, from which on such as have expired are looked for.
	minSweep = 1024

	// Pods that the own manager has let on a node and that are not placed yet, some 70 bytes each. The core places most of them next.
	maxLet = 1024
	// Pods placed in one outage, or without an answer between two lines about such, that are judged afterwards, at half a millisecond each,
	// and those that a log line names.
	maxJudged = 1000
	maxNamed  = 20
	// The least time between two lines about what goes on, so that they fill no log.
	linePause = time.Minute
	// Lines that wait to be logged, where that hangs, some kilobytes each. Further ones are left out.
	maxUnsaid = 1000

	// How long the start of the shim waits for the first answer: a sidecar lists the cluster and compiles its policy in less.
	startPatience = 30 * time.Second

	// Time to learn which predicates the policy has.
	policyTimeout = 500 * time.Millisecond
)
