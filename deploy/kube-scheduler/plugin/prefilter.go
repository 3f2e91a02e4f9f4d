package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// What an answer lacks for a pod to be bound on it.
var (
	errBreaker   = errors.New("nodesift has not answered several calls in a row, and is tried again in a while")
	errPlacement = errors.New("nodesift does not know all placements of this scheduler")
	errFault     = errors.New("nodesift could not evaluate all predicates")
	errNodes     = errors.New("nodesift does not know all nodes of this scheduler")
)

// PreFilter asks the sidecar about all nodes.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	cycle := &cycle{plugin: p, pod: pod}
	if cycle.negotiates = p.mayNegotiate(); cycle.negotiates {
		cycle.standing = p.negotiations.standing(pod.UID)
	}
	err := cycle.ask(ctx)
	decides, why := p.onUnavailable()
	if err == nil && decides == InTree && cycle.lacks(nodes) {
		err = errNodes
	}
	p.say(ctx, pod, err, decides)
	if err != nil {
		if decides == Fail {
			return nil, fwk.AsStatus(fmt.Errorf("%s does not answer%s: %w", p.args.Address, why, err))
		}
		fallbacks.Inc()
		// Where a predicate has failed, the sidecar has answered: there is nothing to judge later.
		cycle.unanswered = !errors.Is(err, errFault)
		return p.preFilterInTree(ctx, cycle, state, pod, nodes)
	}
	p.sidecar.judgePlaced(klog.FromContext(ctx))
	state.Write(Name, &cycleState{cycle: cycle})
	failures, named := cycle.set.Failures(), false
	p.rejections.note(pod.UID, failures, false)
	switch cycle.set.Cycle() {
	case nodesift.CycleRejected:
		return nil, rejectionBy(failures, cycle.set.Message())
	case nodesift.CycleAborted:
		// A node of which a filter says Error ends the cycle where it is reached; the others have verdicts of their own.
		if len(failures) == 0 {
			return nil, fwk.AsStatus(errors.New(cycle.set.Message()))
		}
	case nodesift.CycleNamedNodes:
		named = true
	}
	if cycle.negotiates {
		if status := cycle.negotiate(ctx, nodes); !status.IsSuccess() {
			return nil, status
		}
	}
	if named {
		// Where NodeAffinity's own PreFilter runs, it selects the same nodes, under its own name.
		if !slices.Contains(p.profile().preFilter, names.NodeAffinity) {
			return &fwk.PreFilterResult{NodeNames: sets.New(cycle.set.NamedNodes()...)}, nil
		}
	}
	return nil, nil
}

// rejectionBy is the status of PreFilter that rejects a pod. The answer has each node under the first predicate that rejects it,
// which can be others than the one that ends the cycle, on all nodes; the message has the reasons of that one, and no other.
func rejectionBy(failures []nodesift.Failure, message string) *fwk.Status {
	_, reasons, _ := strings.Cut(strings.TrimSuffix(message, "."), ": ")
	for _, failure := range failures {
		if reasons == strings.Join(failure.Reasons, ", ") {
			return statusOf(failure.Code, failure.Reasons)
		}
	}
	// What PreFilter rejects no preemption can help.
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons)
}

// preFilterInTree has kube-scheduler's own filters decide about this pod.
func (p *Plugin) preFilterInTree(
	ctx context.Context, cycle *cycle, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	result, status := (*fwk.PreFilterResult)(nil), (*fwk.Status)(nil)
	cycle.inTree = &inTreeCycle{}
	if p.inTree != nil {
		cycle.inTree, result, status = p.inTree.preFilter(ctx, p.profile(), state, pod, nodes)
	}
	p.rejections.noteInTree(pod.UID, cycle.inTree)
	state.Write(Name, &cycleState{cycle: cycle})
	return result, status
}

