package plugin

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// policy is which predicates the sidecar evaluates. It is learned beside the cycles, whenever an answer is of another
// generation, and only signatures depend on it.
type policy struct {
	mutex sync.Mutex
	// Of which process and generation the predicates are, and which ones are being learned.
	known, asked policyVersion
	predicates   []string
}

type policyVersion struct{ epoch, generation uint64 }

// follow learns the policy of an answer, where it is another one.
func (p *policy) follow(client *nodesift.Client, set nodesift.Set, schedulerName string) {
	version := policyVersion{set.Epoch(), set.Version().PolicyGeneration}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if version == p.known || version == p.asked {
		return
	}
	p.asked = version
	go p.learn(client, version, schedulerName)
}

func (p *policy) learn(client *nodesift.Client, version policyVersion, schedulerName string) {
	predicates, err := explain(client, version, schedulerName)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.asked != version {
		return
	}
	p.asked = policyVersion{}
	if err != nil {
		// The next answer tries again.
		klog.V(4).InfoS("policy of nodesift is not known yet", "err", err)
		return
	}
	p.known, p.predicates = version, predicates
}

// explain asks for the predicates, by a pod of the scheduler.
func explain(client *nodesift.Client, version policyVersion, schedulerName string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), policyTimeout)
	defer cancel()
	pod, err := json.Marshal(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nodesift-policy", UID: "nodesift-policy"},
		Spec:       v1.PodSpec{SchedulerName: schedulerName},
	})
	if err != nil {
		return nil, err
	}
	return client.Predicates(ctx, string(pod), version.epoch, version.generation)
}

// evaluates tells which predicates the sidecar evaluates, and whether that is known.
func (p *policy) evaluates() ([]string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clip(p.predicates), p.known != policyVersion{}
}
