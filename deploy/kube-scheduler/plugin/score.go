package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// A total is a sum over all scorers, and each plugin may say 0 to 100 of a node. So it is told in two parts, by two plugins: this one says
// what is left of hundreds, and [Hundreds], with 100 times its weight, how many there are. kube-scheduler adds both up, to the sidecar's
// total of each node, not to a rank or a rounded share of it; and the weights of scorers, own ones among them, are those of the policy.
// A plugin for each scorer would need a name in the program for each one that a policy can have, and a second list of weights.
var (
	_ fwk.PreScorePlugin = &Plugin{}
	_ fwk.ScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin    = &Hundreds{}
	_ fwk.SignPlugin     = &Hundreds{}

	_ fwk.ScoreExtensions = part(ones)
)

const (
	// HundredsName is the name of [Hundreds] in a KubeSchedulerConfiguration.
	HundredsName = "NodesiftHundreds"

	scoresKey = Name + "/scores"
	// The most that the two can tell: 100 hundreds and 99.
	maxTold = 100*hundred + hundred - 1
	hundred = 100
)

// scored are the totals of a cycle.
type scored struct {
	total func(node string) (int64, bool)
	// The greatest one; where it is greater than [maxTold], all are told in proportion.
	greatest int64
}

// Clone shares the totals, which do not change.
func (s *scored) Clone() fwk.StateData { return s }

// told is the total of a node as the two plugins tell it.
func (s *scored) told(node string) (int64, error) {
	total, ok := s.total(node)
	if !ok {
		return 0, fmt.Errorf("%s was not among the nodes of PreScore", node)
	}
	if s.greatest > maxTold {
		// The order stays, but for totals that are closer to each other than the greatest one is times greater.
		return total * maxTold / s.greatest, nil
	}
	return total, nil
}

// PreScore has the totals of the nodes that are left: from the answer to PreFilter where these are the nodes that the sidecar has scored, and
// otherwise, as where kube-scheduler takes a sample or another filter has rejected some, from a question about these alone. A total is
// among the nodes that fit, so it says nothing beside other ones. Where the sidecar has none for these nodes, kube-scheduler's own plugins
// score them.
func (p *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if p.args.Scores != Replace {
		return fwk.NewStatus(fwk.Skip)
	}
	if err := p.scoring.weighted(p.profile()); err != nil {
		return fwk.AsStatus(err)
	}
	s, err := stateOf(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	totals, result, err := s.score(ctx, nodes)
	if result == scoresInTree {
		if err != nil {
			klog.FromContext(ctx).V(4).Info("nodesift has no scores for this pod", "pod", klog.KObj(pod), "err", err)
		}
		totals, err = p.scoreInTree(ctx, state, pod, nodes)
	}
	if err != nil {
		scorings.WithLabelValues(scoresFailed).Inc()
		return fwk.AsStatus(err)
	}
	scorings.WithLabelValues(result).Inc()
	if totals == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(scoresKey, totals)
	return nil
}

// score has the totals of the sidecar, and where they are from; none where the policy has no scorer. An error other than with
// [scoresInTree] ends the pod's cycle.
func (s *cycleState) score(ctx context.Context, nodes []fwk.NodeInfo) (*scored, string, error) {
	scoring := &s.plugin.scoring
	if s.inTree != nil {
		return nil, scoresInTree, nil
	}
	set, result := s.set, scoresOfAnswer
	if scorers := set.Scores().Scorers; len(scorers) > 0 {
		scoring.note(ctx, versionOf(set), scorers, s.plugin.profile())
	}
	apart := len(nodes) > int(s.plugin.sidecar.maxScored()) || !isAbout(set, nodes)
	// The next cycle asks for scores at once where this one could have used them, and where the scorers of this policy are not known.
	scoring.apart.Store(apart && scoring.of(versionOf(set)))
	if !s.scores || apart {
		var err error
		if set, err = s.askScores(ctx, nodes); err != nil {
			return nil, scoresInTree, err
		}
		if result = scoresOfOwn; !isAbout(set, nodes) {
			return nil, scoresInTree, errNodes
		}
	}
	scores := set.Scores()
	if scores.IsLate() {
		return nil, scoresInTree, errors.New(scores.Error)
	}
	if scores.Error != "" {
		// As where PreScore or Score of a plugin fails.
		return nil, scoresFailed, errors.New(scores.Error)
	}
	scoring.note(ctx, versionOf(set), scores.Scorers, s.plugin.profile())
	if len(scores.Scorers) == 0 {
		return nil, scoresNone, nil
	}
	if len(scores.Best) < len(nodes) {
		return nil, scoresInTree, fmt.Errorf("nodesift gives the scores of %d nodes, and %d are left", len(scores.Best), len(nodes))
	}
	return &scored{set.Total, scores.Best[0].Total}, result, nil
}

// isAbout tells whether the nodes that fit by an answer are these.
func isAbout(set nodesift.Set, nodes []fwk.NodeInfo) bool {
	return set.Len() == len(nodes) && !slices.ContainsFunc(nodes, func(node fwk.NodeInfo) bool { return !set.Fits(node.Node().Name) })
}

// askScores asks about the nodes that are left.
func (s *cycleState) askScores(ctx context.Context, nodes []fwk.NodeInfo) (nodesift.Set, error) {
	p := s.plugin
	most := p.sidecar.maxScored()
	if len(nodes) > int(most) {
		return nodesift.Set{}, fmt.Errorf("nodesift gives the scores of %d nodes at most, and %d are left", most, len(nodes))
	}
	ctx, cancel := context.WithTimeout(ctx, p.args.CallTimeout.Duration)
	defer cancel()
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		names = append(names, node.Node().Name)
	}
	options := []nodesift.FeasibleOption{
		nodesift.OnNodes(names...), nodesift.Scored(most), nodesift.WithoutReasons(), nodesift.AllowFaults(),
		nodesift.AtLeastGeneration(s.set.Version().Generation), nodesift.Patience(0),
	}
	for _, option := range s.situation() {
		options = append(options, option)
	}
	set, err := p.sidecar.client.Feasible(ctx, s.named, options...)
	switch {
	case err != nil:
		return nodesift.Set{}, err
	case set.Epoch() != s.set.Epoch():
		return nodesift.Set{}, errPlacement
	default:
		return set, rejectingFaults(set)
	}
}

