package yunikorn

import "time"

// Options of [New] and [NewStaged]. The zero value is a good one.
type Options struct {
	// Timeout of one question; [DefaultTimeout] unless given.
	Timeout time.Duration
	// MaxAge is how long an answer is used; [DefaultMaxAge] unless given. Negative: every call asks.
	MaxAge time.Duration
	// TimeToLive of a placement that the sidecar sees neither bound nor forgotten; [DefaultTimeToLive] unless given.
	TimeToLive time.Duration
	// Unavailable says who answers where the sidecar cannot.
	Unavailable Unavailable
	// Log is told, in one call each, when the sidecar stops giving answers, with the reason, and when it answers again, with
	// nil. It is called under the locks of the shim, and must not wait.
	Log func(reason error)
}

// Unavailable says who answers where the sidecar cannot.
type Unavailable int

const (
	// Own asks the shim's own manager. It knows nothing of custom predicates.
	Own Unavailable = iota
	// Reject rejects the node. Nothing is scheduled meanwhile. For policies with predicates that must not be left out.
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
	if o.Log == nil {
		o.Log = func(error) {}
	}
	return o
}
