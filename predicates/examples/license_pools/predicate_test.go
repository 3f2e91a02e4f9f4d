package main

import (
	"strings"
	"testing"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
	"github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

var limits = nodesifttest.Args{"limits": map[string]any{"cad": 3}}

// cluster has two nodes in the pool, on which `used` pods hold a licence.
func cluster(t *testing.T, license string, used ...uint32) nodesifttest.Cluster {
	pool := nodesifttest.Texts{"example.com/license-pool": "cad"}
	return nodesifttest.Cluster{
		Pod:           nodesifttest.Pod{Labels: nodesifttest.Texts{"example.com/license": license}},
		Nodes:         []nodesifttest.Node{{Name: "a", Labels: pool}, {Name: "b", Labels: pool}, {Name: "other"}},
		IsClusterWide: true,
		Facts: func(host *facts.Host) {
			host.ClusterPodsMatching = func(selectors []facts.ClusterPodsPodSelector, terminating bool) []uint32 {
				selected := selectors[0].Requirements[0]
				if selected.Key != "example.com/license" || selected.Values[0] != license || !terminating {
					t.Fatalf("counted are pods with %v", selected)
				}
				return used
			}
		},
	}
}

func TestAPodRunsInThePoolOfItsLicence(t *testing.T) {
	nodesifttest.Equal(t, cluster(t, "cad", 1, 1, 0).Rejected(t, LicensePools, limits), "other: "+ReasonPool)
	rejected := cluster(t, "solver", 0, 0, 0).Rejected(t, LicensePools, limits)
	nodesifttest.Equal(t, rejected, "a: "+ReasonPool, "b: "+ReasonPool, "other: "+ReasonPool)
}

func TestNoMorePodsThanLicencesRun(t *testing.T) {
	rejected := cluster(t, "cad", 2, 1, 0).Rejected(t, LicensePools, limits)
	nodesifttest.Equal(t, rejected, "a: "+ReasonUsed, "b: "+ReasonUsed, "other: "+ReasonPool)
}

func TestALicenceWithoutALimitIsNotCounted(t *testing.T) {
	nodesifttest.Equal(t, cluster(t, "cad", 90, 90, 0).Rejected(t, LicensePools, nil), "other: "+ReasonPool)
}

func TestAPodWithoutALicenceFitsEverywhere(t *testing.T) {
	all := cluster(t, "cad", 9, 9, 9)
	all.Pod = nodesifttest.Pod{}
	nodesifttest.Equal(t, all.Rejected(t, LicensePools, limits))
}

func TestANegativeLimitIsRefused(t *testing.T) {
	_, err := cluster(t, "cad").Evaluate(LicensePools, nodesifttest.Args{"limits": map[string]any{"cad": -1}})
	if err == nil || !strings.HasPrefix(err.Error(), "limits.cad: ") {
		t.Fatal(err)
	}
}
