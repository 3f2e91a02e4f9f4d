package plugin

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// onlyScoring are the Score plugins of kube-scheduler that a sidecar can answer for and that filter nothing. Others of [replaceable] score
// too. DynamicResources and VolumeBinding are not among them: they score what their own Filter has found, in the profile.
var onlyScoring = []string{names.NodeResourcesBalancedAllocation, names.ImageLocality}

// scoring is what cycles have learned about scores.
type scoring struct {
	// Whether the nodes of the last PreScore were others than those that the sidecar had found to fit, so that scores that come with
	// the answer are of no use.
	apart atomic.Bool

	mutex sync.Mutex
	// The scorers of the last answer with scores, whether there was one, and the policy that they are of.
	scorers []nodesift.ScorerOutcome
	known   bool
	version policyVersion
}

// weights are those of the scorers of the policy, in its order. Before an answer had them, they are those of kube-scheduler's default profile.
func (s *scoring) weights() []config.Plugin {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.known {
		return defaultWeights()
	}
	all := make([]config.Plugin, 0, len(s.scorers))
	for _, scorer := range s.scorers {
		all = append(all, config.Plugin{Name: scorer.Name, Weight: int32(scorer.Weight)})
	}
	return all
}

// policy tells which scorers the policy has, and whether that is known.
func (s *scoring) policy() ([]nodesift.ScorerOutcome, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.scorers, s.known
}

// of tells whether the scorers of a policy are known.
func (s *scoring) of(version policyVersion) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.known && s.version == version
}

// note notes the scorers of the policy, and logs what an operator does not expect of them, once for each policy.
func (s *scoring) note(ctx context.Context, version policyVersion, scorers []nodesift.ScorerOutcome, profile profile) {
	same := func(a, b nodesift.ScorerOutcome) bool { return a.Name == b.Name && a.Weight == b.Weight }
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.version = version
	if s.known && slices.EqualFunc(s.scorers, scorers, same) {
		return
	}
	s.scorers, s.known = scorers, true
	logger := klog.FromContext(ctx)
	if len(scorers) == 0 {
		logger.Error(nil, "the policy of nodesift has no scorers: pods are placed by the scores of the profile's other plugins alone")
	}
	for _, scorer := range scorers {
		if profile.scores(scorer.Name) > 0 {
			logger.Error(nil, "a scorer counts twice: the policy of nodesift names it, and the profile has enabled the plugin at score", "scorer", scorer.Name)
		}
	}
}

// maxScored is the number of nodes that the sidecar gives scores of, of one pod.
func (s *sidecar) maxScored() uint32 {
	if known := s.client.Supported(); known != nil && known.Limits["scoredNodes"] > 0 {
		return uint32(min(known.Limits["scoredNodes"], math.MaxInt32))
	}
	return leastScored
}

// weighted is an error where the two parts of a total do not add up to it.
func (s *scoring) weighted(profile profile) error {
	ones, hundreds := profile.scores(Name), profile.scores(HundredsName)
	if ones > 0 && hundreds == hundred*ones {
		return nil
	}
	return fmt.Errorf("with scores: %s the profile enables %s and %s at score, the second with a weight of %d times that of the first: it is %d, and that of the first %d",
		Replace, Name, HundredsName, hundred, hundreds, ones)
}

// scores is the weight of a plugin that the profile has enabled at score, and 0 of any other.
func (p profile) scores(name string) int64 {
	for _, plugin := range p.score {
		if plugin.Name == name {
			return int64(plugin.Weight)
		}
	}
	return 0
}

// defaultWeights are those of kube-scheduler's own default profile.
var defaultWeights = sync.OnceValue(func() []config.Plugin {
	defaults, err := latest.Default()
	if err != nil {
		return nil
	}
	var all []config.Plugin
	for _, plugin := range defaults.Profiles[0].Plugins.MultiPoint.Enabled {
		if plugin.Weight > 0 {
			all = append(all, plugin)
		}
	}
	return all
})

