package yunikorn_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

// replica is a pod of a controller.
func replica(of string, at int) *v1.Pod {
	made := pod(fmt.Sprint(of, "-", at), "5")
	made.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: of, UID: types.UID("uid-of-" + of), Controller: new(true)}}
	return made
}

// aQuestion is the time of a question where one that takes longer has a longer time in the background.
func aQuestion() time.Duration { return min(scaled(50*time.Millisecond), 250*time.Millisecond) }

// noAnswerTo waits for the end of a question. What comes then is no answer, also where the one who asks is late to see the end.
func noAnswerTo(ctx context.Context) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// slowly answers questions about pods of a controller only where they have more time than one under the lock of the shim. It counts
// those questions of either kind.
func (f *fake) slowly(of string) (underLock, inBackground *atomic.Int64) {
	underLock, inBackground = new(atomic.Int64), new(atomic.Int64)
	f.change(func() {
		f.about = func(ctx context.Context, uid string) error {
			if !strings.HasPrefix(uid, "uid-"+of+"-") {
				return nil
			}
			if deadline, _ := ctx.Deadline(); time.Until(deadline) > aQuestion() {
				inBackground.Add(1)
				select {
				case <-time.After(aQuestion() + 10*time.Millisecond):
					return nil
				case <-ctx.Done():
				}
			} else {
				underLock.Add(1)
			}
			return noAnswerTo(ctx)
		}
	})
	return underLock, inBackground
}

// Each is another pod, and where each held the lock for the time of a question and began an outage, nothing else would be scheduled.
func TestReplicasThatTakeTooLongKeepNoOthersFromBeingAskedAbout(t *testing.T) {
	for kind, about := range map[string]func(m *manager, of *v1.Pod){
		"verdicts": func(m *manager, of *v1.Pod) { _, _ = m.Predicates(of, info("node-0001", "900"), true) },
		"victims": func(m *manager, of *v1.Pod) {
			m.PreemptionPredicates(of, info("node-0001", "900"), []*v1.Pod{of, of}, 0)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			f, client := startFake(t, 6)
			logged := &log{}
			options := logged.options()
			options.Timeout, options.MaxAge = scaled(100*time.Millisecond), -1
			m := newManager(client, &own{}, options)
			untilAnswered(t, m)
			var asked atomic.Int64
			f.change(func() {
				f.about = func(ctx context.Context, uid string) error {
					if strings.HasPrefix(uid, "uid-large-") {
						asked.Add(1)
						return noAnswerTo(ctx)
					}
					return nil
				}
			})
			const replicas, few = 200, 20
			for at := range replicas {
				about(m, replica("large", at))
				ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0001", "900"), true, 2)
			}
			if asked.Load() == 0 || asked.Load() > few {
				t.Errorf("%d questions about the replicas", asked.Load())
			}
			expect(t, "outages", m.Health().Outages, 0)
			logged.untilLogged(t, 0)
		})
	}
}

func TestASidecarThatHangsCostsFewQuestions(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{Timeout: scaled(100 * time.Millisecond), MaxAge: -1})
	untilAnswered(t, m)
	f.change(func() { f.about = func(ctx context.Context, _ string) error { return noAnswerTo(ctx) } })
	const few = 3
	pods := 0
	until(t, "it is given up", func() bool {
		ask(t, m, pod(fmt.Sprint(pods), "5"), info("node-0001", "900"), true, 0)
		pods++
		return !m.Health().Answers
	})
	for at := range 100 {
		ask(t, m, pod(fmt.Sprint("later-", at), "5"), info("node-0001", "900"), true, 0)
	}
	if asked := m.Counts().Asked; asked > few {
		t.Errorf("%d questions", asked)
	}
	expect(t, "outages", m.Health().Outages, 1)
}

// Nothing says then that it is the pod that takes the time.
func TestASlowQuestionLongAfterAllOthersIsAnOutageAtOnce(t *testing.T) {
	f, client := startFake(t, 6)
	logged := &log{}
	options := logged.options()
	options.Timeout = aQuestion()
	m := newManager(client, &own{}, options)
	untilAnswered(t, m)
	f.slowly("large")
	m.Pass(time.Second + time.Millisecond)
	_, _ = m.Predicates(replica("large", 0), info("node-0001", "900"), true)
	expect(t, "outages", m.Health().Outages, 1)
}

