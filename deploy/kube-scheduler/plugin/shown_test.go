package plugin

import (
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// follower is a scheduler whose informers show what a test says, beside a sidecar that has the version of pods that the test says.
type follower struct {
	*world
	fake *fakeSidecar
	has  uint64
}

func newFollower(t *testing.T) *follower {
	f := &follower{fake: startFake(t, "a")}
	f.fake.edit = func(_ *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
		response.Version.PodsResourceVersion, response.Version.NodesResourceVersion = text(f.has), ""
		return nil
	}
	f.world = newWorld(t, full, patient(f.fake.address(), failing), node("a"))
	return f
}

// required is the version of pods that the next question requires.
func (f *follower) required() uint64 {
	required, _ := f.plugin().observed.required()
	return required[podsKind]
}

// ask has a cycle for another pod, which needs an answer.
func (f *follower) ask() {
	f.t.Helper()
	if status, _, _ := f.cycle(ours, pod("next").Obj()); !status.IsSuccess() {
		f.t.Fatal(status)
	}
}

// at is a state of a pod.
func at(version string, of *v1.Pod, edit func(*v1.Pod)) *v1.Pod {
	of = of.DeepCopy()
	of.ResourceVersion = version
	if edit != nil {
		edit(of)
	}
	return of
}

func onA(pod *v1.Pod) { pod.Spec.NodeName = "a" }

func TestPodsThatWaitAreNotWaitedFor(t *testing.T) {
	f := newFollower(t)
	waits := at("500", pod("waits").Obj(), nil)
	f.plugin().podShown(nil, waits)
	f.plugin().podShown(waits, at("501", waits, func(pod *v1.Pod) { pod.Labels = map[string]string{"a": "b"} }))
	f.plugin().podGone(at("502", waits, nil))
	if required := f.required(); required != 0 {
		t.Errorf("%d", required)
	}
	// Preemption makes room for one that is nominated, and no more once its nomination is over.
	nominated := at("510", waits, func(pod *v1.Pod) { pod.Status.NominatedNodeName = "a" })
	f.plugin().podShown(waits, nominated)
	if required := f.required(); required != 510 {
		t.Errorf("%d", required)
	}
	f.plugin().podShown(nominated, at("511", waits, nil))
	if required := f.required(); required != 511 {
		t.Errorf("%d", required)
	}
}

func TestABindingThatTheSidecarWasToldOfIsNotWaitedFor(t *testing.T) {
	f := newFollower(t)
	placed := at("500", pod("placed").Obj(), nil)
	f.has = 500
	f.reserve(placed, "a")
	f.ask()
	ledger := &f.plugin().sidecar.ledger
	bound := at("600", placed, onA)
	f.plugin().podShown(placed, bound)
	f.plugin().podShown(bound, at("601", bound, func(pod *v1.Pod) { pod.Status.Phase = v1.PodRunning }))
	if required := f.required(); required != 0 || ledger.len() != 1 {
		t.Fatalf("%d required, %d in the ledger", required, ledger.len())
	}
	f.ask()
	if ledger.len() != 1 {
		t.Fatal("an answer that has not seen the binding has ended the placement")
	}
	// A process that has begun without it is told.
	f.fake.server.Stop()
	f.fake.start(t)
	until(t, "it answers again", func() bool {
		status, _, _ := f.cycle(ours, pod("next").Obj())
		return status.IsSuccess()
	})
	if placements := f.fake.placements(); !maps.Equal(placements, map[string]string{"uid-placed": "a"}) {
		t.Errorf("%v", placements)
	}
	f.has = 600
	f.ask()
	// It may have seen the pod go before it was told, so that is taken back: what is bound counts by itself.
	f.ask()
	if ledger.len() != 0 || len(ledger.shownBound) != 0 || len(f.fake.placements()) != 0 {
		t.Errorf("%d in the ledger, %d shown bound, %v", ledger.len(), len(ledger.shownBound), f.fake.placements())
	}
	// What comes then is another pod's.
	f.plugin().podGone(at("602", bound, nil))
	if required := f.required(); required != 602 {
		t.Errorf("%d", required)
	}
}

func TestABindingIsWaitedForUnlessTheSidecarCountsThePodJustSo(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*follower, *v1.Pod)
		edit   func(*v1.Pod)
	}{
		"by another scheduler": {func(*follower, *v1.Pod) {}, onA},
		"not told yet":         {func(f *follower, placed *v1.Pod) { f.plugin().sidecar.ledger.reserve(placed, "a", false) }, onA},
		"elsewhere":            {func(f *follower, placed *v1.Pod) { f.reserve(placed, "a"); f.ask() }, func(pod *v1.Pod) { pod.Spec.NodeName = "b" }},
		"with other labels": {func(f *follower, placed *v1.Pod) { f.reserve(placed, "a"); f.ask() }, func(pod *v1.Pod) {
			onA(pod)
			pod.Labels = map[string]string{"a": "b"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t)
			placed := at("500", pod("placed").Obj(), nil)
			test.before(f, placed)
			f.plugin().podShown(placed, at("600", placed, test.edit))
			if required, left := f.required(), f.plugin().sidecar.ledger.len(); required != 600 || left != 0 {
				t.Errorf("%d required, %d in the ledger", required, left)
			}
		})
	}
}

// The call that bound it had no answer, and Unreserve follows.
func TestWhatIsShownBoundIsNotForgotten(t *testing.T) {
	f := newFollower(t)
	placed := at("500", pod("placed").Obj(), nil)
	state := f.reserve(placed, "a")
	f.ask()
	f.plugin().podShown(placed, at("600", placed, onA))
	f.scheduler.Profiles[ours].RunReservePluginsUnreserve(f.ctx, state, placed, "a")
	f.ask()
	if placements := f.fake.placements(); !maps.Equal(placements, map[string]string{"uid-placed": "a"}) {
		t.Errorf("%v", placements)
	}
}

