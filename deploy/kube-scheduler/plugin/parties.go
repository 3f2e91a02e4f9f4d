package plugin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
)

// partiesPredicate is the predicate of a policy that reads what external parties have said. Without it nobody is negotiated with.
const partiesPredicate = "Parties"

// parties remember which external parties decide about pods, of the policy that was learned last. Answers about pods do not say so, so
// it is asked once for pods with the same labels. What decides about a pod with claims depends on these, and is asked in each cycle in
// which nothing is under way.
type parties struct {
	mutex    sync.Mutex
	of       policyVersion
	byLabels map[labelsKey][]string
}

// labelsKey stands for labels, whose text is as long as those who create pods like.
type labelsKey [sha256.Size]byte

func keyOf(labels string) labelsKey { return sha256.Sum256([]byte(labels)) }

// get are those that are remembered.
func (r *parties) get(of policyVersion, labels string) ([]string, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.of != of {
		return nil, false
	}
	names, known := r.byLabels[keyOf(labels)]
	return names, known
}

func (r *parties) put(of policyVersion, labels string, names []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.of != of || r.byLabels == nil || len(r.byLabels) >= maxLabelled {
		r.of, r.byLabels = of, map[labelsKey][]string{}
	}
	r.byLabels[keyOf(labels)] = names
}

// mayNegotiate tells whether the profile has enabled the hooks that wait for parties, and does not leave them to others.
func (p *Plugin) mayNegotiate() bool {
	return p.profile().negotiates && !slices.Contains(p.args.Skip, partiesPredicate)
}

// partiesOf are the parties that decide about the pod of a cycle, none for most.
func (p *Plugin) partiesOf(ctx context.Context, c *cycle) ([]string, error) {
	of, remembered := versionOf(c.set), len(c.pod.Spec.ResourceClaims) == 0
	if p.policy.lacks(of, partiesPredicate) {
		return nil, nil
	}
	key := labels.Set(c.pod.Labels).String()
	if remembered {
		if names, known := p.parties.get(of, key); known {
			return names, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, max(p.args.CallTimeout.Duration, partiesTimeout))
	defer cancel()
	names, generation, err := p.sidecar.client.Parties(ctx, c.named)
	if err != nil {
		p.say(ctx, c.pod, err, Fail)
		return nil, fmt.Errorf("nodesift does not say which parties decide about the pod: %w", err)
	}
	// Those of another policy count once, and are asked again.
	if remembered && generation == of.generation {
		p.parties.put(of, key, names)
	}
	return names, nil
}
