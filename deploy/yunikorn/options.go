package yunikorn

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Options of [New] and [NewStaged]. The zero value is a good one.
type Options struct {
	// Timeout of one question, and the longest that one holds the lock of the shim; [DefaultTimeout] unless given.
	Timeout time.Duration
	// MaxAge is how long an answer is used; [DefaultMaxAge] unless given. Negative: every call asks.
	MaxAge time.Duration
	// TimeToLive of a placement that the sidecar sees neither bound nor forgotten; [DefaultTimeToLive] unless given.
	TimeToLive time.Duration
	// Unavailable says who answers where the sidecar cannot.
	Unavailable Unavailable
	// Outages is told of each outage when it begins and when it ends, every minute of one in which pods wait, of the pods that were
	// placed in it once they are judged, of pods that the own manager has placed while there was none, and of placements that the
	// sidecar does not take in. It is called in the background, one call at a time, under no lock of the shim.
	Outages func(Outage)
	// Log is told the same in short: the reason when the sidecar stops giving answers, and nil when it answers again. It is called
	// as Outages is.
	Log func(reason error)
	// Misfit is told of each pod that was placed without an answer and does not fit its node by what the sidecar says afterwards, and why:
	// for an event on the pod, which is not to be changed. It is called in the background, under no lock of the shim.
	Misfit func(pod *v1.Pod, node, why string)
}

// Unavailable says who answers where the sidecar cannot.
type Unavailable int

const (
	// ByPolicy is Reject where the policy has predicates that the shim lacks, and Own otherwise. Until the policy is known, with the
	// first answer, it is Reject: a pod that waits loses seconds, one that is placed past a predicate stays. [Manager.Wait] waits for
	// that answer.
	ByPolicy Unavailable = iota
	// Own asks the shim's own manager. It knows nothing of custom predicates.
	Own
	// Reject rejects the node. Nothing is scheduled meanwhile, but for pods whose questions always take too long: where the last answer
	// about one has been overtaken and says that it fits, the own manager is asked as well.
	Reject
)

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.TimeToLive == 0 {
		o.TimeToLive = DefaultTimeToLive
	}
	if o.Outages == nil {
		o.Outages = func(Outage) {}
	}
	if o.Misfit == nil {
		o.Misfit = func(*v1.Pod, string, string) {}
	}
	if o.Log == nil {
		o.Log = func(error) {}
	}
	return o
}
