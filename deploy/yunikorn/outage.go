package yunikorn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Stage is what an [Outage] tells.
type Stage int

const (
	// Began: the sidecar gives no answers from now on.
	Began Stage = iota
	// Ended: it answers again.
	Ended
	// Judged: what the sidecar says, now that it answers again, of the pods that were placed in the outage. Only where there were any.
	Judged
	// Overdue: for 5 s placements have kept questions from being asked, and do not any more. Each is told of once, until it comes
	// through; the sidecar goes on being told of it.
	Overdue
	// GoesOn: it gives no answers yet, and pods wait for them. It is told of every minute.
	GoesOn
	// Unanswered: what the sidecar says of pods that the shim's own manager has decided about, because there was no answer about them
	// while there were about others, and that were placed. It is told of once a minute at most, where there were any.
	Unanswered
)

// Outage is a time in which the sidecar gives no answers, or tells of placements that it does not take in. Its String is one line for a
// log.
type Outage struct {
	Stage Stage
	// When it began, the first placement began to wait, or the first of these pods was placed, and how long it was, or has been so far.
	Since  time.Time
	Length time.Duration
	// Why it began, and the last reason.
	First, Last error
	// Of Began and GoesOn: why pods wait meanwhile. Nil where the shim's own manager decides about them.
	Waits error
	// Placements and ends of placements that had to wait for the sidecar. Of Overdue: that do so no more.
	Waited int
	// Pods that the shim has placed in the outage and not forgotten in it, and the names of the first of them, as namespace/name. Of
	// Overdue: the first placements, with node and failure.
	Placed int
	Names  []string
	// Of Judged and Unanswered: how many pods were judged, and how many of these do not fit their nodes beside all others that are there
	// now; the first of them, with node, predicate and reasons.
	Judged, Misfits int
	Misfitting      []string
}

func (o Outage) String() string {
	switch o.Stage {
	case Began:
		return fmt.Sprintf("nodesift gives no answers for now: %v; %s", o.First, o.decides())
	case GoesOn:
		return fmt.Sprintf("nodesift has given no answers for %s: %v; %s", o.Length.Round(time.Second), o.Last, o.decides())
	case Ended:
		text := fmt.Sprintf("nodesift answers again after %s; it began with: %v", o.Length.Round(time.Millisecond), o.First)
		if o.Last.Error() != o.First.Error() {
			text += fmt.Sprintf("; the last failure: %v", o.Last)
		}
		return text + fmt.Sprintf("; %d placements waited; %d pods were placed meanwhile%s", o.Waited, o.Placed, listed(o.Names, o.Placed))
	case Overdue:
		return fmt.Sprintf("nodesift does not take in %d placements, and is asked without them from now on%s", o.Waited, listed(o.Names, o.Waited))
	case Unanswered:
		return fmt.Sprintf("%d pods about which nodesift gave no answer were placed by the shim's own manager%s; ", o.Placed, listed(o.Names, o.Placed)) +
			fmt.Sprintf("%d were judged since, and %d do not fit%s", o.Judged, o.Misfits, listed(o.Misfitting, o.Misfits))
	default:
		return fmt.Sprintf("of %d pods that were placed while nodesift gave no answers, %d were judged since, and %d do not fit%s",
			o.Placed, o.Judged, o.Misfits, listed(o.Misfitting, o.Misfits))
	}
}

// decides says who decides meanwhile.
func (o Outage) decides() string {
	if o.Waits == nil {
		return "the shim's own manager decides"
	}
	return fmt.Sprintf("pods wait, because %v", o.Waits)
}

// listed is the end of a line that names the first of some.
func listed(names []string, of int) string {
	if len(names) == 0 {
		return ""
	}
	text := ": " + strings.Join(names, ", ")
	if more := of - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// outage is an [Outage] that goes on.
type outage struct {
	Outage
	// Pods that were placed in it, up to [maxJudged] of them.
	placed map[types.UID]*placement
	// When a line about it was last logged.
	said time.Time
}

// note notes that a pod was placed, or forgotten, and whether that is a further one to wait for the sidecar.
func (o *outage) note(uid types.UID, at *placement, further bool) {
	if further {
		o.Waited++
	}
	_, known := o.placed[uid]
	switch {
	case at == nil && known:
		delete(o.placed, uid)
		o.Placed--
	case at != nil && known:
		o.placed[uid] = at
	case at != nil:
		if o.Placed++; len(o.placed) < maxJudged {
			o.placed[uid] = at
		}
	}
}

// oldest are the pods that were placed in it, the first ones first.
func (o *outage) oldest() []*placement {
	all := make([]*placement, 0, len(o.placed))
	for _, at := range o.placed {
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b *placement) int { return a.since.Compare(b.since) })
	return all
}

