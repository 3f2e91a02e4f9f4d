package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// reasonUnknown is the reason where a node is not in the answer. It joined or left the cluster a moment ago.
const reasonUnknown = "node(s) were unknown to nodesift"

// cycle is what a scheduling cycle knows. It does not change after PreFilter.
type cycle struct {
	plugin *Plugin
	pod    *v1.Pod
	// How requests name the pod, and whether that is by its UID.
	named nodesift.Pod
	known bool
	set   nodesift.Set
	// Whether the question was about scores too.
	scores bool
	// Nominations that were sent with the request.
	nominated nominated
	// Set where kube-scheduler's own filters decide.
	inTree *inTreeCycle
	// Whether that is because the sidecar gave no answer, so that the pod is judged later.
	unanswered bool
	// What is under way with external parties of the pod; nil where none decides, or nothing is under way.
	standing *standing
	// Whether PreFilter has rejected the pod because parties are asked.
	waits bool
	// Whether parties are negotiated with, so that nodes fit of which they have said nothing.
	negotiates bool
}

// cycleState is a cycle, and what has hypothetically changed since.
type cycleState struct {
	*cycle
	changes []change
	// Whether every node fits: for a dry run that has asked the sidecar otherwise.
	fits bool
}

// change is a pod that is hypothetically added to a node or removed from it.
type change struct {
	pod   *v1.Pod
	node  string
	added bool
}

// Clone shares everything: a clone that changes appends to changes of its own.
func (s *cycleState) Clone() fwk.StateData {
	return &cycleState{cycle: s.cycle, changes: slices.Clip(s.changes), fits: s.fits}
}

func stateOf(state fwk.CycleState) (*cycleState, error) {
	data, err := state.Read(Name)
	if err != nil {
		return nil, fmt.Errorf("PreFilter of %s has not run: %w", Name, err)
	}
	return data.(*cycleState), nil
}

// statusOf never makes a rejection a success.
func statusOf(code nodesift.Code, reasons []string) *fwk.Status {
	switch code {
	case nodesift.CodeError, nodesift.CodeUnschedulable, nodesift.CodeUnresolvable:
		// Whoever appends a reason must not write into those of other nodes.
		return fwk.NewStatus(fwk.Code(code), slices.Clip(reasons)...)
	default:
		return fwk.AsStatus(fmt.Errorf("nodesift has answered with a code that this scheduler does not know: %v", reasons))
	}
}

// Filter looks a node up.
func (p *Plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	s, err := stateOf(state)
	switch {
	case err != nil:
		return fwk.AsStatus(err)
	case s.inTree != nil:
		return p.filterInTree(ctx, s.inTree, state, pod, node)
	case s.fits:
		return nil
	case len(s.changes) == 0 || s.onlyNominated(node.Node().Name):
		return s.lookUp(node.Node().Name)
	default:
		return s.whatIf(ctx, node.Node().Name)
	}
}

func (p *Plugin) filterInTree(ctx context.Context, cycle *inTreeCycle, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if p.inTree == nil {
		return nil
	}
	return p.inTree.filter(ctx, cycle, state, pod, node)
}

func (c *cycle) lookUp(node string) *fwk.Status {
	if status := verdict(c.set, node); !status.IsSuccess() {
		return status
	}
	return c.suits(node)
}

func verdict(set nodesift.Set, node string) *fwk.Status {
	if set.Fits(node) {
		return nil
	}
	predicate, code, reasons := set.Why(node)
	if predicate == "" && code == nodesift.CodeUnknown {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonUnknown)
	}
	return statusOf(code, reasons)
}

// onlyNominated tells whether all changes are pods nominated to this node that the answer has already made room for.
func (s *cycleState) onlyNominated(node string) bool {
	return !slices.ContainsFunc(s.changes, func(change change) bool {
		return !change.added || change.node != node || !s.madeRoom(change.pod, node)
	})
}