// The policy has a predicate that the shim lacks, so nothing is placed by the own manager alone.
func slowWorld(t *testing.T) (f *fake, m *manager, of *own, logged *log) {
	t.Helper()
	f, client := startFake(t, 6)
	f.change(func() { f.predicates = append(f.predicates, "TeamIsolation") })
	of, logged = &own{}, &log{}
	options := logged.options()
	options.Timeout = aQuestion()
	m = newManager(client, of, options)
	untilAnswered(t, m)
	return f, m, of, logged
}

// rejectedBy is the predicate that rejects a pod on a node.
func rejectedBy(m *manager, of *v1.Pod, node string) string {
	plugin, _ := m.Predicates(of, info(node, "900"), true)
	return plugin
}

func TestPodsThatAlwaysTakeTooLongAreAnsweredInTheEnd(t *testing.T) {
	f, m, of, _ := slowWorld(t)
	underLock, inBackground := f.slowly("large")
	const replicas = 5
	for at := range replicas {
		large := replica("large", at)
		expect(t, "at first it waits", rejectedBy(m, large, "node-0001"), "nodesift")
		until(t, "it has an answer", func() bool { return rejectedBy(m, large, "node-0001") == "NodeResourcesFit" })
		// All nodes are in it, and it is used again like all answers.
		ask(t, m, large, info("node-0000", "900"), true, 0)
		ask(t, m, large, info("node-0002", "900"), true, 1)
		// Now that an answer has shown that a question under the lock would have none, there is none for as long as can be.
		if aside := m.AsideFor(large); aside < 5*time.Second {
			t.Errorf("not asked about for %s", aside)
		}
	}
	expectCalls(t, of)
	expect(t, "outages", m.Health().Outages, 0)
	if underLock.Load() > replicas || inBackground.Load() > 2*replicas {
		t.Errorf("%d questions under the lock, %d in the background", underLock.Load(), inBackground.Load())
	}
}

// In a busy cluster every answer in the background has been overtaken when it comes. What has changed is the own manager's to see.
func TestAnAnswerInTheBackgroundThatWasOvertakenRejectsNodesAndLetsTheOwnManagerDecideAboutTheOthers(t *testing.T) {
	for name, unavailable := range map[string]yunikorn.Unavailable{"by policy": yunikorn.ByPolicy, "reject": yunikorn.Reject, "own": yunikorn.Own} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			f.change(func() { f.predicates = append(f.predicates, "TeamIsolation") })
			of, logged := &own{}, &log{}
			options := logged.options()
			options.Timeout, options.Unavailable = aQuestion(), unavailable
			m := newManager(client, of, options)
			untilAnswered(t, m)
			f.slowly("large")
			large := replica("large", 0)
			until(t, "it has an answer", func() bool { return rejectedBy(m, large, "node-0001") == "NodeResourcesFit" })
			of.taken()
			slowly := f.about
			f.change(func() {
				f.about = func(ctx context.Context, uid string) error {
					if err := slowly(ctx, uid); err != nil || !strings.HasPrefix(uid, "uid-large-") {
						return err
					}
					return noAnswerTo(ctx)
				}
			})
			m.AssumePod(pod("b", "5"), "node-0003")
			untilDelivered(t, m)
			ask(t, m, large, info("node-0001", "900"), true, 2)
			expectCalls(t, of)
			ask(t, m, large, info("node-0003", "900"), true, 0)
			expectCalls(t, of, "Predicates node-0003")
			f.change(func() { f.about = nil; f.misfits["uid-large-0"] = true })
			m.AssumePod(large, "node-0003")
			line := logged.untilUnanswered(t, 1)[0]
			expect(t, "judged", fmt.Sprint(line.Placed, line.Judged, line.Misfits), "1 1 1")
			expect(t, "answers kept about a pod that is placed", m.Late(), 0)
		})
	}
}

