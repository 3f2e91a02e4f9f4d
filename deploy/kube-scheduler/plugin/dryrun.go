package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// dryRun is DefaultPreemption with another search for victims: the sidecar is asked about [nodesift.MaxReprieveNodes] nodes in
// one call, in the order in which the search comes to them.
type dryRun struct {
	*defaultpreemption.DefaultPreemption
	plugin   *Plugin
	statuses fwk.NodeToStatusReader

	// The nodes of the search, and where it begins.
	nodes  []fwk.NodeInfo
	offset int32
	places map[string]int
	// One per MaxReprieveNodes nodes.
	batches []batch
}

// batch is one call.
type batch struct {
	once    sync.Once
	victims []victims
	answers []nodesift.Reprieved
	err     error
}

// victims are the pods of a node that may be evicted, in the order in which they are given back.
type victims struct {
	pods []fwk.PodInfo
	// How many of them, from the first on, violate a PodDisruptionBudget.
	violating int
}

var _ fwk.NodeToStatusReader = &dryRun{}

// Get is that of the reader that the framework gives.
func (r *dryRun) Get(node string) *fwk.Status { return r.statuses.Get(node) }

// NodesForStatusCode notes the nodes of the search.
func (r *dryRun) NodesForStatusCode(lister fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	nodes, err := r.statuses.NodesForStatusCode(lister, code)
	r.nodes = nodes
	return nodes, err
}

// GetOffsetAndNumCandidates notes where the search begins.
func (r *dryRun) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	offset, candidates := r.DefaultPreemption.GetOffsetAndNumCandidates(nodes)
	r.offset = offset
	r.places = make(map[string]int, len(r.nodes))
	for at := range r.nodes {
		r.places[r.at(at).Node().Name] = at
	}
	r.batches = make([]batch, (len(r.nodes)+nodesift.MaxReprieveNodes-1)/nodesift.MaxReprieveNodes)
	return offset, candidates
}

// at is the node to which the search comes at a place.
func (r *dryRun) at(place int) fwk.NodeInfo { return r.nodes[(int(r.offset)+place)%len(r.nodes)] }

// inTreeSearch is the search for victims on one node that DefaultPreemption itself makes.
type inTreeSearch func() ([]*v1.Pod, int, *fwk.Status)

// selectVictims takes the answer for a node from its batch. It is what the hook SelectVictimsOnNode returns.
func (r *dryRun) selectVictims(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
	inTree inTreeSearch,
) ([]*v1.Pod, int, *fwk.Status) {
	s, err := stateOf(state)
	if err != nil {
		return nil, 0, fwk.AsStatus(err)
	}
	place, known := r.places[node.Node().Name]
	if s.inTree != nil || !known {
		return inTree()
	}
	batch := &r.batches[place/nodesift.MaxReprieveNodes]
	batch.once.Do(func() { r.fill(ctx, batch, place/nodesift.MaxReprieveNodes, s, pod, budgets) })
	if batch.err != nil {
		return nil, 0, fwk.AsStatus(fmt.Errorf("nodesift has no answer about victims: %w", batch.err))
	}
	victims, answer := batch.victims[place%nodesift.MaxReprieveNodes], batch.answers[place%nodesift.MaxReprieveNodes]
	switch {
	case len(victims.pods) == 0:
		return nil, 0, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "No preemption victims found for incoming pod")
	case errors.Is(answer.Err, nodesift.ErrNotFound):
		// The node, or a victim, has just gone.
		return nil, 0, fwk.NewStatus(fwk.Unschedulable, reasonUnknown)
	case answer.Err != nil:
		return nil, 0, fwk.AsStatus(answer.Err)
	case !answer.Fits:
		return nil, 0, statusOf(answer.Failure.Code, answer.Failure.Reasons).WithPlugin(Name)
	}
	if agree, status := r.othersAgree(ctx, state, pod, node, victims, answer); !status.IsSuccess() {
		return nil, 0, status
	} else if !agree {
		return inTree()
	}
	return r.evicted(victims, answer)
}

// evicted are the victims that may not stay, the most important first.
func (r *dryRun) evicted(victims victims, answer nodesift.Reprieved) ([]*v1.Pod, int, *fwk.Status) {
	var evicted []*v1.Pod
	violations := 0
	for at, victim := range victims.pods {
		if slices.Contains(answer.Kept, at) {
			continue
		}
		evicted = append(evicted, victim.GetPod())
		if at < victims.violating {
			violations++
		}
	}
	sort.SliceStable(evicted, func(i, j int) bool { return r.isMoreImportant(evicted[i], evicted[j]) })
	return evicted, violations, nil
}

