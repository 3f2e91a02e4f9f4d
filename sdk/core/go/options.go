package nodesift

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// FeasibleOption is an option of [Client.Feasible].
type FeasibleOption interface{ feasible(*feasible) }

// SituationOption is an option of [Client.Feasible] and of [Client.Reprieve].
type SituationOption interface {
	FeasibleOption
	ReprieveOption
}

// ConsistencyOption says how new the snapshot must be that a call is answered from. The call waits for it, and fails with
// [ErrDeadline] where it does not come. Several are all required.
type ConsistencyOption interface {
	SituationOption
	NegotiateOption
	HeadroomOption
	require(*nodesiftv1.Consistency)
}

type feasible struct {
	request                 nodesiftv1.FilterRequest
	allowFaults, allowStale bool
	err                     error
	// The table that the request has named, where the answer is to have bitmaps.
	inBitmaps bool
	known     *RowNames
	// The number of the stream of gRPC.
	stream uint64
}

type feasibleFunc func(*feasible)

func (f feasibleFunc) feasible(to *feasible) { f(to) }

type consistencyFunc func(*nodesiftv1.Consistency)

func (f consistencyFunc) require(of *nodesiftv1.Consistency) { f(of) }

func (f consistencyFunc) feasible(to *feasible) {
	if to.request.Consistency == nil {
		to.request.Consistency = &nodesiftv1.Consistency{}
	}
	f(to.request.Consistency)
}

func (f consistencyFunc) negotiate(to *nodesiftv1.NegotiateRequest) {
	if to.Consistency == nil {
		to.Consistency = &nodesiftv1.Consistency{}
	}
	f(to.Consistency)
}

// AtLeast requires a snapshot that has the Node or NodeList, and the Pod or PodList, of these resourceVersions. An empty one
// requires nothing.
func AtLeast(nodes, pods string) ConsistencyOption {
	return consistencyFunc(func(of *nodesiftv1.Consistency) {
		of.MinNodesResourceVersion, of.MinPodsResourceVersion = nodes, pods
	})
}

// AtLeastGeneration requires a generation of the cache, from an earlier answer of the same process.
func AtLeastGeneration(generation uint64) ConsistencyOption {
	return consistencyFunc(func(of *nodesiftv1.Consistency) { of.MinGeneration = proto.Uint64(generation) })
}

// Patience is how long to wait for the snapshot: a second unless given, 30 s at most, and not at all where it is 0.
func Patience(patience time.Duration) ConsistencyOption {
	return consistencyFunc(func(of *nodesiftv1.Consistency) { of.DeadlineMs = proto.Uint32(milliseconds(patience)) })
}

// Reserve evaluates the predicates for reserving a node, a part of those for placing a pod.
func Reserve() FeasibleOption {
	return feasibleFunc(func(to *feasible) { to.request.Phase = nodesiftv1.Phase_PHASE_RESERVE })
}

// OnNodes evaluates these nodes only. Those that the cache does not have are in [Set.Unknown].
func OnNodes(nodes ...string) FeasibleOption {
	return feasibleFunc(func(to *feasible) { to.request.Nodes = &nodesiftv1.NodeSubset{Names: nodes} })
}

// WithoutReasons leaves out why nodes do not fit, which is faster: [Set.Why] then knows nothing, and there is no message.
func WithoutReasons() FeasibleOption {
	return feasibleFunc(func(to *feasible) { to.request.Detail = nodesiftv1.Detail_DETAIL_FEASIBLE })
}

// Limit evaluates nodes until this many fit, from the row start on; see [Set.NextStart].
func Limit(nodes, start uint32) FeasibleOption {
	return feasibleFunc(func(to *feasible) { to.request.Limit, to.request.Start = nodes, start })
}

// WithOverlay answers as if the cluster were another one.
func WithOverlay(overlay Overlay) FeasibleOption {
	return feasibleFunc(func(to *feasible) {
		message, err := overlay.encode()
		to.request.Overlay, to.err = message, errors.Join(to.err, err)
	})
}

type situation struct {
	skip       []string
	nominated  []PlacedPod
	negotiates bool
}

func (s situation) encode() ([]*nodesiftv1.PlacedPod, error) {
	var encoded []*nodesiftv1.PlacedPod
	for _, placed := range s.nominated {
		pod, err := placed.Pod.encode()
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, &nodesiftv1.PlacedPod{Pod: pod, Node: placed.Node})
	}
	return encoded, nil
}

func (s situation) feasible(to *feasible) {
	encoded, err := s.encode()
	to.request.Skip = append(to.request.Skip, s.skip...)
	to.request.NominatedPods = append(to.request.NominatedPods, encoded...)
	to.request.Negotiates = to.request.Negotiates || s.negotiates
	to.err = errors.Join(to.err, err)
}

func (s situation) reprieve(to *reprieve) {
	encoded, err := s.encode()
	to.request.Skip = append(to.request.Skip, s.skip...)
	to.request.NominatedPods = append(to.request.NominatedPods, encoded...)
	to.request.Negotiates = to.request.Negotiates || s.negotiates
	to.err = errors.Join(to.err, err)
}

// Skip leaves out predicates of the policy, which the core evaluates itself. A name that the policy does not have is refused
// with [ErrInvalid].
func Skip(predicates ...string) SituationOption { return situation{skip: predicates} }

// Nominated are pods that count as nominated to nodes, in place of what the cache says of the same pods. One with an empty node
// is not nominated.
func Nominated(pods ...PlacedPod) SituationOption { return situation{nominated: pods} }

// Negotiates says that the core has external parties agree and allocate before it binds a pod, by [Client.Negotiation] and
// [Client.Selection]. Nodes of which a party has said nothing fit then; for other cores the pod waits for the party. [Set.Parties] names
// those that decide.
func Negotiates() SituationOption { return situation{negotiates: true} }

// AssumeFirst assumes a pod on a node before the evaluation, in one step with it. [Set.Assumed] tells what became of it.
func AssumeFirst(pod Pod, node string, options ...AssumeOption) ChangeOption {
	request, err := assumeRequest(pod, node, options)
	return assumeFirst{request, err}
}

// ForgetFirst ends an assumption before the evaluation, and before those of [AssumeFirst]. [Set.Forgotten] tells what became of
// it.
func ForgetFirst(pod Pod) ChangeOption {
	encoded, err := pod.encode()
	return forgetFirst{&nodesiftv1.ForgetRequest{Pod: encoded}, err}
}

// AllowFaults makes an answer in which a predicate has failed no error. [Set.Faults] has the faults all the same.
func AllowFaults() FeasibleOption { return feasibleFunc(func(to *feasible) { to.allowFaults = true }) }

// AllowStale makes a stale answer no error. [Version.Stale] says so all the same.
func AllowStale() FeasibleOption { return feasibleFunc(func(to *feasible) { to.allowStale = true }) }

// waits is the time for which a call may wait for its snapshot beside its own time.
func waits(of *nodesiftv1.Consistency) time.Duration {
	return time.Duration(of.GetDeadlineMs()) * time.Millisecond
}

// milliseconds rounds up, so that a short time is not none.
func milliseconds(duration time.Duration) uint32 {
	rounded := (max(duration, 0) + time.Millisecond - 1) / time.Millisecond
	return uint32(min(rounded, time.Duration(^uint32(0))))
}