func TestAnAnswerInTheBackgroundIsNotUsed(t *testing.T) {
	for name, change := range map[string]func(f *fake, m *manager, of *v1.Pod){
		"for another version of the pod": func(_ *fake, _ *manager, of *v1.Pod) { of.ResourceVersion = "6" },
		"after ten seconds": func(_ *fake, m *manager, _ *v1.Pod) {
			m.ForgetPod("uid-other")
			m.Pass(10*time.Second + time.Millisecond)
		},
		"of another process": func(f *fake, m *manager, _ *v1.Pod) {
			f.change(func() { f.epoch, f.generation = 8, 1 })
			_, _ = m.Predicates(pod("other", "5"), info("node-0001", "900"), true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, m, of, _ := slowWorld(t)
			f.slowly("large")
			large := replica("large", 0)
			until(t, "it has an answer", func() bool { return rejectedBy(m, large, "node-0001") == "NodeResourcesFit" })
			f.change(func() {
				f.about = func(_ context.Context, uid string) error {
					if strings.HasPrefix(uid, "uid-large-") {
						return status.Error(codes.Internal, "a panic")
					}
					return nil
				}
			})
			change(f, m, large)
			untilDelivered(t, m)
			expect(t, "rejected", rejectedBy(m, large, "node-0001"), "nodesift")
			expectCalls(t, of)
		})
	}
}

// Those for which calls fail are not asked about in the background: that would have them fail again.
func TestOnlyPodsThatTakeTooLongAreAskedAboutInTheBackground(t *testing.T) {
	f, m, _, _ := slowWorld(t)
	var asked atomic.Int64
	f.change(func() {
		f.about = func(_ context.Context, uid string) error {
			if uid == "uid-broken" {
				asked.Add(1)
				return status.Error(codes.Internal, "a panic")
			}
			return nil
		}
	})
	for at := range 100 {
		_ = rejectedBy(m, pod("broken", "5"), "node-0001")
		other := pod(fmt.Sprint(at), "5")
		until(t, "others are asked about", func() bool { return rejectedBy(m, other, "node-0001") == "NodeResourcesFit" })
	}
	if questions := uint64(asked.Load()); questions > m.Health().Outages {
		t.Errorf("%d questions, %d outages", questions, m.Health().Outages)
	}
}

func TestAnswersInTheBackgroundAreKeptOfABoundedNumberOfPods(t *testing.T) {
	f, m, _, _ := slowWorld(t)
	f.slowly("large")
	const pods, most = 300, 256
	m.KeepLate(pods)
	expect(t, "kept", m.Late(), most)
	// What is new takes the place of the oldest.
	for at := range 2 {
		until(t, "it has an answer", func() bool { return rejectedBy(m, replica("large", at), "node-0001") == "NodeResourcesFit" })
	}
	expect(t, "kept", m.Late(), most)
	if m.LateSince(replica("large", 0)).IsZero() {
		t.Fatal("the answer that was kept last but one is gone")
	}
}

// An answer that takes longer than answers are used would be too old when it comes.
func TestTheAgeOfAnAnswerInTheBackgroundBeginsWhenItHasCome(t *testing.T) {
	f, m, _, _ := slowWorld(t)
	f.slowly("large")
	slowly := f.about
	var mutex sync.Mutex
	var given time.Time
	f.change(func() {
		f.about = func(ctx context.Context, uid string) error {
			err := slowly(ctx, uid)
			mutex.Lock()
			defer mutex.Unlock()
			if uid == "uid-large-0" && err == nil && given.IsZero() {
				given = time.Now()
			}
			return err
		}
	})
	large := replica("large", 0)
	until(t, "it has an answer", func() bool {
		_ = rejectedBy(m, large, "node-0001")
		return !m.LateSince(large).IsZero()
	})
	mutex.Lock()
	defer mutex.Unlock()
	if since := m.LateSince(large); since.Before(given) {
		t.Fatalf("it is %s older than it may be", given.Sub(since))
	}
}

func TestQuestionsInTheBackgroundThatHaveNoAnswerAreAskedLessAndLess(t *testing.T) {
	f, m, _, _ := slowWorld(t)
	var inBackground atomic.Int64
	f.change(func() {
		f.about = func(ctx context.Context, uid string) error {
			if !strings.HasPrefix(uid, "uid-large-") {
				return nil
			}
			if deadline, _ := ctx.Deadline(); time.Until(deadline) > aQuestion() {
				inBackground.Add(1)
				return status.Error(codes.Internal, "a panic")
			}
			return noAnswerTo(ctx)
		}
	})
	const few = 3
	began := time.Now()
	for at := 0; inBackground.Load() < few; at++ {
		_ = rejectedBy(m, replica("large", at%5), "node-0001")
		ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0001", "900"), true, 2)
	}
	// One after 100 ms, and one 200 ms after that.
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("%d questions in %s", few, took)
	}
}