// first are the names of the first of them.
func (o *outage) first() []string {
	var names []string
	for _, at := range o.oldest()[:min(len(o.placed), maxNamed)] {
		names = append(names, nameOf(at))
	}
	return names
}

func nameOf(at *placement) string { return at.pod.Namespace + "/" + at.pod.Name }

// history is what has been since the manager was made.
type history struct {
	outages, placed, misfits uint64
	away                     time.Duration
}

// Health is how the sidecar has answered since the manager was made, for metrics.
type Health struct {
	// Whether questions are asked at present.
	Answers bool
	// Outages that have begun, and the length of all.
	Outages uint64
	Away    time.Duration
	// Pods that were placed without the sidecar, in outages which have ended or because there was no answer about them, and of those
	// judged since, how many do not fit.
	Placed, Misfits uint64
	// Placements and ends of placements that were delivered, those that wait, and how long the first of them has waited.
	Delivered uint64
	Waiting   int
	Oldest    time.Duration
	// Of those that wait, how many are overdue and keep nothing from being asked.
	Overdue int
}

// Health says how the sidecar has answered.
func (s *sidecar) Health() Health {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	health := Health{
		Answers: s.stance == answering,
		Outages: s.history.outages,
		Away:    s.history.away,
		Placed:  s.history.placed, Misfits: s.history.misfits,
		Delivered: s.deliveries.delivered,
		Waiting:   len(s.deliveries.waiting),
	}
	if s.stance == away {
		health.Away += time.Since(s.outage.Since)
	}
	for _, of := range s.deliveries.waiting {
		health.Oldest = max(health.Oldest, time.Since(of.since))
		if !of.blocking {
			health.Overdue++
		}
	}
	return health
}

// giveUp begins an outage, or notes the last reason of the one that there is. It is called with the mutex.
func (s *sidecar) giveUp(reason error) {
	if s.stance == away {
		s.outage.Last = reason
		return
	}
	asking := s.stance == beginning
	s.stance = away
	now := time.Now()
	s.outage = &outage{
		Outage: Outage{Since: now, First: reason, Last: reason, Waited: len(s.deliveries.waiting)},
		placed: map[types.UID]*placement{},
		said:   now,
	}
	s.outage.Waits, _ = s.waits()
	s.history.outages++
	s.toSay(s.outage.Outage)
	s.announce()
	if !asking {
		go s.comeBack()
	}
}

// resume has questions asked again, and returns the outage that has ended, if there was one.
func (s *sidecar) resume(ownFault bool) *outage {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ended := s.outage
	s.stance, s.outage, s.required = answering, nil, versions{}
	if !ownFault {
		// Whatever was slow, it was not those pods.
		clear(s.aside)
	}
	s.unwant()
	if ended != nil {
		ended.Stage, ended.Length, ended.Names = Ended, time.Since(ended.Since), ended.first()
		s.history.away += ended.Length
		s.history.placed += uint64(ended.Placed)
		s.toSay(ended.Outage)
	}
	s.announce()
	return ended
}

// remind has it logged now and then that pods wait: those who look for the reason may not look as far back as its first line.
func (s *sidecar) remind() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	why, waits := s.waits()
	if s.stance != away || !waits || time.Since(s.outage.said) < s.linePause {
		return
	}
	s.outage.said = time.Now()
	goesOn := s.outage.Outage
	goesOn.Stage, goesOn.Length, goesOn.Waits = GoesOn, time.Since(goesOn.Since), why
	s.toSay(goesOn)
}

// toSay is called with the mutex.
func (s *sidecar) toSay(of Outage) {
	if len(s.unsaid) < maxUnsaid {
		s.unsaid = append(s.unsaid, of)
	}
}

// say has what is to be logged logged, in its order. It does not wait: where logging hangs, nothing else does.
func (s *sidecar) say() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.saying && len(s.unsaid) > 0 {
		s.saying = true
		go s.sayAll()
	}
}

func (s *sidecar) sayAll() {
	for {
		s.mutex.Lock()
		if len(s.unsaid) == 0 {
			s.saying = false
			s.mutex.Unlock()
			return
		}
		next := s.unsaid[0]
		s.unsaid = s.unsaid[1:]
		s.mutex.Unlock()
		s.options.Outages(next)
		switch next.Stage {
		case Began:
			s.options.Log(next.First)
		case Ended:
			s.options.Log(nil)
		}
	}
}
