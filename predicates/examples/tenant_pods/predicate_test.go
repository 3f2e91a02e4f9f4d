package main

import (
	"strings"
	"testing"

	"github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

// cluster has two nodes: `busy` has two pods of the tenant `acme`, in two namespaces, and one of another; `quiet` has one that goes.
func cluster(tenant string) nodesifttest.Cluster {
	of := func(tenant string) nodesifttest.Texts { return nodesifttest.Texts{"example.com/tenant": tenant} }
	return nodesifttest.Cluster{
		Pod:   nodesifttest.Pod{Namespace: "new-" + tenant, NamespaceLabels: of(tenant)},
		Nodes: []nodesifttest.Node{{Name: "busy"}, {Name: "quiet"}},
		Namespaces: map[string]nodesifttest.Texts{
			"acme-web": of("acme"), "acme-db": of("acme"), "zeta": of("zeta"), "system": {},
		},
		Pods: []nodesifttest.Pod{
			{NodeName: "busy", Namespace: "acme-web"},
			{NodeName: "busy", Namespace: "acme-db"},
			{NodeName: "busy", Namespace: "zeta"},
			{NodeName: "busy", Namespace: "system"},
			{NodeName: "quiet", Namespace: "acme-db", Terminating: true},
		},
		IsClusterWide: true,
	}
}

func rejected(t *testing.T, tenant string, args nodesifttest.Args) []string {
	return cluster(tenant).Rejected(t, TenantPods, args)
}

func TestPodsOfAllNamespacesOfATenantCount(t *testing.T) {
	nodesifttest.Equal(t, rejected(t, "acme", nodesifttest.Args{"limit": 2}), "busy: "+Reason)
	nodesifttest.Equal(t, rejected(t, "zeta", nodesifttest.Args{"limit": 2}))
	nodesifttest.Equal(t, rejected(t, "acme", nodesifttest.Args{"limit": 3}))
}

func TestTerminatingPodsCount(t *testing.T) {
	nodesifttest.Equal(t, rejected(t, "acme", nodesifttest.Args{"limit": 1}), "busy: "+Reason, "quiet: "+Reason)
}

func TestATenantMayHaveALimitOfItsOwn(t *testing.T) {
	args := nodesifttest.Args{"limit": 9, "limits": map[string]any{"acme": 2, "zeta": 0}}
	nodesifttest.Equal(t, rejected(t, "acme", args), "busy: "+Reason)
	nodesifttest.Equal(t, rejected(t, "zeta", args), "busy: "+Reason, "quiet: "+Reason)
}

func TestAPodWithoutATenantFitsEverywhere(t *testing.T) {
	all := cluster("acme")
	all.Pod = nodesifttest.Pod{Namespace: "system"}
	nodesifttest.Equal(t, all.Rejected(t, TenantPods, nodesifttest.Args{"limit": 1}))
}

func TestALimitOfNothingIsRefused(t *testing.T) {
	_, err := cluster("acme").Evaluate(TenantPods, nodesifttest.Args{"limit": 0})
	if err == nil || !strings.HasPrefix(err.Error(), "limit: ") {
		t.Fatal(err)
	}
}
