package nodesift_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

const partyCluster = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", pods: "110"}}}
- {apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "4", pods: "110"}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: ns, uid: u-p, labels: {app: simulation}}
  spec: {schedulerName: default-scheduler, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
`

const partyPolicy = `
apiVersion: nodesift.dev/v1alpha1
kind: PredicatePolicy
spec:
  schedulerNames: [default-scheduler]
  predicates: [{name: NodeName}, {name: NodeResourcesFit}, {name: Parties, phases: [allocate]}]
  parties:
  - {name: licences, for: {podSelector: {matchLabels: {app: simulation}}}}
`

// licences refuses nodes, and fails or succeeds to allocate.
type licences struct {
	mutex       sync.Mutex
	refused     []string
	fails       bool
	deallocated chan uint64
}

func (l *licences) Ask(attendance *nodesift.Attendance, ask *nodesiftv1.Ask) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	answer := &nodesiftv1.Answer{Id: ask.GetId()}
	for _, node := range slices.Concat(ask.GetNodes(), ask.GetRecheck()) {
		if slices.Contains(l.refused, node) {
			answer.Nodes = append(answer.Nodes, &nodesiftv1.Unsuitable{Node: node, Reason: "no licence"})
		}
	}
	_ = attendance.Answer(answer)
}

func (l *licences) Allocate(attendance *nodesift.Attendance, call *nodesiftv1.Allocate) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.fails {
		_ = attendance.Failed(call, "taken meanwhile")
		return
	}
	_ = attendance.Allocated(call, call.GetNodes()[0])
}

func (l *licences) Deallocate(attendance *nodesift.Attendance, call *nodesiftv1.Deallocate) {
	_ = attendance.Deallocated(call.GetId())
	l.deallocated <- call.GetId()
}

func (l *licences) Withdraw(*nodesift.Attendance, uint64) {}

func (l *licences) set(fails bool, refused ...string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.fails, l.refused = fails, refused
}

// negotiating starts a sidecar with one party, and a client of it.
func negotiating(t *testing.T) *nodesift.Client {
	t.Helper()
	if binary == "" {
		t.Skip("no binary")
	}
	folder := t.TempDir()
	cluster, policy := filepath.Join(folder, "cluster.yaml"), filepath.Join(folder, "policy.yaml")
	for path, text := range map[string]string{cluster: partyCluster, policy: partyPolicy} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sidecar, err := start("--cluster", cluster, "--policy", policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sidecar.stop)
	client, err := nodesift.Dial(sidecar.target(), nodesift.WaitForReady())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestACoreAndAPartyNegotiate(t *testing.T) {
	client := negotiating(t)
	ctx, cancel := context.WithTimeout(context.Background(), scaled(time.Minute))
	defer cancel()
	party := &licences{deallocated: make(chan uint64, 1)}
	party.set(false, "a")
	attending, leave := context.WithCancel(ctx)
	left := make(chan error, 1)
	go func() { left <- client.Attend(attending, "licences", party) }()

	pod := nodesift.PodUID("u-p")
	agreement, err := client.Negotiate(ctx, pod, nodesift.Order("a", "b"))
	if err != nil || !slices.Equal(agreement.Nodes, []string{"b"}) {
		t.Fatalf("agreed on %v: %v", agreement.Nodes, err)
	}
	if _, err := client.Negotiate(ctx, pod); !errors.Is(err, nodesift.ErrNegotiating) {
		t.Errorf("a second negotiation: %v", err)
	}
	node, err := client.Select(ctx, agreement.ID, agreement.Nodes...)
	if err != nil || node != "b" {
		t.Fatalf("allocated on %q: %v", node, err)
	}
	if err := client.Release(ctx, agreement.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-party.deallocated:
	case <-ctx.Done():
		t.Fatal("nothing was given back")
	}
	if err := client.Release(ctx, agreement.ID); !errors.Is(err, nodesift.ErrNotFound) {
		t.Errorf("released twice: %v", err)
	}

	party.set(true)
	agreement, err = client.Negotiate(ctx, pod, nodesift.Order("a", "b"), nodesift.Candidates(2))
	if err != nil || len(agreement.Nodes) != 2 {
		t.Fatalf("agreed on %v: %v", agreement.Nodes, err)
	}
	_, err = client.Select(ctx, agreement.ID, "a")
	var failed *nodesift.NotAllocatedError
	if !errors.As(err, &failed) || failed.Party != "licences" || !strings.Contains(failed.Reason, "taken") {
		t.Fatalf("selected: %v", err)
	}

	party.set(false, "a", "b")
	_, err = client.Negotiate(ctx, pod)
	var none *nodesift.NoAgreementError
	if !errors.As(err, &none) || none.End != nodesiftv1.End_END_EXHAUSTED || !errors.Is(err, nodesift.ErrNoAgreement) {
		t.Fatalf("no node suits: %v", err)
	}

	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("left: %v", err)
	}
	if err := client.Attend(ctx, "nobody", party); !errors.Is(err, nodesift.ErrNotFound) {
		t.Errorf("a party that the policy does not have: %v", err)
	}
	_, err = client.Negotiate(ctx, pod, nodesift.Within(300*time.Millisecond, 100*time.Millisecond))
	if !errors.As(err, &none) || none.End != nodesiftv1.End_END_TIMED_OUT || !slices.Equal(none.Parties, []string{"licences"}) {
		t.Errorf("nobody answers: %v", err)
	}
}

func TestACoreFollowsTheEventsOfANegotiation(t *testing.T) {
	client := negotiating(t)
	ctx, cancel := context.WithTimeout(context.Background(), scaled(time.Minute))
	defer cancel()
	pod := nodesift.PodUID("u-p")
	set, err := client.Feasible(ctx, pod)
	if err != nil || !slices.Equal(set.Parties(), []string{"licences"}) || set.Len() != 0 {
		t.Errorf("%v decide, %d nodes fit: %v", set.Parties(), set.Len(), err)
	}
	if set, err = client.Feasible(ctx, pod, nodesift.Negotiates()); err != nil || set.Len() != 2 {
		t.Errorf("%d nodes fit whoever negotiates: %v", set.Len(), err)
	}
	plain := nodesift.PodJSON([]byte(`{"metadata":{"name":"q","namespace":"ns","uid":"u-q"},"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c"}]}}`))
	if set, err = client.Feasible(ctx, plain); err != nil || len(set.Parties()) != 0 || set.Len() != 2 {
		t.Errorf("%v decide, %d nodes fit: %v", set.Parties(), set.Len(), err)
	}
	party := &licences{deallocated: make(chan uint64, 1)}
	go func() { _ = client.Attend(ctx, "licences", party) }()

	var asked, viable, agreed int
	var id uint64
	for event, err := range client.Negotiation(ctx, pod, nodesift.Order("b", "a"), nodesift.AtLeastGeneration(1)) {
		if err != nil || event.Err() != nil {
			t.Fatal(err, event.Err())
		}
		id = event.ID
		switch {
		case event.Asked != nil:
			if asked++; event.Asked.Nodes != 2 || !slices.Equal(event.Asked.Parties, []string{"licences"}) || event.Round != 1 {
				t.Errorf("%+v in round %d", event.Asked, event.Round)
			}
		case event.Viable != nil:
			if viable++; !slices.Equal(event.Viable, []string{"b", "a"}) {
				t.Errorf("%v", event.Viable)
			}
		case event.Agreed:
			agreed++
		}
	}
	if asked != 1 || viable != 1 || agreed != 1 {
		t.Errorf("asked %d times, viable %d times, agreed %d times", asked, viable, agreed)
	}
	_, err = client.Negotiate(ctx, pod)
	if other := nodesift.Negotiating(err); other != id {
		t.Errorf("negotiation %d, not %d: %v", other, id, err)
	}
	if nodesift.Negotiating(nil) != 0 || nodesift.Negotiating(nodesift.ErrNegotiating) != 0 {
		t.Error("a negotiation that no error names")
	}
	agreement, err := client.Negotiate(ctx, pod, nodesift.Supersedes(id))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range client.Selection(ctx, agreement.ID, []string{"a"}, nodesift.Optimistic()) {
		if !errors.Is(err, nodesift.ErrDoesNotFit) {
			t.Errorf("a pod without claims is selected before all answers: %v", err)
		}
	}
	var selected, allocated string
	for event, err := range client.Selection(ctx, agreement.ID, []string{"a", "b"}, nodesift.AllocatedWithin(time.Minute)) {
		if err != nil || event.Err() != nil {
			t.Fatal(err, event.Err())
		}
		selected, allocated = selected+event.Selected, allocated+event.Allocated
	}
	if selected != "a" || allocated != "a" {
		t.Errorf("selected %q, allocated %q", selected, allocated)
	}

	// Whoever leaves the loop gives the negotiation up.
	other := nodesift.PodJSON([]byte(`{"metadata":{"name":"r","namespace":"ns","uid":"u-r","labels":{"app":"simulation"}},"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c"}]}}`))
	for _, err := range client.Negotiation(ctx, other) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	for {
		if _, err := client.Negotiate(ctx, other); err == nil {
			break
		} else if !errors.Is(err, nodesift.ErrNegotiating) {
			t.Fatal(err)
		}
	}
	for _, err := range client.Negotiation(ctx, nodesift.Pod{}) {
		if !errors.Is(err, nodesift.ErrInvalid) {
			t.Errorf("no pod: %v", err)
		}
	}
}
