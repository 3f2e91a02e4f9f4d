package plugin

import "slices"

// partiesPredicate is the predicate of a policy that reads what external parties have said. Answers of the sidecar name the parties that
// decide about a pod.
const partiesPredicate = "Parties"

// mayNegotiate tells whether the profile has enabled the hooks that wait for parties, and does not leave them to others.
func (p *Plugin) mayNegotiate() bool {
	return p.profile().negotiates && !slices.Contains(p.args.Skip, partiesPredicate)
}
