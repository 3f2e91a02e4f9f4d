package plugin

import "slices"

// onUnavailable is who decides while the sidecar does not answer, InTree or Fail, and where the policy says so, why.
func (p *Plugin) onUnavailable() (decides Unavailable, why string) {
	if p.args.OnUnavailable != ByPolicy {
		return p.args.OnUnavailable, ""
	}
	predicates, known := p.policy.evaluates()
	if !known {
		// A pod that waits loses seconds. One that is placed past a predicate stays.
		return Fail, ", and its policy is not known yet"
	}
	if name := p.lacking(predicates); name != "" {
		return Fail, ", and kube-scheduler lacks its predicate " + name
	}
	return InTree, ""
}

// lacking is the first predicate that nobody evaluates in the sidecar's place: no filter of kube-scheduler that is made in this process,
// and none that the profile has enabled itself.
func (p *Plugin) lacking(predicates []string) string {
	for _, name := range predicates {
		if p.inTree.named(name) == nil && !slices.Contains(p.profile().filter, name) && !slices.Contains(p.args.Skip, name) {
			return name
		}
	}
	return ""
}
