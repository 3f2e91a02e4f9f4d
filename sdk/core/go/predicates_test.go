package nodesift_test

import (
	"errors"
	"slices"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func TestThePredicatesOfAPolicyAreThoseOfTheAnswersProcessAndGeneration(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	some := pod("some", "", "100m")
	set, err := client.Feasible(t.Context(), nodesift.PodJSON([]byte(some)))
	if err != nil {
		t.Fatal(err)
	}
	epoch, generation := set.Epoch(), set.Version().PolicyGeneration
	predicates, err := client.Predicates(t.Context(), some, epoch, generation)
	if err != nil || !slices.Contains(predicates, "NodeName") || !slices.Contains(predicates, "NodeResourcesFit") {
		t.Errorf("%v, %v", predicates, err)
	}
	policy, err := client.Policy(t.Context(), some)
	if err != nil || policy.Epoch != epoch || policy.Generation != generation || !slices.Equal(policy.Predicates, predicates) {
		t.Errorf("%+v, %v", policy, err)
	}
	for _, other := range [][2]uint64{{epoch + 1, generation}, {epoch, generation + 1}} {
		if predicates, err := client.Predicates(t.Context(), some, other[0], other[1]); !errors.Is(err, nodesift.ErrChanged) {
			t.Errorf("%v: %v, %v", other, predicates, err)
		}
	}
}
