package nodesift_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func TestAStreamAnswersInOrderAndSeesEveryChangeBeforeIt(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	stream := client.Stream()
	defer stream.Close()
	web, other := nodesift.PodUID("uid-web"), nodesift.PodJSON([]byte(pod("other", "", "1500m")))
	fitting := func(options ...nodesift.FeasibleOption) nodesift.Set {
		t.Helper()
		set, err := stream.Feasible(t.Context(), other, options...)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	before := fitting()
	if !before.Fits("empty") || before.Stream() == 0 || len(before.Assumed()) > 0 {
		t.Errorf("at first: %d on stream %d", before.Len(), before.Stream())
	}
	set := fitting(nodesift.AssumeFirst(web, "empty", nodesift.TimeToLive(time.Minute)), nodesift.AssumeFirst(web, "nobody"))
	if outcomes := set.Assumed(); set.Fits("empty") || len(outcomes) != 2 || outcomes[0].Err != nil || outcomes[0].Assumed.Placed != nodesift.PlacedAssumed ||
		!errors.Is(outcomes[1].Err, nodesift.ErrNotFound) {
		t.Errorf("assumed first: %d, %+v", set.Len(), set.Assumed())
	}
	changed := make(chan nodesift.Changes, 1)
	change := func(options ...nodesift.FeasibleOption) {
		stream.Change(t.Context(), func(changes nodesift.Changes, err error) {
			if err != nil {
				t.Error(err)
			}
			changed <- changes
		}, options...)
	}
	change(nodesift.ForgetFirst(web))
	if set := fitting(); !set.Fits("empty") || set.Stream() != before.Stream() {
		t.Errorf("a request overtakes a change: %d", set.Len())
	}
	if changes := <-changed; len(changes.Forgotten) != 1 || !changes.Forgotten[0].WasAssumed || changes.Forgotten[0].Err != nil ||
		changes.Stream != before.Stream() {
		t.Errorf("%+v", changes)
	}
	change(nodesift.AssumeFirst(web, "empty"))
	if set := fitting(nodesift.ForgetFirst(web), nodesift.AssumeFirst(web, "full")); !set.Fits("empty") || set.Fits("full") {
		t.Errorf("forgotten and assumed elsewhere: %v", slices.Collect(set.Feasible()))
	}
	if changes := <-changed; len(changes.Assumed) != 1 || changes.Assumed[0].Err != nil {
		t.Errorf("%+v", changes)
	}
}

func TestALostStreamBeginsAnewAndSaysSo(t *testing.T) {
	sidecar := smallCluster(t)
	client := dial(t, sidecar.target())
	stream := client.Stream()
	web := nodesift.PodUID("uid-web")
	first, err := stream.Feasible(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	sidecar.kill()
	if err := sidecar.run(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(scaled(20 * time.Second)); ; time.Sleep(time.Millisecond) {
		set, err := stream.Feasible(t.Context(), web)
		if err == nil {
			if set.Stream() == first.Stream() || set.Epoch() == first.Epoch() {
				t.Errorf("stream %d after %d, epoch %d after %d", set.Stream(), first.Stream(), set.Epoch(), first.Epoch())
			}
			break
		}
		if !errors.Is(err, nodesift.ErrUnavailable) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	stream.Close()
	if _, err := stream.Feasible(t.Context(), web); err == nil {
		t.Error("a closed stream answers")
	}
}

func TestSituationsChangeWhatCounts(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	web := nodesift.PodUID("uid-web")
	set, err := client.Feasible(t.Context(), web, nodesift.Skip("NodeResourcesFit"))
	if err != nil || set.Len() != 2 {
		t.Errorf("without resources: %d, %v", set.Len(), err)
	}
	if _, err := client.Feasible(t.Context(), web, nodesift.Skip("None")); !errors.Is(err, nodesift.ErrInvalid) {
		t.Errorf("a predicate that the policy does not have: %v", err)
	}
	rival := nodesift.PlacedPod{Pod: nodesift.PodJSON([]byte(pod("rival", "", "1"))), Node: "empty"}
	if set, err := client.Feasible(t.Context(), web, nodesift.Nominated(rival)); err != nil || set.Fits("empty") {
		t.Errorf("beside a nominated pod: %d, %v", set.Len(), err)
	}
	if _, err := client.Feasible(t.Context(), web, nodesift.Nominated(nodesift.PlacedPod{})); !errors.Is(err, nodesift.ErrInvalid) {
		t.Errorf("no pod is nominated: %v", err)
	}
	if set, err := client.Feasible(t.Context(), web.At("1")); err != nil || set.Len() != 1 {
		t.Errorf("in the version of the cache: %d, %v", set.Len(), err)
	}
	if _, err := client.Feasible(t.Context(), web.At("2")); !errors.Is(err, nodesift.ErrChanged) {
		t.Errorf("in another version: %v", err)
	}
}

func TestReprieveTellsWhoMayStayAndWhyANodeDoesNotFit(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	web := nodesift.PodUID("uid-web")
	on := func(node string, victims ...string) nodesift.NodeVictims {
		of := nodesift.NodeVictims{Node: node}
		for _, victim := range victims {
			of.Victims = append(of.Victims, "uid-victim-"+victim)
		}
		return of
	}
	for _, each := range []struct {
		victims []string
		fits    bool
		kept    []int
	}{
		{[]string{"0", "1", "2"}, true, []int{0}}, {[]string{"1", "0", "2"}, true, []int{0}}, {[]string{"2", "0"}, true, []int{}}, {[]string{"0", "1"}, false, nil},
	} {
		answers, err := client.Reprieve(t.Context(), web, []nodesift.NodeVictims{on("nobody", "0"), on("full", each.victims...), on("empty")})
		if err != nil || len(answers) != 3 {
			t.Fatalf("%v, %v", answers, err)
		}
		if answer := answers[1]; answer.Err != nil || answer.Fits != each.fits || !slices.Equal(answer.Kept, each.kept) {
			t.Errorf("%+v, not %+v", answer, each)
		}
		if why := answers[1].Failure; !each.fits && (why.Predicate != "NodeResourcesFit" || why.Code != nodesift.CodeUnschedulable ||
			!slices.Equal(why.Reasons, []string{"Insufficient cpu"})) {
			t.Errorf("%+v", why)
		}
		if !errors.Is(answers[0].Err, nodesift.ErrNotFound) || answers[0].Fits || answers[2].Err != nil || !answers[2].Fits {
			t.Errorf("%+v", answers)
		}
	}
	if answers, err := client.Reprieve(t.Context(), web, []nodesift.NodeVictims{on("full", "9")}); err != nil || !errors.Is(answers[0].Err, nodesift.ErrNotFound) {
		t.Errorf("an unknown victim: %+v, %v", answers, err)
	}
	one := []nodesift.NodeVictims{on("full", "0")}
	if answers, err := client.Reprieve(t.Context(), web, one, nodesift.Skip("NodeResourcesFit")); err != nil || !answers[0].Fits || len(answers[0].Kept) != 1 {
		t.Errorf("without resources: %+v, %v", answers, err)
	}
	if _, err := client.Reprieve(t.Context(), web, one, nodesift.AtLeastGeneration(1<<60), nodesift.Patience(0)); !errors.Is(err, nodesift.ErrDeadline) {
		t.Errorf("a generation that does not come: %v", err)
	}
	var many []nodesift.NodeVictims
	for at := range nodesift.MaxReprieveNodes + 1 {
		many = append(many, on(fmt.Sprintf("none-%d", at)))
	}
	if _, err := client.Reprieve(t.Context(), web, many); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too many nodes: %v", err)
	}
	if answers, err := client.Reprieve(t.Context(), web, many[1:]); err != nil || len(answers) != nodesift.MaxReprieveNodes {
		t.Errorf("the most nodes: %d, %v", len(answers), err)
	}
}