// Score is what is left of hundreds in the total of a node.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	// A profile may have enabled it without PreScore.
	if p.args.Scores != Replace {
		return 0, nil
	}
	total, err := toldOf(state, node.Node().Name)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	return ones(total), nil
}

// ScoreExtensions tell the totals of the last PreScore.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions {
	if p.args.Scores != Replace {
		return nil
	}
	return part(ones)
}

// part is a part of a total, and tells it of all nodes after Score. Totals are normalized already, so a cycle that scores all of its nodes
// gets what it has. But a batch of kube-scheduler 1.37 scores the node of the pod before again, after a PreScore about all nodes, and has
// the scores of the others from an earlier cycle: these are totals among other nodes, which say nothing beside the new one.
type part func(total int64) int64

func ones(total int64) int64 { return total % hundred }

func hundreds(total int64) int64 { return total / hundred }

// NormalizeScore replaces the scores of nodes; it keeps them where there are no totals.
func (of part) NormalizeScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	if _, err := state.Read(scoresKey); err != nil {
		return nil
	}
	for at := range scores {
		total, err := toldOf(state, scores[at].Name)
		if err != nil {
			return fwk.AsStatus(err)
		}
		scores[at].Score = of(total)
	}
	return nil
}

func toldOf(state fwk.CycleState, node string) (int64, error) {
	data, err := state.Read(scoresKey)
	if err != nil {
		return 0, fmt.Errorf("PreScore of %s has not run: %w", Name, err)
	}
	return data.(*scored).told(node)
}

// Hundreds is the plugin that tells the hundreds of the totals that [Plugin] has. It does nothing else.
type Hundreds struct{}

// NewHundreds is the factory of [Hundreds] for app.WithPlugin, beside that of [New]. It takes no arguments.
func NewHundreds(_ context.Context, object runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	if object != nil {
		return nil, fmt.Errorf("%s takes no arguments: those of %s are for both", HundredsName, Name)
	}
	return &Hundreds{}, nil
}

// Name is the name of the plugin.
func (*Hundreds) Name() string { return HundredsName }

// Score is the number of hundreds in the total of a node: none where there are no totals.
func (*Hundreds) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if _, err := state.Read(scoresKey); err != nil {
		return 0, nil
	}
	total, err := toldOf(state, node.Node().Name)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	return hundreds(total), nil
}

// ScoreExtensions tell the totals of the last PreScore.
func (*Hundreds) ScoreExtensions() fwk.ScoreExtensions { return part(hundreds) }

// SignPod adds nothing to what [Plugin] signs.
func (*Hundreds) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) { return nil, nil }
