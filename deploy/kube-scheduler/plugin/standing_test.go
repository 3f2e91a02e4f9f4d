package plugin

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

func TestANamespaceLeavesPlacesToOthersAndRefusedPodsAreTriedAgain(t *testing.T) {
	n := &negotiations{of: map[types.UID]*negotiation{}}
	fill := func(count int, namespace string, phase phase) {
		for range count {
			uid := types.UID(fmt.Sprint(len(n.of)))
			n.of[uid] = &negotiation{uid: uid, namespace: namespace, phase: phase}
		}
	}
	fill(maxNegotiations/namespaceShare, "greedy", asking)
	if !n.isFull("greedy", true) || !n.isFull("greedy", false) || n.isFull("other", true) {
		t.Error("a namespace has more than its share, or others have less")
	}
	fill(maxRefused, "third", refused)
	if !n.isFull("other", true) || n.isFull("third", false) {
		t.Error("what is remembered has no bound, or pods that are remembered are never tried again")
	}
}

func TestANamespaceHasItsShareOfTheBytesThatTheSidecarCounts(t *testing.T) {
	n := &negotiations{of: map[types.UID]*negotiation{}}
	names := make([]string, maxOrder)
	for at := range names {
		names[at] = fmt.Sprint("node-", at)
	}
	short := 0
	for !n.isFull("greedy", true) {
		it := &negotiation{uid: types.UID(fmt.Sprint(len(n.of))), namespace: "greedy", parties: []string{"licences"}, phase: asking}
		n.of[it.uid] = it
		if len(n.ordered(it, names)) == roundOrder {
			short++
		}
	}
	held := n.bytes("greedy", nil)
	if most := sidecarBytes / namespaceShare; held < most || held > most+negotiationBytes+seatBytes+roundOrder*nameBytes {
		t.Errorf("%d bytes of %d", held, most)
	}
	if short == 0 || short == len(n.of) || len(n.of) >= maxNegotiations/namespaceShare {
		t.Errorf("%d of %d orders are short", short, len(n.of))
	}
	other := &negotiation{uid: "other", namespace: "other", parties: []string{"licences"}, phase: asking}
	if n.isFull("other", true) || len(n.ordered(other, names)) != maxOrder {
		t.Error("another namespace has less for it")
	}
}

func TestAPodWhosePartiesAreAskedKeepsItsNomination(t *testing.T) {
	fake := startFake(t, "a")
	fake.parties.agree = hangingNegotiation
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	_, _, state := w.cycle(ours, web)
	result, status := w.plugin().PostFilter(w.ctx, state, web, nil)
	if result != nil || status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), "waiting for party licences") {
		t.Errorf("%v, %v", result, status)
	}
}

func TestALostAgreementIsReplacedAtOnceOnlyOnce(t *testing.T) {
	fake := startFake(t, "a")
	w := negotiatingWorld(t, fake, node("a"))
	web := licensed("web")
	n := w.plugin().negotiations
	w.agree(web)
	n.again(web.UID)
	w.agree(web)
	n.again(web.UID)
	if now := n.underWay(web.UID); now == nil || now.phase != refused || now.why != reasonTaken {
		t.Errorf("%v", now)
	}
}
