package plugin

import (
	"cmp"
	"slices"
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
	// Placements that informers have shown bound, until an answer has seen that too.
	shownBound []shownBound
	// When the sidecar has last answered anything on the stream.
	answered time.Time
	// Entries that it has not taken in when they were told, and the run of such refusals.
	refused int
	run     run
	// The time; the clock of the machine where it is nil.
	clock func() time.Time
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
	// Set where it was not taken in, and not since.
	refusal *refusal
	// Changes of a request with this one, after one has failed; 0 is any number.
	most int
	// The version in which informers have shown it bound; 0 where they have not.
	shown uint64
	// Whether it was told after it was shown bound: to a process that may have seen it go, and would count it for its lifetime.
	again bool
	// Whether its node has gone since, with which the sidecar ends what was assumed there.
	unsure bool
}

// shownBound is a placement, and the version in which informers have shown it bound.
type shownBound struct {
	uid     types.UID
	version uint64
}

// refusal is a placement that does not come through: the sidecar refuses it, or fails or says nothing whenever it is told of it.
type refusal struct {
	// The first time and the last one that it did not.
	since, last time.Time
	// Whether a request that had nothing else has failed. It is told no more on the stream then.
	alone bool
	// When it is told beside the stream again.
	next time.Time
	err  error
	// Whether answers count without it.
	overdue bool
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
	// One that informers have shown bound is bound, whatever the call that bound it has said.
	if old == nil || old.shown != 0 {
		return false
	}
	l.replace(uid, &entry{pod: old.pod})
	return true
}

// release has the sidecar told that a placement is void, if there is one.
func (l *ledger) release(uid types.UID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if old := l.entries[uid]; old != nil {
		l.replace(uid, &entry{pod: old.pod})
	}
}

// shownAsPlaced notes that an informer has shown a pod bound, and tells whether answers have counted it just so since it was placed: the
// sidecar need not have seen the binding. It stays in the ledger until an answer has seen it, so that a process that begins before is told.
func (l *ledger) shownAsPlaced(pod *v1.Pod) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	e := l.entries[pod.UID]
	version := number(pod.ResourceVersion)
	if e == nil || version == 0 || e.unsure {
		return false
	}
	// Another profile has been shown the same; the entry stays, so that every process is told.
	if e.shown == version {
		return true
	}
	// The sidecar may have ended one that was not renewed.
	if !e.counts(l.stream) || l.now().Sub(e.at) > placementRenewal {
		return false
	}
	placed := *e.pod
	placed.Spec.NodeName = e.node
	if !alike(&placed, pod) {
		return false
	}
	// Versions go back where etcd is restored.
	if e.shown == 0 || version < e.shown {
		e.shown = version
		l.shownBound = append(l.shownBound, shownBound{pod.UID, version})
	}
	return true
}

// reached ends placements that an answer has seen bound, by its version of pods, and is the newest version of these. No process is told of
// them any more, so each has to have seen that.
func (l *ledger) reached(version uint64) (newest uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.shownBound = slices.DeleteFunc(l.shownBound, func(of shownBound) bool {
		e := l.entries[of.uid]
		if e == nil || e.shown != of.version {
			return true
		}
		if of.version > version {
			return false
		}
		if e.again {
			l.replace(of.uid, &entry{pod: e.pod})
		} else {
			l.replace(of.uid, nil)
		}
		newest = max(newest, of.version)
		return true
	})
	return newest
}

// nodeGone notes that the sidecar ends what was assumed on a node that has gone, and is the newest version in which a pod was shown bound
// there. Where the node comes back, it has to have seen that.
func (l *ledger) nodeGone(node string) (newest uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, e := range l.entries {
		if e.node == node {
			e.unsure, newest = true, max(newest, e.shown)
		}
	}
	return newest
}

// shown ends a placement: the informer has shown what became of the pod, and requests require what it has shown.
func (l *ledger) shown(uid types.UID) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.replace(uid, nil)
}

// replace is called with the lock.
func (l *ledger) replace(uid types.UID, next *entry) {
	if old := l.entries[uid]; old != nil {
		if old.counts(l.stream) {
			l.settled--
		}
		l.takenIn(old)
	}
	if next == nil {
		delete(l.entries, uid)
		return
	}
	l.changes++
	next.change, next.at = l.changes, l.now()
	l.entries[uid] = next
}

// counts tells whether this is a placement that a stream has taken in.
func (e *entry) counts(stream uint64) bool { return e.node != "" && e.stream == stream && stream != 0 }

