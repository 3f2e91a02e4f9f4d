package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// outage has the pods that were placed while the sidecar gave no answers. Once it gives one, they are named in the log, and judged beside
// the cycles, each on its node beside all that is there by then.
type outage struct {
	mutex sync.Mutex
	// How many were placed since the last answer, and the first [maxJudged] of them.
	placed int
	pods   []placement
	// Those of earlier outages that are not judged yet, and whether others are being judged.
	left    []placement
	judging bool
	// Whether somebody waits beside the cycles for the sidecar to answer.
	awaiting bool
}

// placement is a pod that was placed by a profile.
type placement struct {
	plugin *Plugin
	pod    *v1.Pod
	node   string
}

func (of placement) String() string { return fmt.Sprintf("%s on %s", klog.KObj(of.pod), of.node) }

func (o *outage) note(of placement) {
	unansweredPlacements.Inc()
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.placed++
	if len(o.pods) < maxJudged {
		o.pods = append(o.pods, of)
	}
}

// drop forgets a pod that is not placed after all.
func (o *outage) drop(uid types.UID) {
	same := func(of placement) bool { return of.pod.UID == uid }
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.left = slices.DeleteFunc(o.left, same)
	before := len(o.pods)
	o.pods = slices.DeleteFunc(o.pods, same)
	o.placed -= before - len(o.pods)
}

// take ends the outage, if there is one, and is those to judge, unless others are being judged.
func (o *outage) take() (placed int, first []string, toJudge []placement) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.judging || len(o.pods)+len(o.left) == 0 {
		return 0, nil, nil
	}
	for _, of := range o.pods[:min(len(o.pods), maxNamed)] {
		first = append(first, of.String())
	}
	placed, toJudge = o.placed, slices.Concat(o.left, o.pods)
	o.placed, o.pods, o.left, o.judging = 0, nil, nil, true
	return placed, first, toJudge
}

// judged keeps those that were not judged for the next answer.
func (o *outage) judged(left []placement) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.left, o.judging = left[:min(len(left), maxJudged)], false
}

// judgePlaced is called with each answer, of a cycle or beside them. It names the pods that were placed since the one before, and has them
// judged.
func (s *sidecar) judgePlaced(logger klog.Logger) {
	placed, first, toJudge := s.outage.take()
	if placed > 0 {
		logger.Info("pods were placed while nodesift gave no answers", "placed", placed, "first", first)
	}
	if len(toJudge) > 0 {
		go func() {
			s.outage.judged(judge(logger, toJudge))
			s.awaitAnswers()
		}()
	}
}

// judge judges pods until the sidecar gives no answers again, and is what is left then, without the pod that had none: it can be at fault.
func judge(logger klog.Logger, pods []placement) (left []placement) {
	judged, misfits := 0, 0
	var first []string
	for at, of := range pods {
		why, err := of.judge()
		if silent(err) || errors.Is(err, nodesift.ErrStale) {
			left = pods[at+1:]
			break
		}
		if err != nil {
			// The pod or the node has gone, or a predicate has failed.
			continue
		}
		if why != "" && !of.isThere() {
			// An event would be about a pod that has gone, or about another of its name.
			continue
		}
		judged++
		if why == "" {
			judgedPlacements.WithLabelValues(verdictFits).Inc()
			continue
		}
		misfits++
		judgedPlacements.WithLabelValues(verdictMisfit).Inc()
		if len(first) < maxNamed {
			first = append(first, fmt.Sprintf("%s (%s)", of, why))
		}
		of.plugin.handle.EventRecorder().Eventf(of.pod, nil, v1.EventTypeWarning, "NodesiftMisfit", "NodesiftMisfit",
			"the pod was placed on %s while nodesift gave no answers, and does not fit: %s", of.node, why)
	}
	logger.Info("pods that were placed while nodesift gave no answers were judged",
		"pods", len(pods)-len(left), "judged", judged, "misfits", misfits, "first", first)
	return left
}

// judge asks about a pod on its node, without itself, and says why it does not fit.
func (of placement) judge() (why string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), of.plugin.sidecar.judgeTimeout)
	defer cancel()
	named := nodesift.PodUID(string(of.pod.UID))
	without := nodesift.WithOverlay(nodesift.Overlay{RemovedPods: []nodesift.Pod{named}})
	set, err := of.plugin.sidecar.client.Feasible(ctx, named, nodesift.OnNodes(of.node), without,
		nodesift.Skip(of.plugin.args.Skip...), nodesift.AllowFaults())
	if err == nil {
		err = rejectingFaults(set)
	}
	if err != nil || set.Fits(of.node) {
		return "", err
	}
	predicate, _, reasons := set.Why(of.node)
	if predicate == "" {
		return "", errNodes
	}
	why = fmt.Sprintf("%s: %s", predicate, strings.Join(reasons, ", "))
	return strings.ToValidUTF8(why[:min(len(why), maxWhy)], ""), nil
}

// isThere tells whether a pod is still the one that was placed, and on its node or on the way there, as far as informers have shown.
func (of placement) isThere() bool {
	factory := of.plugin.handle.SharedInformerFactory()
	if factory == nil {
		return true
	}
	// First: what ends a placement is shown before it ends.
	placed := of.plugin.sidecar.ledger.has(of.pod.UID, of.node)
	shown, err := factory.Core().V1().Pods().Lister().Pods(of.pod.Namespace).Get(of.pod.Name)
	switch {
	case err != nil || shown.UID != of.pod.UID:
		return false
	case shown.Spec.NodeName == "":
		return placed
	default:
		return shown.Spec.NodeName == of.node
	}
}
