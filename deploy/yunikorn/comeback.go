package yunikorn

import (
	"context"
	"errors"
	"fmt"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

var (
	// errSlow: a question under the lock of the shim would have had no answer in time.
	errSlow = errors.New("nodesift takes longer than a question may")
	// errAnew: another process of the sidecar than before has answered, which has to be told the placements first.
	errAnew = errors.New("nodesift has been restarted")
)

// somePod is a small pod that no cluster has. The sidecar is asked about it in the background.
const somePod = `{"apiVersion": "v1", "kind": "Pod",
"metadata": {"namespace": "default", "name": "nodesift-question", "uid": "nodesift-question"},
"spec": {"schedulerName": "yunikorn", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}}`

// comeBack asks in the background until the sidecar answers: for the first time, or again after an outage. So no question under
// the lock of the shim finds out whether it does. Placements are delivered meanwhile, and first.
func (s *sidecar) comeBack() {
	for tries := 0; ; tries++ {
		s.remind()
		s.say()
		if !s.delivered() {
			return
		}
		err := s.try(tries)
		if errors.Is(err, errAnew) {
			continue
		}
		if err == nil {
			ended := s.resume(tries == 0 || tries >= versionedTries)
			s.say()
			if ended != nil && ended.Placed > 0 {
				ended.Stage = Judged
				s.review(ended)
			}
			return
		}
		s.mutex.Lock()
		// What the first question of all takes longer is what the others are spared.
		if s.stance == away || tries > 0 || !errors.Is(err, errSlow) {
			s.giveUp(err)
		}
		s.mutex.Unlock()
		select {
		case <-time.After(doubled(restMin, tries, restMax)):
		case <-s.revived:
		case <-s.client.Done():
			return
		}
	}
}

// delivered waits until nothing waits for its delivery without which no question is asked: for what is stuck no longer than that may
// keep questions from being asked. It fails where the client is closed.
func (s *sidecar) delivered() bool {
	pace := time.NewTicker(probePace)
	defer pace.Stop()
	for {
		s.mutex.Lock()
		blocking, changed := s.deliveries.blocking, s.change()
		s.mutex.Unlock()
		if blocking == 0 {
			return true
		}
		select {
		case <-changed:
		case <-pace.C:
			s.probe()
			s.remind()
			s.say()
		case <-s.client.Done():
			return false
		}
	}
}

// try asks one question in the background. It fails where one under the lock of the shim would have.
func (s *sidecar) try(tries int) error {
	s.mutex.Lock()
	required := s.required
	s.mutex.Unlock()
	if tries >= versionedTries {
		required = versions{}
	}
	took, err := s.question(required, max(tryTimeout, s.options.Timeout))
	if err == nil && took > s.options.Timeout {
		return fmt.Errorf("%w: %s", errSlow, took.Round(time.Millisecond))
	}
	return err
}

// question asks about some pod, in the background. A pod that the sidecar finds nothing of, or invalid, is an answer too.
func (s *sidecar) question(required versions, within time.Duration) (took time.Duration, err error) {
	s.client.Connect()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	began := time.Now()
	set, err := s.client.Feasible(ctx, nodesift.PodJSON([]byte(somePod)), nodesift.AllowFaults(),
		nodesift.AtLeast(required.node, required.pod), nodesift.Patience(s.options.Timeout/patienceShare))
	took = time.Since(began)
	switch {
	case errors.Is(err, nodesift.ErrNotFound) || errors.Is(err, nodesift.ErrInvalid):
		return took, nil
	case err != nil:
		return took, err
	}
	if took <= s.options.Timeout {
		s.mutex.Lock()
		s.lastAnswer = time.Now()
		s.mutex.Unlock()
	}
	s.policy.learn(s.client, set)
	if s.restarted(set.Epoch()) {
		return took, errAnew
	}
	return took, nil
}

// review asks about pods that were placed without the sidecar, each on its node and without itself, and has the outcome logged. For
// those of an outage it ends where another one begins; for others it goes on after that.
func (s *sidecar) review(placed *outage) {
	of := placed.Outage
	for _, at := range placed.oldest() {
		ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
		set, err := s.reviewOne(ctx, at)
		cancel()
		if errors.Is(err, nodesift.ErrNotFound) {
			// The pod or the node has gone.
			continue
		}
		s.mutex.Lock()
		goesOn := s.stance == answering
		s.mutex.Unlock()
		if err != nil && !goesOn && (of.Stage == Judged || !s.settled()) {
			break
		}
		if err != nil {
			continue
		}
		of.Judged++
		predicate, _, reasons := set.Why(at.node)
		if set.Fits(at.node) || unevaluated(set.Faults(), predicate) {
			continue
		}
		of.Misfits++
		why := fmt.Sprintf("%s: %s", predicate, joined(reasons))
		s.options.Misfit(at.pod, at.node, why)
		if len(of.Misfitting) < maxNamed {
			of.Misfitting = append(of.Misfitting, fmt.Sprintf("%s on %s (%s)", nameOf(at), at.node, why))
		}
	}
	s.mutex.Lock()
	s.history.misfits += uint64(of.Misfits)
	s.toSay(of)
	s.mutex.Unlock()
	s.say()
}

func (s *sidecar) reviewOne(ctx context.Context, at *placement) (nodesift.Set, error) {
	uid := nodesift.PodUID(string(at.pod.UID))
	without := nodesift.WithOverlay(nodesift.Overlay{RemovedPods: []nodesift.Pod{uid}})
	return s.client.Feasible(ctx, uid, nodesift.OnNodes(at.node), without, nodesift.AllowFaults())
}
