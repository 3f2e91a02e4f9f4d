package yunikorn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

func TestOneQuestionAnswersAllNodesOfAPass(t *testing.T) {
	f, client := startFake(t, 1000)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	for _, allocate := range []bool{true, false} {
		for row, node := range f.nodes {
			ask(t, m, pod("a", "5"), info(node, "900"), allocate, verdict(row, false, allocate))
		}
	}
	expect(t, "questions about two phases", m.Counts(), yunikorn.Counts{Asked: 2})
	expectCalls(t, of)
	called := false
	m.EventsToRegister(func(*v1.Pod) error { called = true; return nil })[0].hint(nil)
	expect(t, "events are the own manager's, with the shim's hint", called, true)
}

func TestAnAnswerIsUsedAgainOnlyWhileItHolds(t *testing.T) {
	type fixture struct {
		*fake
		*manager
		index *nodesift.Index
		pod   *v1.Pod
		node  *nodeInfo
	}
	const again = true
	for name, test := range map[string]struct {
		asks   bool
		maxAge time.Duration
		change func(t *testing.T, x *fixture)
	}{
		"nothing has changed":          {!again, aLongTime, func(*testing.T, *fixture) {}},
		"the pod is another version":   {again, aLongTime, func(_ *testing.T, x *fixture) { x.pod = pod("a", "6") }},
		"a pod was assumed":            {again, aLongTime, func(_ *testing.T, x *fixture) { x.AssumePod(pod("b", "5"), "node-0003") }},
		"a pod was forgotten":          {again, aLongTime, func(_ *testing.T, x *fixture) { x.ForgetPod("uid-b") }},
		"the node is newer":            {again, aLongTime, func(_ *testing.T, x *fixture) { x.node = info("node-0000", "1001") }},
		"the node is newer by a digit": {again, aLongTime, func(_ *testing.T, x *fixture) { x.node = info("node-0000", "10000") }},
		"the node is as new":           {!again, aLongTime, func(_ *testing.T, x *fixture) { x.node = info("node-0000", nodesVersion) }},
		"the node is older by a digit": {!again, aLongTime, func(_ *testing.T, x *fixture) { x.node = info("node-0000", "999") }},
		"the node has no version":      {!again, aLongTime, func(_ *testing.T, x *fixture) { x.node = info("node-0000", "") }},
		"the time is over":             {again, time.Nanosecond, func(*testing.T, *fixture) { time.Sleep(time.Microsecond) }},
		"it may not be used at all":    {again, -1, func(*testing.T, *fixture) {}},
		"another answer is newer": {again, aLongTime, func(t *testing.T, x *fixture) {
			x.change(func() { x.generation++ })
			ask(t, x.manager, pod("c", "5"), x.node, true, 0)
		}},
		"another answer is as new": {!again, aLongTime, func(t *testing.T, x *fixture) {
			ask(t, x.manager, pod("c", "5"), x.node, true, 0)
		}},
		"a node has come": {again, aLongTime, func(t *testing.T, x *fixture) {
			before := x.index.Names()
			x.change(func() { x.table++; x.nodes = append(x.nodes, "another") })
			until(t, "the index has the node", func() bool { return x.index.Names() != before })
		}},
		"another node is in the row": {again, aLongTime, func(t *testing.T, x *fixture) {
			before := x.index.Names()
			x.change(func() { x.table++; x.nodes[5] = "another" })
			until(t, "the index has the node", func() bool { return x.index.Names() != before })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, client := startFake(t, 6)
			m := newManager(client, &own{}, yunikorn.Options{MaxAge: test.maxAge})
			x := &fixture{f, m, client.Index(), pod("a", "5"), info("node-0000", "900")}
			ask(t, x.manager, x.pod, x.node, true, 0)
			test.change(t, x)
			before := x.Counts().Asked
			ask(t, x.manager, x.pod, x.node, true, 0)
			expect(t, "whether the sidecar was asked again", x.Counts().Asked > before, test.asks)
		})
	}
}

