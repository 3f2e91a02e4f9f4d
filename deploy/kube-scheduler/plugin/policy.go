package plugin

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// policy is which predicates the sidecar evaluates. It is learned beside the cycles: once the plugin is made, and whenever an answer is of
// another generation. Signatures depend on it, and who decides while the sidecar does not answer.
type policy struct {
	mutex sync.Mutex
	// Of which process and generation the predicates are, and which ones are being learned.
	known, asked policyVersion
	predicates   []string
}

type policyVersion struct{ epoch, generation uint64 }

// versionOf is the policy of an answer.
func versionOf(set nodesift.Set) policyVersion {
	return policyVersion{set.Epoch(), set.Version().PolicyGeneration}
}

// begin learns the policy before the first cycle, which can be long after the plugin is made: the scheduler has to lead. So one that
// begins to lead while its sidecar does not answer knows who decides.
func (p *policy) begin(ctx context.Context, client *nodesift.Client, schedulerName string) {
	for {
		first, err := explain(ctx, client, schedulerName)
		if err == nil {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			if p.known == (policyVersion{}) {
				p.known, p.predicates = policyVersion{first.Epoch, first.Generation}, first.Predicates
			}
			return
		}
		select {
		case <-time.After(policyPause):
		case <-ctx.Done():
			return
		}
	}
}

// follow learns the policy of an answer, where it is another one.
func (p *policy) follow(client *nodesift.Client, set nodesift.Set, schedulerName string) {
	version := versionOf(set)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if version == p.known || version == p.asked {
		return
	}
	p.asked = version
	go p.learn(client, version, schedulerName)
}

func (p *policy) learn(client *nodesift.Client, version policyVersion, schedulerName string) {
	next, err := explain(context.Background(), client, schedulerName)
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
	if (policyVersion{next.Epoch, next.Generation}) == version {
		p.known, p.predicates = version, next.Predicates
	}
}

// nameOfNobody is the name and the UID of a pod that no cluster has.
const nameOfNobody = "nodesift-policy"

// podOfNobody is a pod of the scheduler that no cluster has, for questions that are about none.
func podOfNobody(schedulerName string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: nameOfNobody, UID: nameOfNobody},
		Spec:       v1.PodSpec{SchedulerName: schedulerName},
	}
}

// explain asks for the policy, by a pod of the scheduler.
func explain(ctx context.Context, client *nodesift.Client, schedulerName string) (nodesift.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, policyTimeout)
	defer cancel()
	pod, err := json.Marshal(podOfNobody(schedulerName))
	if err != nil {
		return nodesift.Policy{}, err
	}
	return client.Policy(ctx, string(pod))
}

// evaluates tells which predicates the sidecar evaluates, and whether that is known.
func (p *policy) evaluates() ([]string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clip(p.predicates), p.known != policyVersion{}
}