// madeRoom tells whether the sidecar knew of a nomination: from its watch, or from the request.
func (c *cycle) madeRoom(pod *v1.Pod, node string) bool {
	if sent, ok := c.nominated[pod.UID]; ok {
		return sent.node == node
	}
	version := number(pod.ResourceVersion)
	return pod.Status.NominatedNodeName == node && version > 0 && version <= number(c.set.Version().PodsResourceVersion)
}

// whatIf asks about one node with all changes.
func (s *cycleState) whatIf(ctx context.Context, node string) *fwk.Status {
	whatIfs.Inc()
	set, err := s.askWhatIf(ctx, node, false)
	if errors.Is(err, nodesift.ErrNotFound) {
		set, err = s.askWhatIf(ctx, node, true)
	}
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("nodesift has no answer with %d pods added or removed: %w", len(s.changes), err))
	}
	if status := verdict(set, node); !status.IsSuccess() {
		return status
	}
	// Nobody can agree on a node that is full. Once room is made, they are asked.
	if s.standing != nil && s.standing.phase == asking && s.removes() {
		return nil
	}
	return s.suits(node)
}

// removes tells whether pods are hypothetically removed.
func (s *cycleState) removes() bool {
	return slices.ContainsFunc(s.changes, func(change change) bool { return !change.added })
}

func (s *cycleState) askWhatIf(ctx context.Context, node string, whole bool) (nodesift.Set, error) {
	p := s.plugin
	ctx, cancel := context.WithTimeout(ctx, p.args.CallTimeout.Duration)
	defer cancel()
	var overlay nodesift.Overlay
	for _, change := range s.changes {
		named := nodesift.PodUID(string(change.pod.UID))
		if !change.added {
			overlay.RemovedPods = append(overlay.RemovedPods, named)
			continue
		}
		if whole {
			named = nodesift.WholePod(change.pod)
		}
		overlay.AddedPods = append(overlay.AddedPods, nodesift.PlacedPod{Pod: named, Node: change.node})
	}
	named := s.named
	if whole {
		named = nodesift.WholePod(s.pod)
	}
	// Not on the stream, where it would hold up the requests of other goroutines. A process that has restarted does not have
	// this generation, nor the placements.
	options := []nodesift.FeasibleOption{
		nodesift.OnNodes(node), nodesift.WithOverlay(overlay), nodesift.AllowFaults(),
		nodesift.AtLeastGeneration(s.set.Version().Generation), nodesift.Patience(0),
	}
	for _, option := range s.situation() {
		options = append(options, option)
	}
	set, err := p.sidecar.client.Feasible(ctx, named, options...)
	switch {
	case err != nil:
		return nodesift.Set{}, err
	case set.Epoch() != s.set.Epoch():
		return nodesift.Set{}, errPlacement
	default:
		return set, rejectingFaults(set)
	}
}

// PreFilterExtensions has the framework tell of pods that are hypothetically added and removed.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return p }

// AddPod notes that a pod is on a node.
func (p *Plugin) AddPod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, added fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.change(ctx, state, pod, added, node, true)
}

// RemovePod notes that a pod is not on a node.
func (p *Plugin) RemovePod(ctx context.Context, state fwk.CycleState, pod *v1.Pod, removed fwk.PodInfo, node fwk.NodeInfo) *fwk.Status {
	return p.change(ctx, state, pod, removed, node, false)
}

func (p *Plugin) change(ctx context.Context, state fwk.CycleState, pod *v1.Pod, changed fwk.PodInfo, node fwk.NodeInfo, added bool) *fwk.Status {
	s, err := stateOf(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if s.inTree != nil {
		if p.inTree == nil {
			return nil
		}
		return p.inTree.change(ctx, s.inTree, state, pod, changed, node, added)
	}
	this := change{changed.GetPod(), node.Node().Name, added}
	// What undoes an earlier change leaves nothing of the two.
	for at, earlier := range s.changes {
		if earlier.pod.UID == this.pod.UID && earlier.node == this.node && earlier.added != added {
			s.changes = slices.Delete(slices.Clone(s.changes), at, at+1)
			return nil
		}
	}
	s.changes = append(s.changes, this)
	return nil
}