// scoreInTree has kube-scheduler's own plugins score nodes, with the weights of the policy, as the framework does. Scorers that
// kube-scheduler does not have add nothing, and what the profile has enabled adds its scores there.
func (p *Plugin) scoreInTree(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*scored, error) {
	totals := make(map[string]int64, len(nodes))
	for _, of := range p.scoring.weights() {
		plugin := p.inTree.scorer(of.Name)
		if plugin == nil || p.profile().scores(of.Name) > 0 {
			continue
		}
		scores, status := scoresBy(ctx, p.handle.Parallelizer(), plugin, state, pod, nodes)
		if !status.IsSuccess() {
			return nil, fmt.Errorf("running %q score plugin: %w", of.Name, status.AsError())
		}
		for _, score := range scores {
			totals[score.Name] += score.Score * int64(of.Weight)
		}
	}
	greatest := int64(0)
	for _, node := range nodes {
		greatest = max(greatest, totals[node.Node().Name])
	}
	return &scored{func(node string) (int64, bool) { return totals[node], true }, greatest}, nil
}

// scoresBy are the normalized scores by one plugin; none where it has nothing to say about the pod.
func scoresBy(
	ctx context.Context, parallel fwk.Parallelizer, plugin fwk.ScorePlugin, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (fwk.NodeScoreList, *fwk.Status) {
	if first, ok := plugin.(fwk.PreScorePlugin); ok {
		if status := first.PreScore(ctx, state, pod, nodes); status.IsSkip() {
			return nil, nil
		} else if !status.IsSuccess() {
			return nil, status
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed atomic.Pointer[fwk.Status]
	scores := make(fwk.NodeScoreList, len(nodes))
	parallel.Until(ctx, len(nodes), func(at int) {
		score, status := plugin.Score(ctx, state, pod, nodes[at])
		if !status.IsSuccess() {
			failed.Store(status)
			cancel()
			return
		}
		scores[at] = fwk.NodeScore{Name: nodes[at].Node().Name, Score: score}
	}, Name)
	if status := failed.Load(); status != nil {
		return nil, status
	}
	if err := ctx.Err(); err != nil {
		return nil, fwk.AsStatus(err)
	}
	if extensions := plugin.ScoreExtensions(); extensions != nil {
		if status := extensions.NormalizeScore(ctx, state, pod, scores); !status.IsSuccess() {
			return nil, status
		}
	}
	return scores, nil
}

// scorer is the plugin of a name that scores in the place of the sidecar, or nil.
func (t *inTree) scorer(name string) fwk.ScorePlugin {
	if t == nil {
		return nil
	}
	if scorer, ok := t.named(name).(fwk.ScorePlugin); ok && name != names.VolumeBinding {
		return scorer
	}
	for _, plugin := range t.scoring {
		if scorer, ok := plugin.(fwk.ScorePlugin); ok && plugin.Name() == name {
			return scorer
		}
	}
	return nil
}

// signScores signs a pod as the Score plugins of kube-scheduler do that the sidecar answers for. What a scorer reads that
// kube-scheduler does not have, nobody knows.
func (p *Plugin) signScores(ctx context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	scorers, known := p.scoring.policy()
	if !known {
		return nil, fwk.NewStatus(fwk.Unschedulable, "the scorers of nodesift are not known yet")
	}
	var all []fwk.SignFragment
	for _, scorer := range scorers {
		signer, ok := p.inTree.scorer(scorer.Name).(fwk.SignPlugin)
		if !ok {
			return nil, fwk.NewStatus(fwk.Unschedulable, "pods that "+scorer.Name+" scores are not signable")
		}
		fragments, status := signer.SignPod(ctx, pod)
		if !status.IsSuccess() {
			return nil, status
		}
		all = append(all, fragments...)
	}
	return all, nil
}
