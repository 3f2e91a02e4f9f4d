package main

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

const now = 1_800_000_000

func spot(name string, minutes int64) nodesifttest.Node {
	labels := nodesifttest.Texts{"karpenter.sh/capacity-type": "spot"}
	return nodesifttest.Node{Name: name, Labels: labels, Created: now - minutes*60}
}

func cluster(at int64) nodesifttest.Cluster {
	onDemand := nodesifttest.Node{Name: "on-demand", Labels: nodesifttest.Texts{"karpenter.sh/capacity-type": "on-demand"}, Created: now - 1}
	ageless := spot("ageless", 0)
	ageless.Created = 0
	return nodesifttest.Cluster{
		Nodes: []nodesifttest.Node{spot("new", 9), spot("old", 1_201), onDemand, spot("right", 600), ageless, {Name: "other"}},
		Now:   at,
	}
}

func TestASpotNodeIsNeitherNewNorOld(t *testing.T) {
	nodesifttest.Equal(t, cluster(now).Rejected(t, SpotAge, nil), "new: "+ReasonNew, "old: "+ReasonOld)
}

func TestANodeComesOfAgeAndGrowsOld(t *testing.T) {
	nodesifttest.Equal(t, cluster(now+59).Rejected(t, SpotAge, nil), "new: "+ReasonNew, "old: "+ReasonOld)
	nodesifttest.Equal(t, cluster(now+60).Rejected(t, SpotAge, nil), "old: "+ReasonOld)
	nodesifttest.Equal(t, cluster(now+600*60).Rejected(t, SpotAge, nil), "old: "+ReasonOld, "right: "+ReasonOld)
}

func TestAPodThatMayBeInterruptedRunsEverywhere(t *testing.T) {
	all := cluster(now)
	all.Pod = nodesifttest.Pod{Labels: nodesifttest.Texts{"example.com/interruptible": "true"}}
	nodesifttest.Equal(t, all.Rejected(t, SpotAge, nil))
}

func TestAgesAndLabelsAreArguments(t *testing.T) {
	args := nodesifttest.Args{"minMinutes": 0, "maxMinutes": 10}
	nodesifttest.Equal(t, cluster(now).Rejected(t, SpotAge, args), "old: "+ReasonOld, "right: "+ReasonOld)
	args = nodesifttest.Args{"values": []string{"on-demand", "none"}}
	nodesifttest.Equal(t, cluster(now).Rejected(t, SpotAge, args), "on-demand: "+ReasonNew)
	nodesifttest.Equal(t, cluster(now).Rejected(t, SpotAge, nodesifttest.Args{"values": []string{}}))
}

func TestAgesThatExcludeEachOtherAreRefused(t *testing.T) {
	for _, args := range []nodesifttest.Args{{"minMinutes": 60, "maxMinutes": 60}, {"minMinutes": -1}} {
		_, err := cluster(now).Evaluate(SpotAge, args)
		if err == nil || !strings.HasPrefix(err.Error(), "minMinutes: ") {
			t.Fatal(args, err)
		}
	}
}

// Asking for few moments says what asking for that of every node says.
func TestAFewMomentsAreEnough(t *testing.T) {
	seed := rand.Int63()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	for range 200 {
		all := nodesifttest.Cluster{Now: now}
		var expected []string
		for node := range random.Intn(20) {
			name, age := fmt.Sprintf("n%d", node), int64(random.Intn(30))
			all.Nodes = append(all.Nodes, spot(name, age))
			switch {
			case age >= 20:
				expected = append(expected, name+": "+ReasonOld)
			case age < 10:
				expected = append(expected, name+": "+ReasonNew)
			}
		}
		args := nodesifttest.Args{"minMinutes": 10, "maxMinutes": 20}
		nodesifttest.Equal(t, all.Rejected(t, SpotAge, args), expected...)
	}
}