// isOwed tells whether the sidecar has to be told this on a stream. It is called with the lock.
func (l *ledger) isOwed(e *entry, stream uint64) bool {
	// One that is bound is there when its lifetime is over.
	old := stream != 0 && e.stream != stream || e.shown == 0 && l.now().Sub(e.at) > placementRenewal
	return !e.sent && !l.isAside(e) && (e.stream == 0 || old)
}

// owed is the number of changes that [ledger.unsent] would send without a limit.
func (l *ledger) owed(stream uint64) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	owed := 0
	for _, entry := range l.entries {
		if l.isOwed(entry, stream) {
			owed++
		}
	}
	return owed
}

// unsent are the changes to send now, with a limit: those that were never sent or were refused, the latter last, and, where a stream
// is given, those that were not taken in on it. Of those with which requests have failed there are half as many as then, so that
// few failures find the one that is at fault.
func (l *ledger) unsent(stream uint64, most int) ([]nodesift.FeasibleOption, []sending) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var owed []*entry
	for _, entry := range l.entries {
		if l.isOwed(entry, stream) {
			owed = append(owed, entry)
		}
	}
	slices.SortFunc(owed, func(a, b *entry) int {
		switch {
		case a.refusal == nil && b.refusal != nil:
			return -1
		case a.refusal != nil && b.refusal == nil:
			return 1
		default:
			return cmp.Compare(b.limit(), a.limit())
		}
	})
	var options []nodesift.FeasibleOption
	var changes []sending
	for _, entry := range owed {
		if most = min(most, entry.limit()); len(changes) >= most {
			break
		}
		entry.sent = true
		changes = append(changes, sending{entry.pod.UID, entry.change, entry.node})
		options = append(options, entry.option())
	}
	return options, changes
}

// limit is the largest request that this is told in.
func (e *entry) limit() int {
	if e.most == 0 {
		return maxBatch
	}
	return e.most
}

// option is a change as a request has it.
func (e *entry) option() nodesift.ChangeOption {
	pod := nodesift.PodUID(string(e.pod.UID))
	if !e.known && e.node != "" {
		pod = nodesift.WholePod(e.pod)
	}
	e.known = false
	e.again = e.again || e.shown != 0
	if e.node == "" {
		return nodesift.ForgetFirst(pod)
	}
	return nodesift.AssumeFirst(pod, e.node, nodesift.TimeToLive(placementLifetime))
}

// settle notes what became of changes. Where there is an error, that is unknown of all of them, and they are sent again.
func (l *ledger) settle(changes []sending, outcome nodesift.Changes, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if outcome.Stream > l.stream {
		l.stream, l.settled = outcome.Stream, 0
	}
	now := l.now()
	if err == nil {
		l.answered = now
	}
	assumed, forgotten := outcome.Assumed, outcome.Forgotten
	for _, change := range changes {
		var refused error
		answered := true
		switch {
		case change.node == "" && len(forgotten) > 0:
			refused, forgotten = forgotten[0].Err, forgotten[1:]
		case change.node != "" && len(assumed) > 0:
			refused, assumed = assumed[0].Err, assumed[1:]
		default:
			// No answer.
			answered, refused = false, err
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
			if answered {
				l.refuse(entry, refused, now)
			}
			continue
		}
		l.takenIn(entry)
		entry.most = 0
		if entry.node == "" {
			delete(l.entries, change.uid)
			continue
		}
		if !entry.counts(l.stream) && outcome.Stream == l.stream {
			l.settled++
		}
		entry.stream, entry.at = outcome.Stream, now
	}
}

// placed tells whether all placements were taken in on a stream, but for those that the sidecar has not taken in for long, so that its
// answers count.
func (l *ledger) placed(stream uint64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if stream == l.stream && l.settled == len(l.entries) {
		return true
	}
	for _, entry := range l.entries {
		if entry.node != "" && entry.stream != stream && !l.isOverdue(entry) {
			return false
		}
	}
	return true
}

// holds tells whether anything is noted of a pod.
func (l *ledger) holds(uid types.UID) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.entries[uid] != nil
}

// has tells whether a pod is placed on a node, and no answer has seen it bound there yet.
func (l *ledger) has(uid types.UID, node string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	entry := l.entries[uid]
	return entry != nil && entry.node == node
}

// now is called with the lock.
func (l *ledger) now() time.Time {
	if l.clock == nil {
		return time.Now()
	}
	return l.clock()
}

// len is the number of pods in the ledger.
func (l *ledger) len() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.entries)
}
