package yunikorn

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods that are set aside because their questions take too long are asked about in the background, one at a time, with more time. Such
// an answer is kept as all others are. Placements and changes that come later than it was asked for overtake most of them, in a busy
// cluster all. So it is kept beside those too, for a while: the nodes that it rejects stay rejected, and about those that fit the own
// manager is asked as well, which sees what has changed. Where the pod is placed then, it is judged as one without an answer.

// errOutdated: the pod fits by an answer that something has overtaken.
var errOutdated = errors.New("nodesift's answer about this pod has been overtaken")

// late are answers in the background.
type late struct {
	answers map[question]*kept
	// Pods to be asked about or just asked about, and the order of the former.
	wanted map[question]*v1.Pod
	queue  []question
	// Whether somebody asks.
	asking bool
}

func newLate() late { return late{answers: map[question]*kept{}, wanted: map[question]*v1.Pod{}} }

// meanwhile is the verdict about a pod that is set aside, and has the next answer about it asked for.
func (s *sidecar) meanwhile(pod *v1.Pod, node *v1.Node, allocate bool) (plugin string, why, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stance != answering {
		return "", nil, errHeld
	}
	about := question{pod.UID, allocate}
	s.want(about, pod)
	of := s.late.answers[about]
	if of == nil || of.podVersion != pod.ResourceVersion || time.Since(of.asked) > lateAge {
		return "", nil, errAside
	}
	if plugin, why, err = of.verdict(node.Name); err == nil && why == nil {
		err = errOutdated
	}
	return plugin, why, err
}

// want has a pod asked about in the background, unless it does not help. It is called with the mutex.
func (s *sidecar) want(about question, pod *v1.Pod) {
	l := &s.late
	if l.wanted[about] != nil || len(l.queue) >= maxLate || !s.aside[templateOf(pod)].slow || s.isMissed(pod) {
		return
	}
	// The shim may change it later.
	l.wanted[about] = pod.DeepCopy()
	l.queue = append(l.queue, about)
	if !l.asking {
		l.asking = true
		go s.askLate()
	}
}

// isMissed tells whether a question in the background about such a pod has just had no answer. It is called with the mutex.
func (s *sidecar) isMissed(pod *v1.Pod) bool {
	return time.Now().Before(s.aside[templateOf(pod)].waiting)
}

// askLate asks until there is nothing to ask. It rests for as long as each question has taken, so that it keeps no processor of the
// sidecar from others.
func (s *sidecar) askLate() {
	for s.settled() {
		s.mutex.Lock()
		if len(s.late.queue) == 0 {
			s.late.asking = false
			s.mutex.Unlock()
			return
		}
		about := s.late.queue[0]
		s.late.queue = s.late.queue[1:]
		pod := s.late.wanted[about]
		drop := pod == nil || s.isMissed(pod)
		if drop {
			delete(s.late.wanted, about)
		}
		s.mutex.Unlock()
		if drop {
			continue
		}
		select {
		case <-time.After(s.askOneLate(about, pod)):
		case <-s.client.Done():
			return
		}
	}
}

func (s *sidecar) askOneLate(about question, pod *v1.Pod) (took time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max(tryTimeout, s.options.Timeout))
	defer cancel()
	began := time.Now()
	of, err := s.answer(ctx, pod, versions{pod: pod.ResourceVersion}, about.allocate)
	took = time.Since(began)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	wanted := s.late.wanted[about] == pod
	if wanted {
		delete(s.late.wanted, about)
	}
	template := templateOf(pod)
	aside, isAside := s.aside[template]
	switch {
	case err != nil:
		aside.waiting = time.Now().Add(doubled(asideMin, aside.misses, asideMax))
		aside.misses++
	case of != nil:
		// What may have changed unseen since it was asked for is counted from here on: it takes longer than answers are used.
		of.asked = time.Now()
		if wanted {
			s.keepLate(about, of)
		}
		aside.misses = 0
		if took > s.options.Timeout {
			// One under the lock would have no answer.
			aside.until = time.Now().Add(asideMax)
		}
	}
	if isAside {
		s.aside[template] = aside
	}
	return took
}

// keepLate is called with the mutex.
func (s *sidecar) keepLate(about question, of *kept) {
	answers := s.late.answers
	if answers[about] == nil && len(answers) >= maxLate {
		oldest := about
		for other, than := range answers {
			if oldest == about || than.asked.Before(answers[oldest].asked) {
				oldest = other
			}
		}
		delete(answers, oldest)
	}
	answers[about] = of
}

// dropLate drops the answers about a pod, also those to come. It is called with the mutex.
func (s *sidecar) dropLate(uid types.UID) {
	for _, allocate := range []bool{false, true} {
		delete(s.late.answers, question{uid, allocate})
		delete(s.late.wanted, question{uid, allocate})
	}
}

// unwant drops what is to be asked. It is called with the mutex.
func (s *sidecar) unwant() {
	for _, about := range s.late.queue {
		delete(s.late.wanted, about)
	}
	s.late.queue = slices.Clip(s.late.queue[:0])
}