func TestTheSnapshotHasThePodAndTheNodeAsTheShimHasThem(t *testing.T) {
	f, client := startFake(t, 6)
	timeout := scaled(5 * time.Second)
	m := newManager(client, &own{}, yunikorn.Options{Timeout: timeout})
	m.PreemptionPredicates(pod("a", "55"), info("node-0000", "900"), []*v1.Pod{pod("v", "5")}, 0)
	ask(t, m, pod("a", "55"), info("node-0000", "900"), true, 0)
	// By UID it is not found, so it is sent whole, and need not be in the snapshot.
	f.change(func() { f.filterError = status.Error(codes.NotFound, "") })
	ask(t, m, pod("b", "56"), info("node-0000", "901"), true, 0)
	for at, wanted := range []string{"900 55", "901 56", "901 "} {
		consistency := f.filters[at].GetConsistency()
		expect(t, "versions", consistency.GetMinNodesResourceVersion()+" "+consistency.GetMinPodsResourceVersion(), wanted)
		expect(t, "patience", time.Duration(consistency.GetDeadlineMs())*time.Millisecond, timeout/2)
	}
	expect(t, "whole", strings.Contains(f.filters[2].GetPods()[0].GetJson(), "uid-b"), true)
	consistency := f.preemptions[0].GetConsistency()
	expect(t, "versions", consistency.GetMinNodesResourceVersion()+" "+consistency.GetMinPodsResourceVersion(), "900 55")
}

func TestAPlacementCountsFromTheNextCallOn(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	web, node := pod("web", "5"), info("node-0003", "900")
	ask(t, m, web, node, true, 0)
	m.AssumePod(pod("b", "5"), "node-0003")
	ask(t, m, web, node, true, 3)
	m.ForgetPod("uid-b")
	ask(t, m, web, node, true, 0)
	expectCalls(t, of)
	expect(t, "forgotten", fmt.Sprint(f.forgotten), "[uid-b]")
}

func TestNothingIsAskedBeforeEveryPlacementIsDelivered(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: aLongTime})
	web, node := pod("web", "5"), info("node-0003", "900")
	ask(t, m, web, node, true, 0)
	f.change(func() { f.assumeError = unavailable })
	m.AssumePod(pod("b", "5"), "node-0003")
	// An answer would be about a cluster without the pod.
	asked := m.Counts().Asked
	for range 3 {
		ask(t, m, web, node, true, 0)
	}
	expectCalls(t, of, "Predicates node-0003", "Predicates node-0003", "Predicates node-0003")
	expect(t, "questions", m.Counts(), yunikorn.Counts{Asked: asked, Own: 3})
	f.change(func() { f.assumeError = nil })
	until(t, "the sidecar is told and asked", func() bool {
		plugin, _ := m.Predicates(web, node, true)
		return plugin == "InterPodAffinity"
	})
	expect(t, "placed", f.placements()["uid-b"], "node-0003")
}

func TestARestartedSidecarIsToldEveryPlacementBeforeItsAnswerCounts(t *testing.T) {
	f, client := startFake(t, 9)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{MaxAge: time.Nanosecond})
	web := pod("web", "5")
	ask(t, m, web, info("node-0003", "900"), true, 0)
	m.AssumePod(pod("b", "5"), "node-0003")
	m.AssumePod(pod("c", "5"), "node-0006")
	m.AssumePod(pod("d", "5"), "node-0000")
	m.ForgetPod("uid-d")
	f.change(func() { f.epoch, f.generation, f.placed = 8, 1, map[string]string{} })
	ask(t, m, web, info("node-0003", "900"), true, 3)
	ask(t, m, web, info("node-0006", "900"), true, 3)
	ask(t, m, web, info("node-0000", "900"), true, 0)
	expect(t, "placed", fmt.Sprint(f.placements()), "map[uid-b:node-0003 uid-c:node-0006]")
	expectCalls(t, of)
}

func TestPreemptionKeepsThePlacesOfVictims(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	web, node := pod("web", "5"), info("node-0001", "900")
	victims := []*v1.Pod{nil, pod("v", "5"), pod("w", "5")}
	m.AssumePod(pod("b", "5"), "node-0003")
	expect(t, "the last victim", m.PreemptionPredicates(web, node, victims, 0), 1)
	expect(t, "the last victim from 2 on", m.PreemptionPredicates(web, node, victims, 2), 2)
	expect(t, "too few victims", m.PreemptionPredicates(web, node, victims[:1], 0), -1)
	expect(t, "the victims", fmt.Sprintf("%q", f.preemptions[0].GetPreemptAllocationKeys()), `["" "uid-v" "uid-w"]`)
	questions := len(f.preemptions)
	for _, start := range []int{-1, 3, 4} {
		expect(t, "without a victim from there on", m.PreemptionPredicates(web, node, victims, start), -1)
	}
	expect(t, "questions", len(f.preemptions), questions)
	expectCalls(t, of)
	f.change(func() { f.preemptionError = unavailable })
	expect(t, "the own manager's", m.PreemptionPredicates(web, node, victims, 0), ownIndex)
	expectCalls(t, of, "PreemptionPredicates node-0001")
	reject := newManager(client, of, yunikorn.Options{Unavailable: yunikorn.Reject})
	expect(t, "rejected", reject.PreemptionPredicates(web, node, victims, 0), -1)
	expectCalls(t, of)
}