// say logs when the sidecar begins or ceases to answer, and at a higher level every pod for which it does not.
func (p *Plugin) say(ctx context.Context, pod *v1.Pod, err error, decides Unavailable) {
	logger := klog.FromContext(ctx)
	opened, closed := false, false
	// Neither says whether the sidecar answers.
	held := errors.Is(err, errBreaker) || errors.Is(err, errCatchingUp) || errors.Is(err, errSlow)
	if !held {
		opened, closed = p.sidecar.breaker.note(err)
	}
	if closed {
		p.sidecar.slow.clear()
	}
	switch {
	case opened:
		logger.Error(err, "nodesift does not answer", "address", p.args.Address, "onUnavailable", decides)
	case closed:
		logger.Info("nodesift answers again", "address", p.args.Address)
	case err != nil && !silent(err) && !held:
		logger.Error(err, "nodesift has no answer for this pod", "pod", klog.KObj(pod), "onUnavailable", decides)
	case err != nil:
		logger.V(4).Info("nodesift has no answer for this pod", "pod", klog.KObj(pod), "err", err)
	}
}

// ask asks about the pod of the cycle on all nodes. Without an error, a pod can be bound on the answer.
func (c *cycle) ask(ctx context.Context) error {
	p := c.plugin
	if p.sidecar.slow.isAside(templateOf(c.pod)) {
		calls.WithLabelValues(resultSlow).Inc()
		return errSlow
	}
	if !p.sidecar.breaker.allows() {
		calls.WithLabelValues(resultBreaker).Inc()
		return errBreaker
	}
	started := time.Now()
	set, err := c.askInTime(ctx)
	CallDuration.Observe(time.Since(started).Seconds())
	calls.WithLabelValues(resultOf(err)).Inc()
	if err != nil {
		return err
	}
	c.set = set
	p.policy.follow(p.sidecar.client, set, c.pod.Spec.SchedulerName)
	return nil
}

func (c *cycle) askInTime(ctx context.Context) (nodesift.Set, error) {
	p := c.plugin
	ctx, cancel := context.WithTimeout(ctx, p.args.CallTimeout.Duration)
	defer cancel()
	options := []nodesift.FeasibleOption{nodesift.AllowFaults()}
	if c.scores = p.args.Scores == Replace && !p.scoring.apart.Load(); c.scores {
		options = append(options, nodesift.Scored(p.sidecar.maxScored()))
	}
	c.nominated = p.nominations.unshown()
	for _, option := range c.situation() {
		options = append(options, option)
	}
	// By UID where the sidecar has the same version, or else whole.
	c.known = c.pod.UID != "" && c.pod.ResourceVersion != ""
	c.named = nodesift.PodUID(string(c.pod.UID)).At(c.pod.ResourceVersion)
	p.sidecar.tellSetAside()
	var stream uint64
	for {
		if !c.known {
			c.named = nodesift.WholePod(c.pod)
		}
		if p.sidecar.manyOwed(stream) {
			return nodesift.Set{}, p.sidecar.whyHeld()
		}
		required, overdue := p.required()
		changes, sent := p.sidecar.ledger.unsent(stream, maxChangesWithQuestion)
		set, err := p.sidecar.stream.Feasible(ctx, c.named, slices.Concat(options, p.atLeast(required, overdue), changes)...)
		p.sidecar.ledger.settle(sent, nodesift.Changes{Assumed: set.Assumed(), Forgotten: set.Forgotten(), Stream: set.Stream()}, err)
		p.sidecar.rode(len(sent), err)
		p.sidecar.slow.note(ctx, c.pod, len(sent), err)
		if err == nil {
			p.observed.seeVersion(podsKind, p.sidecar.ledger.reached(number(set.Version().PodsResourceVersion)))
		}
		switch {
		case c.known && (errors.Is(err, nodesift.ErrChanged) || errors.Is(err, nodesift.ErrNotFound)):
			c.known = false
		case err != nil:
			p.noteUnanswered(ctx, err, required, overdue)
			return nodesift.Set{}, err
		case !p.observed.answered(set.Version(), required, overdue):
			// It has what it lacked for long, and lacks what is new, which is required of the next answer.
		case p.sidecar.ledger.placed(set.Stream()):
			return set, rejectingFaults(set)
		case stream == set.Stream() && len(sent) == 0:
			return nodesift.Set{}, errPlacement
		case stream == set.Stream() && len(sent) > 0 && allRefused(set.Assumed(), set.Forgotten()):
			return nodesift.Set{}, errPlacement
		default:
			// Another process than the one that has taken in the placements before, or one that has refused some.
			stream = set.Stream()
		}
	}
}

