package yunikorn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// question identifies an answer about all nodes.
type question struct {
	uid      types.UID
	allocate bool
}

// kept is an answer about one pod and all nodes.
type kept struct {
	set nodesift.Set
	// The reasons of each failure as an error, by the first reason, which all nodes with that failure share.
	why map[*string]error
	// Why there is no answer about this pod; all nodes share it.
	err error

	// The pod's resourceVersion, and that of the newest Node of the snapshot.
	podVersion, nodesVersion string
	generation               uint64
	asked                    time.Time
	names                    *nodesift.RowNames
}

// judge gives the verdict about a pod on a node: why is nil where it fits. The error says that there is no verdict.
func (s *sidecar) judge(pod *v1.Pod, node *v1.Node, allocate bool) (plugin string, why, err error) {
	switch {
	case pod == nil || pod.UID == "":
		return "", nil, errNoPod
	case node == nil:
		return "", nil, errNoNode
	}
	of := s.lookUp(pod, node, allocate)
	if of == nil {
		if s.isAside(pod) {
			return s.meanwhile(pod, node, allocate)
		}
		if of, err = s.ask(pod, node, allocate); err != nil {
			return "", nil, err
		}
	}
	return of.verdict(node.Name)
}

// lookUp finds an answer that may be used for the node.
func (s *sidecar) lookUp(pod *v1.Pod, node *v1.Node, allocate bool) *kept {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	of := s.kept[question{pod.UID, allocate}]
	if of == nil || of.podVersion != pod.ResourceVersion || time.Since(of.asked) > s.options.MaxAge {
		return nil
	}
	if of.err != nil {
		return of
	}
	if of.generation < s.generation || of.names != s.client.Index().Names() || newer(node.ResourceVersion, of.nodesVersion) {
		return nil
	}
	s.noteVerdict(pod.UID, node.Name)
	return of
}

func (k *kept) verdict(node string) (plugin string, why, err error) {
	if k.err != nil {
		return "", nil, k.err
	}
	if k.set.Fits(node) {
		return "", nil, nil
	}
	plugin, _, reasons := k.set.Why(node)
	switch {
	case plugin == "":
		return "", nil, errNoNode
	case len(reasons) == 0:
		return plugin, errNoReason, nil
	default:
		return plugin, k.why[&reasons[0]], nil
	}
}

// ask asks about the pod and all nodes, on a snapshot that has the pod and the node as the shim has them. All of it, waiting for
// placements and for the connection included, has the time of one question.
func (s *sidecar) ask(pod *v1.Pod, node *v1.Node, allocate bool) (*kept, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	required := versions{node.ResourceVersion, pod.ResourceVersion}
	// The second time is for a sidecar that has been restarted: its first answer says so, and knows of no placement.
	for range 2 {
		if err := s.ready(ctx); err != nil {
			s.unready(ctx, required, err)
			return nil, err
		}
		of, err := s.answer(ctx, pod, required, allocate)
		if err != nil {
			s.failed(ctx, pod, required, err)
			return nil, err
		}
		if of != nil {
			s.answered(pod, node.Name)
			return of, nil
		}
	}
	err := fmt.Errorf("%w: it was restarted twice", nodesift.ErrUnavailable)
	s.unready(ctx, required, err)
	return nil, err
}

// answer is nil where another process of the sidecar than before has answered, which has to be told the placements first.
func (s *sidecar) answer(ctx context.Context, pod *v1.Pod, required versions, allocate bool) (*kept, error) {
	s.asked.Add(1)
	s.mutex.Lock()
	local := s.local
	s.mutex.Unlock()
	of := &kept{podVersion: pod.ResourceVersion, asked: time.Now()}
	// The operator has chosen what becomes of a predicate that fails: its failure policy.
	options := []nodesift.FeasibleOption{nodesift.AllowFaults(), nodesift.Patience(s.options.Timeout / patienceShare)}
	if !allocate {
		options = append(options, nodesift.Reserve())
	}
	var err error
	of.set, err = s.client.Feasible(ctx, nodesift.PodOf(pod), append(options, nodesift.AtLeast(required.node, required.pod))...)
	if errors.Is(err, nodesift.ErrNotFound) {
		// Deleted since, or not to be seen by the sidecar: it is judged as the shim has it.
		of.set, err = s.client.Feasible(ctx, nodesift.WholePod(pod), append(options, nodesift.AtLeast(required.node, ""))...)
	}
	switch {
	case errors.Is(err, nodesift.ErrNotFound) || errors.Is(err, nodesift.ErrInvalid):
		of.err = fmt.Errorf("%w: %w", errNoPod, err)
		s.keep(question{pod.UID, allocate}, of, local)
		return of, nil
	case err != nil:
		return nil, err
	}
	s.policy.follow(s.client, of.set)
	if undecided(of.set.Faults()) {
		of.err = errUndecided
		s.keep(question{pod.UID, allocate}, of, local)
		return of, nil
	}
	version := of.set.Version()
	of.generation, of.nodesVersion = version.Generation, version.NodesResourceVersion
	of.names = s.client.Index().Names()
	of.why = make(map[*string]error, len(of.set.Failures()))
	for _, failure := range of.set.Failures() {
		if len(failure.Reasons) > 0 {
			of.why[&failure.Reasons[0]] = errors.New(joined(failure.Reasons))
		}
	}
	if s.restarted(of.set.Epoch()) {
		return nil, nil
	}
	s.keep(question{pod.UID, allocate}, of, local)
	return of, nil
}

// joined are reasons as kube-scheduler joins them.
func joined(reasons []string) string { return strings.Join(reasons, ", ") }

// undecided tells whether the pod needs what no predicate of the policy evaluates, such as resource claims, and the policy does
// not say that this is to be ignored. The shim's own plugins may know about it.
func undecided(faults []nodesift.Fault) bool {
	return slices.ContainsFunc(faults, func(fault nodesift.Fault) bool { return fault.Kind == "Unsupported" && !fault.Ignored })
}

// unevaluated tells whether a node is rejected only because no predicate evaluates what the pod needs. All other reasons come before that.
func unevaluated(faults []nodesift.Fault, predicate string) bool {
	return slices.ContainsFunc(faults, func(fault nodesift.Fault) bool {
		return fault.Kind == "Unsupported" && fault.Predicate == predicate
	})
}

// keep stores an answer, unless the shim has placed a pod since it was asked for.
func (s *sidecar) keep(about question, of *kept, local uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.generation = max(s.generation, of.generation)
	if local != s.local {
		return
	}
	if len(s.kept) >= maxKept {
		clear(s.kept)
	}
	s.kept[about] = of
}

// restarted notes which process has answered. It tells whether that is another one than before and has to be told where the
// shim counts pods.
func (s *sidecar) restarted(epoch uint64) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if epoch == s.epoch {
		return false
	}
	s.epoch, s.generation = epoch, 0
	clear(s.kept)
	clear(s.late.answers)
	for uid := range s.placed {
		s.post(uid)
	}
	s.deliver()
	return len(s.placed) > 0
}

// newer compares resourceVersions, which are decimal numbers. Where one is not known it is not newer.
func newer(version, than string) bool {
	if version == "" || than == "" {
		return false
	}
	if len(version) != len(than) {
		return len(version) > len(than)
	}
	return version > than
}
