package yunikorn

import (
	"context"
	"errors"
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

// lacks is the first predicate of the policy that the shim lacks, if there is one, and tells whether the policy is known.
func (p *policy) lacks() (first string, known bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.lacking) > 0 {
		first = p.lacking[0]
	}
	return first, p.known != policyVersion{}
}

// waits tells whether nodes are rejected where there is no verdict, and why.
func (s *sidecar) waits() (why error, waits bool) {
	switch s.options.Unavailable {
	case Own:
		return nil, false
	case Reject:
		return errByChoice, true
	}
	first, known := s.policy.lacks()
	switch {
	case !known:
		// A pod that waits loses seconds. One that is placed past a predicate stays.
		return errNoPolicy, true
	case first != "":
		return lackingError(first), true
	default:
		return nil, false
	}
}

var (
	errByChoice = errors.New("Options.Unavailable is Reject")
	errNoPolicy = errors.New("its policy is not known yet")
)

// lackingError names a predicate that the shim lacks.
type lackingError string

func (l lackingError) Error() string {
	return "the shim lacks the predicate " + string(l) + " of its policy"
}
