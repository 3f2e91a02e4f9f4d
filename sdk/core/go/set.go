package nodesift

import (
	"iter"
	"time"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Code is kube-scheduler's code of a failure; the numbers are those of its framework.
type Code uint8

const (
	// CodeUnknown is a code that this client does not know.
	CodeUnknown Code = 0
	// CodeError is a failure of the evaluation.
	CodeError Code = 1
	// CodeUnschedulable is a rejection that preemption may resolve.
	CodeUnschedulable Code = 2
	// CodeUnresolvable is kube-scheduler's UnschedulableAndUnresolvable.
	CodeUnresolvable Code = 3
)

var codeNames = [...]string{"Unknown", "Error", "Unschedulable", "UnschedulableAndUnresolvable"}

func (c Code) String() string { return codeNames[min(int(c), len(codeNames)-1)] }

// codeOf reads the number, and the name in an answer of a sidecar that has no number.
func codeOf(failure *nodesiftv1.Failure) Code {
	if code := failure.GetFailureCode(); code > 0 && int(code) < len(codeNames) {
		return Code(code)
	}
	for code, known := range codeNames {
		if known == failure.GetCode() {
			return Code(code)
		}
	}
	return CodeUnknown
}

// Failure is one way in which nodes do not fit.
type Failure struct {
	// The first predicate that rejects the nodes, in policy order.
	Predicate string
	Code      Code
	// Every reason that applies, sorted. Shared: not to be changed.
	Reasons []string
	// The number of nodes.
	Count int
}

// Version is what an answer was computed from.
type Version struct {
	// Of the cache's snapshot, in this process of the sidecar.
	Generation uint64
	// Of the policy.
	PolicyGeneration uint64
	// Of the newest Node and the newest Pod of the snapshot; empty where the source has none.
	NodesResourceVersion, PodsResourceVersion string
	// Since the API server last confirmed the kind that it has confirmed the longest ago; 0 where the source is files.
	Staleness time.Duration
	// Whether that is longer than the sidecar is configured to allow.
	Stale bool
}

// Cycle is how far kube-scheduler's scheduling cycle gets with a pod; the numbers are those of the proto.
type Cycle int32

const (
	// CycleEachNode runs filters on every node.
	CycleEachNode Cycle = 1
	// CycleNamedNodes runs filters only on nodes that PreFilter selects.
	CycleNamedNodes Cycle = 2
	// CycleRejected ends at PreFilter.
	CycleRejected Cycle = 3
	// CycleAborted ends with an error: an object is missing or invalid.
	CycleAborted Cycle = 4
)

// Set is the answer about one pod. It never changes, is cheap to copy, and can be shared; it reads its bitmaps with the table
// that they came with, whatever the [Index] has become. No node fits the zero Set.
type Set struct{ answer *answer }

type answer struct {
	names     *RowNames
	ownTable  bool
	fits      []byte
	feasible  int
	evaluated int
	failures  []Failure
	// Per row 1 + the place of its failure, or 0. Empty without failures.
	why []uint32
	// Per row its total, or noTotal. Empty without scores.
	totals    []int64
	scores    Scores
	pod       string
	message   string
	faults    []Fault
	unknown   []string
	version   Version
	cycle     Cycle
	named     []string
	release   []string
	parties   []string
	nextStart uint32
	assumed   []AssumeOutcome
	forgotten []ForgetOutcome
	stream    uint64
}

var nothing answer

func (s Set) get() *answer {
	if s.answer == nil {
		return &nothing
	}
	return s.answer
}

// Fits tells whether the pod fits a node. No pod fits a node that the snapshot does not have, or that was not evaluated.
func (s Set) Fits(node string) bool {
	a := s.get()
	row, ok := a.names.Row(node)
	return ok && bit(a.fits, row)
}

// Why tells why the pod does not fit a node. It knows nothing of nodes that fit, that were not evaluated, or that the snapshot
// does not have, and nothing at all after [WithoutReasons].
func (s Set) Why(node string) (predicate string, code Code, reasons []string) {
	a := s.get()
	row, ok := a.names.Row(node)
	if !ok || int(row) >= len(a.why) || a.why[row] == 0 {
		return "", CodeUnknown, nil
	}
	failure := &a.failures[a.why[row]-1]
	return failure.Predicate, failure.Code, failure.Reasons
}

// Has tells whether the snapshot has a node. An answer about an overlay that adds nodes has only those nodes that it names: with
// [WithoutReasons], those that fit.
func (s Set) Has(node string) bool {
	_, ok := s.get().names.Row(node)
	return ok
}

// Feasible returns the names of the nodes that fit, in the order of rows, which means nothing.
func (s Set) Feasible() iter.Seq[string] { return s.get().names.Decode(s.get().fits) }

// Len is the number of nodes that fit.
func (s Set) Len() int { return s.get().feasible }

// Evaluated is the number of nodes that were evaluated.
func (s Set) Evaluated() int { return s.get().evaluated }

// Failures are the ways in which nodes do not fit, in policy order. Shared: not to be changed.
func (s Set) Failures() []Failure { return s.get().failures }

// Pod is namespace/name of the pod.
func (s Set) Pod() string { return s.get().pod }

// Message is kube-scheduler's, where no node fits: 0/3 nodes are available: …
func (s Set) Message() string { return s.get().message }

// Faults are the predicates that could not be evaluated. Shared: not to be changed.
func (s Set) Faults() []Fault { return s.get().faults }

// Unknown are the nodes of [OnNodes] that the cache does not have, sorted. Shared: not to be changed.
func (s Set) Unknown() []string { return s.get().unknown }

// Version is what the answer was computed from.
func (s Set) Version() Version { return s.get().version }

// Cycle is how far kube-scheduler's scheduling cycle gets.
func (s Set) Cycle() Cycle { return s.get().cycle }

// NamedNodes are the nodes that PreFilter selects, of the cache, sorted. Only with [CycleNamedNodes]. Shared:
// not to be changed.
func (s Set) NamedNodes() []string { return s.get().named }

// ClaimsToRelease are the allocated claims, as namespace/name, that keep the pod from some node and that nobody else uses; only where no
// node fits. As in kube-scheduler's PostFilter, the pod may fit once the status.allocation of one is cleared. Shared: not to be changed.
func (s Set) ClaimsToRelease() []string { return s.get().release }

// Parties are the external parties that decide about the pod, by their names in the policy and in its order: all of them have to
// allocate before it is bound.
func (s Set) Parties() []string { return s.get().parties }

// Epoch identifies the process of the sidecar that has answered: generations of different epochs cannot be compared, and what
// was assumed in one is unknown in another. 0 after [WithOverlay] with nodes.
func (s Set) Epoch() uint64 {
	if s.get().ownTable {
		return 0
	}
	return s.get().names.Known().GetEpoch()
}

// Assumed is what became of [AssumeFirst], in its order. Shared: not to be changed.
func (s Set) Assumed() []AssumeOutcome { return s.get().assumed }

// Forgotten is what became of [ForgetFirst], in its order. Shared: not to be changed.
func (s Set) Forgotten() []ForgetOutcome { return s.get().forgotten }

// Stream is the number of the stream of gRPC on which a [Stream] was answered, and 0 otherwise. Answers with the same number are
// of one process of the sidecar, and saw all changes that were sent on that stream before them.
func (s Set) Stream() uint64 { return s.get().stream }

// NextStart is the start of the next call with [Limit].
func (s Set) NextStart() uint32 { return s.get().nextStart }
