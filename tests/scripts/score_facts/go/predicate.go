// ScoreFacts rejects every node with what the functions say that came with scores: unit tests and the built module must answer alike.
package main

import (
	"fmt"
	"strings"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// ScoreFacts is the predicate.
var ScoreFacts = nodesift.Predicate[nodesift.NoArgs]{Name: "ScoreFacts", Summary: "rejects every node with facts", Filter: filter}

func filter(_ *nodesift.Pod, nodes *nodesift.Nodes, _ *nodesift.NoArgs) *nodesift.Failure {
	var pod strings.Builder
	for _, request := range facts.PodNonZeroRequestsRequests() {
		fmt.Fprintf(&pod, "%s=%d ", request.Resource, request.Amount)
	}
	for _, image := range facts.PodImagesContainers() {
		fmt.Fprintf(&pod, "%s:%d ", image, facts.ClusterImagesSize(image))
	}
	_, hasTerms := facts.PodPlacementPreferredTerms()
	fmt.Fprintf(&pod, "%t/%d/%d/%d/%d", hasTerms, len(facts.PodImagesVolumes()), len(facts.PodPreferredAffinityAffinity()),
		len(facts.PodPreferredAffinityAntiAffinity()), len(facts.ClusterPreferencesTopologyKeys()))
	cpu, memory, other := facts.NodeNonZeroRequestsRequested("cpu"), facts.NodeNonZeroRequestsRequested("memory"),
		facts.NodeNonZeroRequestsRequested("example.com/gpu")
	fits, terms := facts.ClusterCandidatesFeasible(), facts.ClusterPreferencesPreferredTerms("zone")
	weights, required := facts.ClusterPreferencesWeights("zone"), facts.ClusterPreferencesRequiredTerms("zone")
	for row := range nodes.Count() {
		nodes.RejectRow(row, nodesift.Unschedulable(fmt.Sprintf("%s on node %d/%d/%d %d %d/%d/%d", pod.String(),
			cpu[row], memory[row], other[row], fits[row], terms[row], weights[row], required[row])))
	}
	return nil
}

func init() { nodesift.Export(ScoreFacts) }

func main() {}
