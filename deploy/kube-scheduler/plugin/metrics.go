package plugin

import (
	"errors"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

const (
	resultOK          = "ok"
	resultUnavailable = "unavailable"
	resultDeadline    = "deadline"
	resultStale       = "stale"
	resultFault       = "fault"
	resultPlacement   = "placement"
	resultBreaker     = "breaker"
	resultSlow        = "slow"
	resultOther       = "other"

	resultAgreed    = "agreed"
	resultRefused   = "refused"
	resultAllocated = "allocated"
	resultElsewhere = "elsewhere"

	scoresOfAnswer = "answer"
	scoresOfOwn    = "own_call"
	scoresInTree   = "in_tree"
	scoresNone     = "none"
	scoresFailed   = "failed"

	verdictFits   = "fits"
	verdictMisfit = "misfit"
)

var (
	calls = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "calls_total", StabilityLevel: metrics.ALPHA,
		Help: "Scheduling cycles by what the sidecar has answered.",
	}, []string{"result"})
	// CallDuration is the histogram scheduler_nodesift_call_duration_seconds, for who measures in this process.
	CallDuration = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: "scheduler_nodesift", Name: "call_duration_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time of the question about all nodes in a scheduling cycle.",
		Buckets: metrics.ExponentialBuckets(0.00005, 2, 14),
	})
	fallbacks = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "in_tree_cycles_total", StabilityLevel: metrics.ALPHA,
		Help: "Scheduling cycles in which the filters of kube-scheduler have decided in the place of the sidecar.",
	})
	scorings = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "scorings_total", StabilityLevel: metrics.ALPHA,
		Help: "Scheduling cycles in which nodes were scored, by where the scores are from.",
	}, []string{"result"})
	unansweredPlacements = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "unanswered_placements_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods that the filters of kube-scheduler have placed while the sidecar gave no answers.",
	})
	judgedPlacements = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "judged_placements_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods that were placed while the sidecar gave no answers, by what it has said since of them and their nodes.",
	}, []string{"verdict"})
	whatIfs = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "what_if_calls_total", StabilityLevel: metrics.ALPHA,
		Help: "Calls about one node with pods hypothetically added or removed.",
	})
	negotiationEnds = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "negotiations_total", StabilityLevel: metrics.ALPHA,
		Help: "Negotiations with external parties about nodes for a pod, by their ends.",
	}, []string{"result"})
	allocationEnds = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "allocations_total", StabilityLevel: metrics.ALPHA,
		Help: "Allocations of external parties for pods with a reserved node, by their ends.",
	}, []string{"result"})
	dryRunCalls = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: "scheduler_nodesift", Name: "dry_run_calls_total", StabilityLevel: metrics.ALPHA,
		Help: "Calls about the victims of preemption on many nodes.",
	})
)

// registerMetrics registers them in the registry of the scheduler.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(calls, CallDuration, fallbacks, scorings, unansweredPlacements, judgedPlacements, whatIfs, dryRunCalls,
		negotiationEnds, allocationEnds)
})

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultOK
	case errors.Is(err, nodesift.ErrDeadline):
		return resultDeadline
	case errors.Is(err, nodesift.ErrUnavailable):
		return resultUnavailable
	case errors.Is(err, nodesift.ErrStale):
		return resultStale
	case errors.Is(err, errFault):
		return resultFault
	case errors.Is(err, errPlacement):
		return resultPlacement
	default:
		return resultOther
	}
}
