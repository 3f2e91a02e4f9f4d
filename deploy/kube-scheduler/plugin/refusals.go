package plugin

import (
	"time"

	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// run is a run of refusals, between which no pause is as long as [refusalPatience]. Only placements are in it that answers may wait for:
// one that is refused for good, and told again and again, makes no run.
type run struct {
	first, last time.Time
	// Placements that answers count without because of it, as far as the log names them.
	named int
}

func (r *run) note(now time.Time) {
	if now.Sub(r.last) >= refusalPatience {
		*r = run{first: now}
	}
	r.last = now
}

// isLong tells whether it goes on, and answers have waited for it for long enough.
func (r *run) isLong(now time.Time) bool {
	return now.Sub(r.last) < refusalPatience && r.last.Sub(r.first) >= refusalPatience
}

// isLong tells whether attempts to tell a placement have failed for so long that answers count without it.
func (r *refusal) isLong() bool { return r.last.Sub(r.since) >= refusalPatience }

// refuse notes that a placement was not taken in. It is called with the lock.
func (l *ledger) refuse(e *entry, err error, now time.Time) {
	if e.refusal == nil {
		e.refusal = &refusal{since: now}
		l.refused++
	}
	e.refusal.err, e.refusal.last = err, now
	// While the sidecar says nothing at all, it refuses nothing either.
	if !e.refusal.isLong() && !l.answered.Before(e.refusal.since) {
		l.run.note(now)
	}
}

// takenIn ends a refusal, if there is one. It is called with the lock.
func (l *ledger) takenIn(e *entry) {
	if e.refusal == nil {
		return
	}
	e.refusal = nil
	l.refused--
}

// isOverdue tells whether answers count without a placement, and logs that once: attempts to tell it have failed for long, or a
// run of refusals goes on for long. Each placement of such a run is new, and with a patience of its own for each there would be no answers
// for as long as it goes on. Where requests with it failed as a whole, that is so only if the sidecar has answered others since.
// It is called with the lock.
func (l *ledger) isOverdue(e *entry) bool {
	of := e.refusal
	switch {
	case of == nil:
		return false
	case of.overdue:
		return true
	case of.alone && !l.answered.After(of.since):
		return false
	case of.isLong():
	case l.run.isLong(l.now()):
		l.run.named++
	default:
		return false
	}
	of.overdue = true
	// Where it is to count nowhere, no answer has waited for it.
	if e.node == "" {
		return true
	}
	if l.run.named > maxNamed {
		klog.V(4).InfoS("nodesift does not take in a further placement", "pod", klog.KObj(e.pod), "node", e.node, "err", of.err)
		return true
	}
	klog.ErrorS(of.err, "nodesift does not take in a placement, and is asked without it", "pod", klog.KObj(e.pod), "node", e.node)
	return true
}

// isAside tells whether a placement is told beside the stream only. It is called with the lock.
func (l *ledger) isAside(e *entry) bool {
	return e.refusal != nil && (e.refusal.alone || l.isOverdue(e))
}

// halve notes that a request with these changes has failed.
func (l *ledger) halve(changes []sending) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, change := range changes {
		if entry := l.entries[change.uid]; entry != nil && entry.change == change.change {
			entry.most = max(len(changes)/2, 1)
		}
	}
}

// setAside notes that a request with this change alone has failed. Other requests go without it.
func (l *ledger) setAside(change sending, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	entry := l.entries[change.uid]
	if entry == nil || entry.change != change.change {
		return
	}
	now := l.now()
	l.refuse(entry, err, now)
	entry.refusal.alone = true
	entry.refusal.next = now.Add(refusalPause)
}

// silent notes a question without an answer: that the sidecar has said nothing of a placement is not the fault of that one, so
// it is told on the stream again. What answers count without stays as it is.
func (l *ledger) silent() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, entry := range l.entries {
		entry.most = 0
		if entry.refusal != nil && entry.refusal.alone && !l.isOverdue(entry) {
			l.takenIn(entry)
		}
	}
}

// someAside tells whether there may be placements to tell beside the stream.
func (l *ledger) someAside() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.refused > 0
}

// telling is a change that is told beside the stream.
type telling struct {
	sending
	option nodesift.ChangeOption
}

// asideNow are those to tell beside the stream now.
func (l *ledger) asideNow() []telling {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var all []telling
	for uid, entry := range l.entries {
		if len(all) == maxSetAsideAtOnce {
			break
		}
		if !l.isAside(entry) || entry.sent || l.now().Before(entry.refusal.next) {
			continue
		}
		entry.sent = true
		all = append(all, telling{sending{uid, entry.change, entry.node}, entry.option()})
	}
	return all
}

// told notes what became of a change that was told beside the stream. Where it was taken in, the stream is told next.
func (l *ledger) told(change sending, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	entry := l.entries[change.uid]
	if entry == nil || entry.change != change.change {
		return
	}
	entry.sent = false
	if err == nil {
		l.takenIn(entry)
		return
	}
	now := l.now()
	l.refuse(entry, err, now)
	entry.refusal.next = now.Add(refusalPause)
}