// kube-scheduler says of a placement that has failed what it says of a deletion.
func TestAHintEndsNoPlacement(t *testing.T) {
	f := newFollower(t)
	placed := at("500", pod("placed").Obj(), nil)
	f.reserve(placed, "a")
	f.ask()
	if _, err := f.plugin().hint("NodeResourcesFit", nil)(logger, pod("waits").Obj(), at("500", placed, onA), nil); err != nil {
		t.Fatal(err)
	}
	if required, left := f.required(), f.plugin().sidecar.ledger.len(); required != 500 || left != 1 {
		t.Errorf("%d required, %d in the ledger", required, left)
	}
}

func TestABindingIsWaitedForWhereTheSidecarMayHaveEndedThePlacement(t *testing.T) {
	for name, end := range map[string]func(*follower, *fakeClock){
		"it has expired":    func(_ *follower, clock *fakeClock) { clock.pass(placementLifetime) },
		"its node has gone": func(f *follower, _ *fakeClock) { f.plugin().sidecar.ledger.nodeGone("a") },
	} {
		t.Run(name, func(t *testing.T) {
			f, clock := newFollower(t), newFakeClock()
			ledger := &f.plugin().sidecar.ledger
			ledger.clock = clock.now
			placed := at("500", pod("placed").Obj(), nil)
			f.reserve(placed, "a")
			f.ask()
			end(f, clock)
			f.plugin().podShown(placed, at("600", placed, onA))
			if required, left := f.required(), ledger.len(); required != 600 || left != 0 {
				t.Errorf("%d required, %d in the ledger", required, left)
			}
		})
	}
}

// What was skipped is required of all processes that come once nobody is told of the placement any more.
func TestWhatAnAnswerHasSeenBoundIsRequiredFromThenOn(t *testing.T) {
	f := newFollower(t)
	placed := at("500", pod("placed").Obj(), nil)
	f.reserve(placed, "a")
	f.ask()
	f.plugin().podShown(placed, at("600", placed, onA))
	f.has = 700
	f.ask()
	if required := f.required(); required != 600 {
		t.Errorf("%d", required)
	}
	if f.plugin().sidecar.ledger.nodeGone("a") != 0 {
		t.Error("the placement is still there")
	}
}

// The deletion of a pod that is placed and not bound yet.
func TestTheEndOfAPlacedPodIsWaitedFor(t *testing.T) {
	f := newFollower(t)
	placed := at("500", pod("placed").Obj(), nil)
	f.reserve(placed, "a")
	f.ask()
	f.plugin().podGone(at("600", placed, nil))
	if required, left := f.required(), f.plugin().sidecar.ledger.len(); required != 600 || left != 0 {
		t.Errorf("%d required, %d in the ledger", required, left)
	}
}

// A sidecar that reads files has no versions that could end a placement.
func TestWithoutVersionsABindingEndsThePlacement(t *testing.T) {
	f := newFollower(t)
	f.plugin().args.ConsistencyTimeout.Duration = 0
	placed := at("500", pod("placed").Obj(), nil)
	f.reserve(placed, "a")
	f.ask()
	f.plugin().podShown(placed, at("600", placed, onA))
	if left := f.plugin().sidecar.ledger.len(); left != 0 {
		t.Errorf("%d in the ledger", left)
	}
}

func TestWhatNoPredicateReadsIsNotWaitedFor(t *testing.T) {
	cpu := func(value string) *v1.ResourceRequirements {
		return &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(value)}}
	}
	for name, test := range map[string]struct {
		edit  func(*v1.Pod)
		waits bool
	}{
		"runs": {func(pod *v1.Pod) {
			pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP = v1.PodRunning, "10.0.0.1", "10.0.0.2"
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", Ready: true, RestartCount: 3}}
		}, false},
		"managed fields and generation": {func(pod *v1.Pod) { pod.Generation, pod.ManagedFields = 7, nil }, false},
		"is bound elsewhere":            {func(pod *v1.Pod) { pod.Spec.NodeName = "b" }, true},
		"has ended":                     {func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded }, true},
		"has failed":                    {func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed }, true},
		"labels":                        {func(pod *v1.Pod) { pod.Labels = map[string]string{"a": "b"} }, true},
		"annotations":                   {func(pod *v1.Pod) { pod.Annotations = map[string]string{"a": "b"} }, true},
		"is being deleted":              {func(pod *v1.Pod) { pod.DeletionTimestamp = pod.CreationTimestamp.DeepCopy() }, true},
		"requests": {func(pod *v1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "more", Resources: *cpu("2")})
		}, true},
		"a resize is under way": {func(pod *v1.Pod) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
		}, true},
		"a resize is done": {func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", Resources: cpu("2")}}
		}, true},
		"a resize is allocated": {func(pod *v1.Pod) {
			pod.Status.InitContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: cpu("2").Requests}}
		}, true},
		"claims": {func(pod *v1.Pod) {
			pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "c"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollower(t)
			bound := at("500", pod("bound").Obj(), func(pod *v1.Pod) {
				onA(pod)
				pod.CreationTimestamp.Time = time.Unix(1, 0)
			})
			f.plugin().podShown(nil, bound)
			f.plugin().podShown(bound, at("600", bound, test.edit))
			if waits := f.required() == 600; waits != test.waits {
				t.Errorf("%t", waits)
			}
		})
	}
}
