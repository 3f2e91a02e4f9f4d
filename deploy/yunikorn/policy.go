package yunikorn

import (
	"context"
	"slices"
	"sync"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// shims are the filters of kube-scheduler's default profile, all of which the shim's own manager runs, each in the versions of
// Kubernetes that have it.
var shims = []string{
	"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
	"NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
	"NodeDeclaredFeatures",
}

// policy is which predicates the sidecar evaluates that the shim lacks. The API names predicates in explanations alone, so it is
// learned by one, whenever an answer is of another process or policy.
type policy struct {
	mutex sync.Mutex
	// Of which process and policy that is known, and of which it is being learned.
	known, asked policyVersion
	lacking      []string
}

type policyVersion struct{ epoch, generation uint64 }

func versionOf(set nodesift.Set) policyVersion {
	return policyVersion{set.Epoch(), set.Version().PolicyGeneration}
}

// follow learns the policy of an answer in the background, where it is another one.
func (p *policy) follow(client *nodesift.Client, set nodesift.Set) {
	if p.begin(versionOf(set)) {
		go p.ask(client, versionOf(set))
	}
}

// learn is the same and waits for it.
func (p *policy) learn(client *nodesift.Client, set nodesift.Set) {
	if p.begin(versionOf(set)) {
		p.ask(client, versionOf(set))
	}
}

// begin tells whether a policy has to be learned.
func (p *policy) begin(version policyVersion) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if version == p.known || version == p.asked {
		return false
	}
	p.asked = version
	return true
}

func (p *policy) ask(client *nodesift.Client, version policyVersion) {
	ctx, cancel := context.WithTimeout(context.Background(), policyTimeout)
	defer cancel()
	predicates, err := client.Predicates(ctx, somePod, version.epoch, version.generation)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.asked != version {
		return
	}
	p.asked = policyVersion{}
	if err != nil {
		// The next answer tries again.
		return
	}
	p.known, p.lacking = version, nil
	for _, name := range predicates {
		if !slices.Contains(shims, name) {
			p.lacking = append(p.lacking, name)
		}
	}
}

// needed tells whether the policy has predicates that the shim lacks. Nothing is known of it before the first answer.
func (p *policy) needed() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.lacking) > 0
}

// waits tells whether nodes are rejected where there is no verdict.
func (s *sidecar) waits() bool {
	switch s.options.Unavailable {
	case Own:
		return false
	case Reject:
		return true
	default:
		return s.policy.needed()
	}
}
