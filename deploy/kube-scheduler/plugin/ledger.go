package plugin

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// ledger has the pods that this scheduler has placed, from Reserve until the informer shows them bound or deleted. A sidecar
// that has restarted knows nothing of them, so an answer counts only where the process that gave it has taken in all of them.
type ledger struct {
	mutex   sync.Mutex
	entries map[types.UID]*entry
	changes uint64
	// The newest stream on which anything was taken in, and how many placements were taken in there.
	stream  uint64
	settled int
}

// entry is a pod, and where it is to count.
type entry struct {
	pod *v1.Pod
	// Empty where it is to count nowhere.
	node string
	// Which change this is, so that the answer to an earlier one is not taken for that to this one.
	change uint64
	// Whether the change was sent, and is not answered yet.
	sent bool
	// The stream on which it was taken in; 0 where it was not.
	stream uint64
	at     time.Time
	// Whether the sidecar had the pod when it was placed, so that its UID is enough the first time.
	known bool
}

// sending is a change that is being sent.
type sending struct {
	uid    types.UID
	change uint64
	node   string
}

// reserve notes a placement.
func (l *ledger) reserve(pod *v1.Pod, node string, known bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.entries == nil {
		l.entries = map[types.UID]*entry{}
	}
	l.replace(pod.UID, &entry{pod: pod, node: node, known: known})
}

// unreserve notes that a placement is void, and tells whether there was one.
func (l *ledger) unreserve(uid types.UID) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	old := l.entries[uid]
	if old == nil {
		return false
	}
	l.replace(uid, &entry{pod: old.pod})
	return true
}

// shown ends a placement: the informer has shown what became of the pod, and requests require what it has shown.
func (l *ledger) shown(uid types.UID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.replace(uid, nil)
}

// replace is called with the lock.
func (l *ledger) replace(uid types.UID, next *entry) {
	if old := l.entries[uid]; old != nil && old.counts(l.stream) {
		l.settled--
	}
	if next == nil {
		delete(l.entries, uid)
		return
	}
	l.changes++
	next.change, next.at = l.changes, time.Now()
	l.entries[uid] = next
}

// counts tells whether this is a placement that a stream has taken in.
func (e *entry) counts(stream uint64) bool { return e.node != "" && e.stream == stream && stream != 0 }

// isOwed tells whether the sidecar has to be told this, where it answers on a stream.
func (e *entry) isOwed(stream uint64) bool {
	old := stream != 0 && e.stream != stream || time.Since(e.at) > placementRenewal
	return !e.sent && (e.stream == 0 || old)
}

// owed is the number of changes that [ledger.unsent] would send without a limit.
func (l *ledger) owed(stream uint64) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	owed := 0
	for _, entry := range l.entries {
		if entry.isOwed(stream) {
			owed++
		}
	}
	return owed
}

// unsent are the changes to send now: those that were never sent or were refused, and, where a stream is given, those that were
// not taken in on it. At most [maxChanges].
func (l *ledger) unsent(stream uint64) ([]nodesift.FeasibleOption, []sending) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var options []nodesift.FeasibleOption
	var changes []sending
	for uid, entry := range l.entries {
		if len(changes) == maxChanges {
			break
		}
		if !entry.isOwed(stream) {
			continue
		}
		pod := nodesift.PodUID(string(uid))
		if !entry.known && entry.node != "" {
			pod = nodesift.WholePod(entry.pod)
		}
		entry.sent, entry.known = true, false
		changes = append(changes, sending{uid, entry.change, entry.node})
		if entry.node == "" {
			options = append(options, nodesift.ForgetFirst(pod))
		} else {
			options = append(options, nodesift.AssumeFirst(pod, entry.node, nodesift.TimeToLive(placementLifetime)))
		}
	}
	return options, changes
}

// settle notes what became of changes. Where there is an error, that is unknown of all of them, and they are sent again.
func (l *ledger) settle(changes []sending, outcome nodesift.Changes, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if outcome.Stream > l.stream {
		l.stream, l.settled = outcome.Stream, 0
	}
	assumed, forgotten := outcome.Assumed, outcome.Forgotten
	for _, change := range changes {
		var refused error
		switch {
		case change.node == "" && len(forgotten) > 0:
			refused, forgotten = forgotten[0].Err, forgotten[1:]
		case change.node != "" && len(assumed) > 0:
			refused, assumed = assumed[0].Err, assumed[1:]
		default:
			// No answer.
			refused = err
			if refused == nil {
				refused = nodesift.ErrUnavailable
			}
		}
		entry := l.entries[change.uid]
		if entry == nil || entry.change != change.change {
			continue
		}
		entry.sent = false
		if refused != nil {
			if entry.counts(l.stream) {
				l.settled--
			}
			entry.stream = 0
			continue
		}
		if entry.node == "" {
			delete(l.entries, change.uid)
			continue
		}
		if !entry.counts(l.stream) && outcome.Stream == l.stream {
			l.settled++
		}
		entry.stream, entry.at = outcome.Stream, time.Now()
	}
}

// placed tells whether all placements were taken in on a stream, so that its answers count.
func (l *ledger) placed(stream uint64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if stream == l.stream && l.settled == len(l.entries) {
		return true
	}
	for _, entry := range l.entries {
		if entry.node != "" && entry.stream != stream {
			return false
		}
	}
	return true
}

// len is the number of pods in the ledger.
func (l *ledger) len() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.entries)
}
