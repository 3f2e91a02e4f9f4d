package nodesift_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func TestManyPlacementsAreToldInOneCallAndEachHasAnOutcome(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	web, other := nodesift.PodUID("uid-web"), nodesift.PodJSON([]byte(pod("other", "", "1500m")))
	fits := func() bool {
		t.Helper()
		set, err := client.Feasible(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		return set.Fits("empty")
	}
	small := nodesift.PodJSON([]byte(pod("small", "", "100m")))
	changes, err := client.Place(t.Context(),
		nodesift.AssumeFirst(web, "nobody"),
		nodesift.AssumeFirst(nodesift.WholePod(func() {}), "empty"),
		nodesift.AssumeFirst(web, "empty", nodesift.TimeToLive(time.Minute)),
		nodesift.ForgetFirst(nodesift.PodUID("uid-nobody")),
		nodesift.ForgetFirst(nodesift.Pod{}),
		nodesift.AssumeFirst(other, "empty", nodesift.Check()),
		nodesift.AssumeFirst(small, "empty", nodesift.Check()),
	)
	if err != nil || len(changes.Assumed) != 5 || len(changes.Forgotten) != 2 || changes.Stream != 0 {
		t.Fatalf("%+v, %v", changes, err)
	}
	for at, wanted := range []error{nodesift.ErrNotFound, nodesift.ErrInvalid, nil, nodesift.ErrDoesNotFit, nil} {
		outcome := changes.Assumed[at]
		if !errors.Is(outcome.Err, wanted) || (wanted == nil) != (outcome.Assumed.Placed == nodesift.PlacedAssumed) {
			t.Errorf("assumption %d: %+v", at, outcome)
		}
	}
	if first, last := changes.Assumed[2].Assumed, changes.Assumed[4].Assumed; first.UID != "uid-web" || last.UID != "uid-small" || last.Version.Generation == 0 {
		t.Errorf("%+v, %+v", first, last)
	}
	if none, invalid := changes.Forgotten[0], changes.Forgotten[1]; none.WasAssumed || none.Err != nil || !errors.Is(invalid.Err, nodesift.ErrInvalid) {
		t.Errorf("%+v", changes.Forgotten)
	}
	if fits() {
		t.Error("what was assumed does not count in the next call")
	}
	// Whatever the order of the arguments, assumptions end first.
	changes, err = client.Place(t.Context(), nodesift.AssumeFirst(web, "full"), nodesift.ForgetFirst(web))
	if err != nil || changes.Assumed[0].Assumed.Placed != nodesift.PlacedAssumed || !changes.Forgotten[0].WasAssumed {
		t.Errorf("%+v, %v", changes, err)
	}
	changes, err = client.Place(t.Context(), nodesift.ForgetFirst(web), nodesift.ForgetFirst(nodesift.PodUID("uid-small")))
	if err != nil || !changes.Forgotten[0].WasAssumed || !changes.Forgotten[1].WasAssumed || !fits() {
		t.Errorf("%+v, %v", changes, err)
	}
}

func TestTooManyPlacementsAreRefusedAsOne(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	var many []nodesift.ChangeOption
	for at := range nodesift.MaxPlacements + 1 {
		many = append(many, nodesift.AssumeFirst(nodesift.PodJSON([]byte(pod(fmt.Sprint("p-", at), "", "1m"))), "empty"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), scaled(10*time.Second))
	defer cancel()
	if changes, err := client.Place(ctx, many...); !errors.Is(err, nodesift.ErrOverloaded) || len(changes.Assumed) > 0 {
		t.Errorf("%d outcomes, %v", len(changes.Assumed), err)
	}
	changes, err := client.Place(ctx, many[1:]...)
	if err != nil || len(changes.Assumed) != nodesift.MaxPlacements {
		t.Fatalf("%d outcomes, %v", len(changes.Assumed), err)
	}
	for at, outcome := range changes.Assumed {
		// Those that were refused as one are not assumed.
		if outcome.Err != nil || outcome.Assumed.Placed != nodesift.PlacedAssumed || outcome.Assumed.UID != fmt.Sprint("uid-p-", at+1) {
			t.Fatalf("%d: %+v", at, outcome)
		}
	}
}

func TestAFailureOfTheWholeCallHasNoOutcomes(t *testing.T) {
	nobody := dial(t, "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	if changes, err := nobody.Place(t.Context(), nodesift.ForgetFirst(nodesift.PodUID("uid-web"))); !errors.Is(err, nodesift.ErrUnavailable) || len(changes.Forgotten) > 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	// Nothing is sent.
	if changes, err := nobody.Place(t.Context()); err != nil || len(changes.Assumed)+len(changes.Forgotten) > 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	if changes, err := nobody.Place(t.Context(), nodesift.ForgetFirst(nodesift.Pod{})); err != nil || !errors.Is(changes.Forgotten[0].Err, nodesift.ErrInvalid) {
		t.Errorf("%+v, %v", changes, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := nobody.Place(ended, nodesift.ForgetFirst(nodesift.PodUID("uid-web"))); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}