// required are the versions that an answer must have, and whether the sidecar has lacked some for too long.
func (p *Plugin) required() (versions, bool) {
	if p.args.ConsistencyTimeout.Duration == 0 {
		return versions{}, false
	}
	return p.observed.required()
}

// atLeast are the options of a question that requires versions, unless it asks which ones the sidecar has.
func (p *Plugin) atLeast(required versions, overdue bool) []nodesift.FeasibleOption {
	if required.none() || overdue {
		return nil
	}
	return []nodesift.FeasibleOption{
		nodesift.AtLeast(text(required[nodesKind]), text(required[podsKind])), nodesift.Patience(p.args.ConsistencyTimeout.Duration),
	}
}

// noteUnanswered notes whether the sidecar lacks versions or says nothing. Where a question that required some has time left, an end
// of its time is the sidecar's word.
func (p *Plugin) noteUnanswered(ctx context.Context, err error, required versions, overdue bool) {
	switch {
	case !silent(err):
	case ctx.Err() == nil && errors.Is(err, nodesift.ErrDeadline):
		if !required.none() && !overdue {
			p.observed.lacks(required)
		}
	default:
		p.observed.silent()
		p.sidecar.ledger.silent()
	}
}

// allRefused tells whether the sidecar has taken in none of the changes.
func allRefused(assumed []nodesift.AssumeOutcome, forgotten []nodesift.ForgetOutcome) bool {
	return !slices.ContainsFunc(assumed, func(outcome nodesift.AssumeOutcome) bool { return outcome.Err == nil }) &&
		!slices.ContainsFunc(forgotten, func(outcome nodesift.ForgetOutcome) bool { return outcome.Err == nil })
}

// skip are the predicates that are not evaluated. Where parties have agreed on nodes, that is their word, for as long as it stands; answers
// of theirs may not stand as long.
func (c *cycle) skip() []string {
	if c.standing.holds() {
		return append(slices.Clip(c.plugin.args.Skip), partiesPredicate)
	}
	return c.plugin.args.Skip
}

// situation are the options of all requests of a cycle.
func (c *cycle) situation() []nodesift.SituationOption {
	var options []nodesift.SituationOption
	if c.negotiates {
		options = append(options, nodesift.Negotiates())
	}
	if skip := c.skip(); len(skip) > 0 {
		options = append(options, nodesift.Skip(skip...))
	}
	if len(c.nominated) > 0 {
		options = append(options, nodesift.Nominated(c.nominated.placed()...))
	}
	return options
}

// rejectingFaults is an error where a predicate has failed and the policy does not ignore that.
func rejectingFaults(set nodesift.Set) error {
	var texts []string
	for _, fault := range set.Faults() {
		if !fault.Ignored {
			texts = append(texts, fmt.Sprintf("%s: %s: %s", fault.Predicate, fault.Kind, fault.Detail))
		}
	}
	if texts == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errFault, strings.Join(texts, "; "))
}

// lacks tells whether the scheduler has nodes that the answer is not about.
func (c *cycle) lacks(nodes []fwk.NodeInfo) bool {
	if c.set.Cycle() != nodesift.CycleEachNode || c.set.Evaluated() == len(nodes) {
		return false
	}
	return slices.ContainsFunc(nodes, func(node fwk.NodeInfo) bool { return !c.set.Has(node.Node().Name) })
}
