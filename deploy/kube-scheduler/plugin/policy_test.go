package plugin

import (
	"strings"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// untilPolicyKnown waits until the plugin has learned which predicates there are.
func (w *world) untilPolicyKnown() {
	w.t.Helper()
	until(w.t, "the policy is known", func() bool {
		_, known := w.plugin().policy.evaluates()
		return known
	})
}

func TestWhoDecidesWithoutAnAnswerFollowsThePolicy(t *testing.T) {
	own := []string{"NodeName", "NodeResourcesFit"}
	custom := append([]string{"TeamIsolation"}, own...)
	for name, test := range map[string]struct {
		file       string
		predicates []string
		edit       func(*Args)
		inTree     bool
	}{
		"kube-scheduler's own":                      {full, own, func(*Args) {}, true},
		"one that the profile has enabled itself":   {full, []string{"DynamicResources"}, func(*Args) {}, true},
		"one that kube-scheduler lacks":             {full, custom, func(*Args) {}, false},
		"one that kube-scheduler lacks, skipped":    {full, custom, func(args *Args) { args.Skip = []string{"TeamIsolation"} }, true},
		"one that kube-scheduler lacks, by choice":  {full, custom, inTreeDecides, true},
		"kube-scheduler's own, and patience":        {full, own, failing, false},
		"additive, kube-scheduler's own":            {additive, own, func(*Args) {}, true},
		"additive, one that kube-scheduler lacks":   {additive, custom, func(*Args) {}, false},
		"additive, the same, by choice of the user": {additive, custom, inTreeDecides, true},
	} {
		fake := startFake(t, "a")
		fake.predicates = test.predicates
		w := newWorld(t, test.file, patient(fake.address(), test.edit), node("a"))
		w.untilPolicyKnown()
		if asked := fake.asked(); len(asked) != 0 {
			t.Errorf("%s: %d cycles until the policy was known", name, len(asked))
		}
		fake.server.Stop()
		status, statuses, _ := w.cycle(ours, pod("web").Obj())
		if test.inTree && (!status.IsSuccess() || !statuses["a"].IsSuccess()) || !test.inTree && status.Code() != fwk.Error {
			t.Errorf("%s: %v, %v", name, status, statuses)
		}
		if byPolicy := !test.inTree && w.plugin().args.OnUnavailable == ByPolicy; byPolicy &&
			!strings.Contains(status.Message(), "does not answer, and kube-scheduler lacks its predicate TeamIsolation: ") {
			t.Errorf("%s: %v", name, status)
		}
	}
}

func TestPodsWaitUntilThePolicyIsKnown(t *testing.T) {
	fake := startFake(t, "a")
	fake.unexplained = true
	fake.edit = worthless["stale"]
	w := newWorld(t, full, patient(fake.address()), node("a"))
	if status, _, _ := w.cycle(ours, pod("web").Obj()); status.Code() != fwk.Error ||
		!strings.Contains(status.Message(), "does not answer, and its policy is not known yet: ") {
		t.Errorf("%v", status)
	}
	fake.set(func(f *fakeSidecar) { f.unexplained = false })
	w.untilPolicyKnown()
	if status, statuses, _ := w.cycle(ours, pod("web").Obj()); !status.IsSuccess() || !statuses["a"].IsSuccess() {
		t.Errorf("%v, %v", status, statuses)
	}
}

func TestTheLastPolicyThatIsKnownCountsWhereAnotherIsNot(t *testing.T) {
	fake := startFake(t, "a")
	fake.predicates = []string{"TeamIsolation"}
	w := newWorld(t, full, patient(fake.address()), node("a"))
	w.untilPolicyKnown()
	fake.set(func(f *fakeSidecar) {
		f.unexplained, f.predicates = true, []string{"NodeName"}
		f.edit = edited(func(response *nodesiftv1.FilterResponse) { response.Version.PolicyGeneration = 2 })
	})
	if status, _, _ := w.cycle(ours, pod("web").Obj()); !status.IsSuccess() {
		t.Errorf("%v", status)
	}
	fake.server.Stop()
	if status, _, _ := w.cycle(ours, pod("web").Obj()); !strings.Contains(status.Message(), "TeamIsolation") {
		t.Errorf("%v", status)
	}
}