// fill asks about the nodes of a batch.
func (r *dryRun) fill(ctx context.Context, batch *batch, number int, s *cycleState, pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget) {
	first := number * nodesift.MaxReprieveNodes
	count := min(nodesift.MaxReprieveNodes, len(r.nodes)-first)
	batch.victims, batch.answers = make([]victims, count), make([]nodesift.Reprieved, count)
	var asked []nodesift.NodeVictims
	var places []int
	for at := range count {
		node := r.at(first + at)
		batch.victims[at] = r.candidates(node, pod, budgets)
		if len(batch.victims[at].pods) == 0 {
			continue
		}
		uids := make([]string, 0, len(batch.victims[at].pods))
		for _, victim := range batch.victims[at].pods {
			uids = append(uids, string(victim.GetPod().UID))
		}
		asked = append(asked, nodesift.NodeVictims{Node: node.Node().Name, Victims: uids})
		places = append(places, at)
	}
	if len(asked) == 0 {
		return
	}
	answers, err := r.ask(ctx, s, asked)
	if err != nil {
		batch.err = err
		return
	}
	for at, place := range places {
		batch.answers[place] = answers[at]
	}
}

func (r *dryRun) ask(ctx context.Context, s *cycleState, asked []nodesift.NodeVictims) ([]nodesift.Reprieved, error) {
	dryRunCalls.Inc()
	// The search ends with enough candidates, but other goroutines may still wait for this answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), preemptionTimeout)
	defer cancel()
	options := []nodesift.ReprieveOption{
		nodesift.AtLeastGeneration(s.set.Version().Generation), nodesift.Patience(0),
	}
	for _, option := range s.situation() {
		options = append(options, option)
	}
	answers, err := r.plugin.sidecar.client.Reprieve(ctx, s.named, asked, options...)
	if s.known && (errors.Is(err, nodesift.ErrChanged) || errors.Is(err, nodesift.ErrNotFound)) {
		answers, err = r.plugin.sidecar.client.Reprieve(ctx, nodesift.WholePod(s.pod), asked, options...)
	}
	return answers, err
}

// candidates are the pods that may be evicted from a node, in kube-scheduler's order: those whose eviction violates a
// PodDisruptionBudget are given back first, and the most important ones of each kind before the others.
func (r *dryRun) candidates(node fwk.NodeInfo, pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget) victims {
	var all []fwk.PodInfo
	for _, candidate := range node.GetPods() {
		if corev1.PodPriority(candidate.GetPod()) < corev1.PodPriority(pod) && r.isEligible(node, candidate, pod) {
			all = append(all, candidate)
		}
	}
	sort.Slice(all, func(i, j int) bool { return r.isMoreImportant(all[i].GetPod(), all[j].GetPod()) })
	if len(budgets) == 0 {
		return victims{pods: all}
	}
	left := make([]int32, len(budgets))
	for at, budget := range budgets {
		left[at] = budget.Status.DisruptionsAllowed
	}
	var violating, others []fwk.PodInfo
	for _, candidate := range all {
		if violates(candidate.GetPod(), budgets, left) {
			violating = append(violating, candidate)
		} else {
			others = append(others, candidate)
		}
	}
	return victims{append(violating, others...), len(violating)}
}

// violates tells whether the eviction of a pod violates a budget, and takes it from what is left of those that select the pod: of all of
// them, or of those up to the first that is violated, as the version of kube-scheduler does.
func violates(pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget, left []int32) bool {
	if len(pod.Labels) == 0 {
		return false
	}
	violated := false
	for at, budget := range budgets {
		if budget.Namespace != pod.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		// A selector that is invalid or empty selects nothing here.
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		// The API server has counted its eviction already.
		if _, counted := budget.Status.DisruptedPods[pod.Name]; counted {
			continue
		}
		left[at]--
		violated = violated || left[at] < 0
		if violated && stopsAtViolation {
			return true
		}
	}
	return violated
}

// othersAgree asks the filters beside this plugin that have to do with the pod: whether it fits with all victims removed, as
// DefaultPreemption does, and whether it still fits beside those that stay. Where it does not, the answer of the sidecar is not
// enough.
func (r *dryRun) othersAgree(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, victims victims, answer nodesift.Reprieved,
) (bool, *fwk.Status) {
	skipped := state.GetSkipFilterPlugins()
	if !slices.ContainsFunc(r.plugin.profile().filter, func(name string) bool { return name != Name && !skipped.Has(name) }) {
		return true, nil
	}
	s, err := stateOf(state)
	if err != nil {
		return false, fwk.AsStatus(err)
	}
	state, node = state.Clone(), node.Snapshot()
	state.Write(Name, &cycleState{cycle: s.cycle, fits: true})
	for _, victim := range victims.pods {
		if err := node.RemovePod(klog.FromContext(ctx), victim.GetPod()); err != nil {
			return false, fwk.AsStatus(err)
		}
		if status := r.plugin.handle.RunPreFilterExtensionRemovePod(ctx, state, pod, victim, node); !status.IsSuccess() {
			return false, status
		}
	}
	if status := r.plugin.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); !status.IsSuccess() {
		return false, status
	}
	for _, kept := range answer.Kept {
		node.AddPodInfo(victims.pods[kept])
		if status := r.plugin.handle.RunPreFilterExtensionAddPod(ctx, state, pod, victims.pods[kept], node); !status.IsSuccess() {
			return false, status
		}
	}
	return r.plugin.handle.RunFilterPluginsWithNominatedPods(ctx, state, pod, node).IsSuccess(), nil
}
