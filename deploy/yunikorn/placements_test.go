package yunikorn_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

func TestAPodThatHasEndedNeedsNoPlacement(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	f.change(func() { f.assumeError = status.Error(codes.NotFound, "the pod was deleted or has ended") })
	m.AssumePod(pod("b", "5"), "node-0003")
	ask(t, m, pod("web", "5"), info("node-0003", "900"), true, 0)
	expectCalls(t, of)
}

func untilDelivered(t testing.TB, m *manager) {
	t.Helper()
	until(t, "all placements are delivered", func() bool { return m.Health().Waiting == 0 })
}

func TestAPlacementOnANodeThatTheSidecarHasNotSeenWaitsForIt(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	untilAnswered(t, m)
	f.change(func() { f.assumeError = status.Error(codes.NotFound, "node late is not in the cache") })
	m.AssumePod(pod("b", "5"), "late")
	ask(t, m, pod("web", "5"), info("node-0001", "900"), true, 0)
	expectCalls(t, of, "Predicates node-0001")
	f.change(func() { f.assumeError = nil })
	until(t, "the sidecar is told and asked", func() bool {
		plugin, _ := m.Predicates(pod("web", "5"), info("node-0001", "900"), true)
		return plugin == "NodeResourcesFit"
	})
	expect(t, "placed", f.placements()["uid-b"], "late")
}

func TestABoundPodIsPlacedOnce(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: time.Nanosecond})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.outcome = nodesiftv1.Placed_PLACED_ALREADY_BOUND })
	m.AssumePod(pod("b", "5"), "node-0003")
	untilDelivered(t, m)
	f.change(func() { f.epoch, f.placed = 8, map[string]string{} })
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	expect(t, "told again", len(f.placements()), 0)
}

func TestPlacementsThatHaveExpiredAreDropped(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: time.Nanosecond, TimeToLive: time.Nanosecond})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	const pods, atOnce = 1100, 50
	for at := range pods {
		m.AssumePod(pod(fmt.Sprint(at), "5"), "node-0003")
		if at%atOnce == 0 {
			untilDelivered(t, m)
		}
	}
	untilDelivered(t, m)
	// Those that had not been delivered at the time of the sweep have expired, too.
	if placed := len(f.placements()); placed < pods-atOnce {
		t.Fatalf("%d placed", placed)
	}
	f.change(func() { f.epoch, f.placed = 8, map[string]string{} })
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	if again := len(f.placements()); again == 0 || again > pods-1000 {
		t.Fatalf("%d placements told again", again)
	}
}

// The sidecar ends by itself what it has not been told the end of.
func TestEndsOfPlacementsThatHaveExpiredAreDropped(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{TimeToLive: time.Nanosecond})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.forgetError = unavailable })
	const pods, most = 5000, 1024
	for at := range pods {
		m.ForgetPod(fmt.Sprint("uid-", at))
		if waiting := m.Health().Waiting; waiting > most {
			t.Fatalf("%d ends wait after %d", waiting, at)
		}
	}
	f.change(func() { f.forgetError = nil })
	untilDelivered(t, m)
}

func TestVictimsAreNotCountedBeforeEveryPlacementIsDelivered(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	victims := []*v1.Pod{pod("v", "5"), pod("w", "5")}
	untilAnswered(t, m)
	f.change(func() { f.assumeError = unavailable })
	m.AssumePod(pod("b", "5"), "node-0003")
	expect(t, "the own manager's", m.PreemptionPredicates(pod("web", "5"), info("node-0001", "900"), victims, 0), ownIndex)
	f.change(func() { f.assumeError = nil })
	until(t, "the sidecar is told and asked", func() bool {
		return m.PreemptionPredicates(pod("web", "5"), info("node-0001", "900"), victims, 0) == 1
	})
	expect(t, "placed", f.placements()["uid-b"], "node-0003")
}

func TestVictimsAreTheSidecarsToCountWhereItsAnswerIsWhole(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	victims := []*v1.Pod{pod("v", "5"), pod("w", "5")}
	web, node := pod("web", "5"), info("node-0001", "900")
	f.change(func() { f.faults = []*nodesiftv1.Fault{{Predicate: "Custom", Fault: "Trap", Effect: "Rejected"}} })
	expect(t, "the failure policy's", m.PreemptionPredicates(web, node, victims, 0), 1)
	f.change(func() { f.faults = unsupported })
	expect(t, "the own manager's", m.PreemptionPredicates(web, node, victims, 0), ownIndex)
	expectCalls(t, of, "PreemptionPredicates node-0001")
	f.change(func() { f.faults, f.stale = nil, true })
	expect(t, "the own manager's", m.PreemptionPredicates(web, node, victims, 0), ownIndex)
	expectCalls(t, of, "PreemptionPredicates node-0001")
}
