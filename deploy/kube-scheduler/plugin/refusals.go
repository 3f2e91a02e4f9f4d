package plugin

import (
	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// refuse notes that a placement was not taken in. It is called with the lock.
func (l *ledger) refuse(e *entry, err error) {
	if e.refusal == nil {
		e.refusal = &refusal{since: l.now()}
		l.refused++
	}
	e.refusal.err, e.refusal.last = err, l.now()
}

// takenIn ends a refusal, if there is one. It is called with the lock.
func (l *ledger) takenIn(e *entry) {
	if e.refusal == nil {
		return
	}
	e.refusal = nil
	l.refused--
}

// isOverdue tells whether attempts to tell a placement have failed for so long that answers count without it, and logs that once.
// Where requests with it failed as a whole, that is so only if the sidecar has answered others since. It is called with the lock.
func (l *ledger) isOverdue(e *entry) bool {
	of := e.refusal
	if of == nil || of.last.Sub(of.since) < refusalPatience || of.alone && !l.answered.After(of.since) {
		return false
	}
	// Where it is to count nowhere, no answer has waited for it.
	if !of.logged && e.node != "" {
		of.logged = true
		klog.ErrorS(of.err, "nodesift does not take in a placement, and is asked without it", "pod", klog.KObj(e.pod), "node", e.node)
	}
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
	l.refuse(entry, err)
	entry.refusal.alone = true
	entry.refusal.next = l.now().Add(refusalPause)
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
	l.refuse(entry, err)
	entry.refusal.next = l.now().Add(refusalPause)
}