func TestAFailurePolicyIsAnAnswer(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	m := newManager(client, of, yunikorn.Options{})
	f.change(func() {
		f.faults = []*nodesiftv1.Fault{
			{Predicate: "Custom", Fault: "Trap", Effect: "Rejected"}, {Predicate: "DynamicResources", Fault: "Unsupported", Effect: "Ignored"},
		}
	})
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	expectCalls(t, of)
}

func TestAnswersAreKeptOfABoundedNumberOfPods(t *testing.T) {
	_, client := startFake(t, 3)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: aLongTime})
	for range 2 {
		for at := range 1000 {
			ask(t, m, pod(fmt.Sprint(at), "5"), info("node-0000", "900"), true, 0)
		}
	}
	expect(t, "questions", m.Counts().Asked, 2000)
}

func TestAStagedManagerLeavesPreFilterToTheShim(t *testing.T) {
	f, client := startFake(t, 6)
	of := &own{}
	var shims newest = of
	var m newest = yunikorn.NewStaged(client, shims, yunikorn.Options{Timeout: scaled(5 * time.Second), MaxAge: aLongTime})
	web, fits := pod("web", "5"), info("node-0000", "900")
	nodes, state, err := m.PreFilter(web, true)
	if len(nodes) != 1 || state.of != "uid-web" || err != nil {
		t.Fatal(nodes, state, err)
	}
	expectCalls(t, of, "PreFilter")
	for row, node := range f.nodes {
		plugin, err := m.Filter(web, info(node, "900"), state, true)
		expect(t, node, err == nil, verdict(row, false, true) == 0)
		expect(t, node, plugin == "", err == nil)
	}
	expect(t, "the last victim", m.PreemptionFilter(web, fits, state, []*v1.Pod{pod("v", "5"), pod("w", "5")}, 0), 1)
	expectCalls(t, of)

	// What would be reserved for claims is noted by the shim's own plugins.
	claim := v1.Volume{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	scratch := v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}
	ephemeral := v1.Volume{VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}
	for _, volumes := range [][]v1.Volume{nil, {scratch}, {scratch, claim}, {ephemeral}} {
		web.Spec.Volumes = volumes
		if _, err := m.Filter(web, fits, state, true); err != nil {
			t.Fatal(err)
		}
	}
	web.Spec.Volumes, web.Spec.ResourceClaims = nil, []v1.PodResourceClaim{{Name: "gpu"}}
	for _, node := range f.nodes[:2] {
		_, err := m.Filter(web, info(node, "900"), state, true)
		expect(t, node, err == nil, node == f.nodes[0])
	}
	expectCalls(t, of, slices.Repeat([]string{"Filter node-0000 uid-web"}, 3)...)

	f.change(func() { f.filterError, f.preemptionError = unavailable, unavailable })
	if _, err := m.Filter(pod("x", "5"), fits, state, true); err != nil {
		t.Fatal(err)
	}
	expect(t, "the own manager's", m.PreemptionFilter(web, fits, state, []*v1.Pod{pod("v", "5")}, 0), ownIndex)
	expectCalls(t, of, "Filter node-0000 uid-web", "PreemptionFilter node-0000 uid-web")
}

func TestAnAnswerThatAPlacementHasOvertakenIsNotKept(t *testing.T) {
	f, client := startFake(t, 6)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: aLongTime})
	f.change(func() { f.delay = func(context.Context) { m.ForgetPod("uid-b") } })
	ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	f.change(func() { f.delay = nil })
	for range 2 {
		ask(t, m, pod("web", "5"), info("node-0000", "900"), true, 0)
	}
	expect(t, "questions", m.Counts().Asked, 2)
}
