package nodesifttest

import (
	"maps"
	"slices"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Terms of the pods on nodes that match the pod that is asked about: `cluster-affinity` and `cluster-preferences`. Match label keys are not
// looked at: the API server has put them into the selector.

// addTerms adds the functions about them.
func (r running) addTerms(host *facts.Host) {
	antiAffinity := func(p Pod) []WeightedTerm { return r.matching(p, required(p.AntiAffinity), 1) }
	affinity := func(p Pod) []WeightedTerm { return r.matching(p, required(p.Affinity), 1) }
	preferred := func(p Pod) []WeightedTerm {
		return append(r.matching(p, p.PreferredAffinity, 1), r.matching(p, p.PreferredAntiAffinity, -1)...)
	}
	host.ClusterAffinityTopologyKeys = func() []string { return r.keys(antiAffinity) }
	host.ClusterAffinityAntiAffinityTerms = func(key string) []uint32 { return termCounts(r, antiAffinity, key) }
	host.ClusterPreferencesTopologyKeys = func() []string { return r.keys(affinity, preferred) }
	host.ClusterPreferencesPreferredTerms = func(key string) []uint32 { return termCounts(r, preferred, key) }
	host.ClusterPreferencesRequiredTerms = func(key string) []uint32 { return termCounts(r, affinity, key) }
	host.ClusterPreferencesWeights = func(key string) []int64 {
		return sum(r, func(p Pod) int64 {
			total := int64(0)
			for _, term := range preferred(p) {
				if term.B.TopologyKey == key {
					total += int64(term.A)
				}
			}
			return total
		})
	}
}

func required(terms []facts.PodAffinityTerm) []WeightedTerm {
	weighted := make([]WeightedTerm, len(terms))
	for index, term := range terms {
		weighted[index].B = term
	}
	return weighted
}

// matching are the terms of a pod on a node that match, with their weights times sign.
func (r running) matching(owner Pod, terms []WeightedTerm, sign int32) []WeightedTerm {
	var found []WeightedTerm
	for _, term := range terms {
		if r.isAbout(owner, term.B) {
			found = append(found, WeightedTerm{A: sign * term.A, B: term.B})
		}
	}
	return found
}

// isAbout says whether a term of a pod on a node is about the pod that is asked about.
func (r running) isAbout(owner Pod, term facts.PodAffinityTerm) bool {
	if term.Selector == nil {
		return false
	}
	asked := r.cluster.Pod
	namespaces := term.Namespaces
	if len(namespaces) == 0 && term.NamespaceSelector == nil {
		namespaces = []string{owner.namespace()}
	}
	// A namespace without an object is one without labels here.
	isIn := slices.Contains(namespaces, asked.namespace()) ||
		term.NamespaceSelector != nil && selects(*term.NamespaceSelector, r.namespaces[asked.namespace()])
	return isIn && selects(*term.Selector, asked.Labels)
}

// selects says whether labels meet all parts of a selector.
func selects(selector facts.SelectorsLabelSelector, labels Texts) bool {
	for _, entry := range selector.MatchLabels {
		if value, isThere := labels[entry.A]; !isThere || value != entry.B {
			return false
		}
	}
	return meet(labels, selector.MatchExpressions)
}

// termCounts counts the terms of pods on each node with a topology key.
func termCounts(r running, terms func(Pod) []WeightedTerm, key string) []uint32 {
	return sum(r, func(p Pod) uint32 {
		count := uint32(0)
		for _, term := range terms(p) {
			if term.B.TopologyKey == key {
				count++
			}
		}
		return count
	})
}

// keys are the topology keys of terms of pods on nodes, sorted and each once.
func (r running) keys(of ...func(Pod) []WeightedTerm) []string {
	keys := map[string]bool{}
	for _, pods := range r.rows {
		for _, pod := range pods {
			for _, terms := range of {
				for _, term := range terms(pod) {
					keys[term.B.TopologyKey] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
