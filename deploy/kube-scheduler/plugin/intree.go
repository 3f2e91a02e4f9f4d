package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// replaceable are the filters of kube-scheduler that a sidecar can answer for, in kube-scheduler's order.
var replaceable = append(firstFilters,
	names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit, names.VolumeRestrictions, names.NodeVolumeLimits,
	names.VolumeBinding, names.VolumeZone, names.PodTopologySpread, names.InterPodAffinity, names.NodeDeclaredFeatures,
)

// inTree are kube-scheduler's own filters, made in this process: they decide while the sidecar does not answer, sign pods, and
// say which events can make a rejected pod schedulable. Those that are enabled in the profile beside this plugin run there.
type inTree struct {
	plugins []fwk.Plugin
	// Those of [onlyScoring].
	scoring []fwk.Plugin
}

// inTreeCycle is a cycle in which they decide.
type inTreeCycle struct {
	// Those that the profile does not run itself, without those that have nothing to do with the pod.
	active []fwk.Plugin
	// Bit i is set where plugins[i] has rejected a node.
	rejecting atomic.Uint64
}

// newInTree makes the filters, with the arguments that are given and kube-scheduler's own otherwise.
func newInTree(ctx context.Context, handle fwk.Handle, given []PluginConfig) (*inTree, error) {
	arguments, err := inTreeArguments(given)
	if err != nil {
		return nil, err
	}
	registry := plugins.NewInTreeRegistry()
	all := &inTree{}
	for _, name := range replaceable {
		plugin, err := registry[name](ctx, arguments[name], handle)
		if err != nil {
			return nil, fmt.Errorf("making %s for onUnavailable: %w", name, err)
		}
		all.plugins = append(all.plugins, plugin)
	}
	for _, name := range onlyScoring {
		plugin, err := registry[name](ctx, arguments[name], handle)
		if err != nil {
			return nil, fmt.Errorf("making %s for onUnavailable: %w", name, err)
		}
		all.scoring = append(all.scoring, plugin)
	}
	return all, nil
}

func inTreeArguments(given []PluginConfig) (map[string]runtime.Object, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	arguments := map[string]runtime.Object{}
	for _, profile := range defaults.Profiles {
		for _, config := range profile.PluginConfig {
			arguments[config.Name] = config.Args
		}
	}
	for at, config := range given {
		field := fmt.Sprintf("inTreeConfig[%d]", at)
		if !slices.Contains(replaceable, config.Name) && !slices.Contains(onlyScoring, config.Name) {
			return nil, fmt.Errorf("%s: %q is no plugin that nodesift answers for; those are %v", field, config.Name,
				slices.Concat(replaceable, onlyScoring))
		}
		kind := config.Name + "Args"
		version := scheme.Scheme.PrioritizedVersionsForGroup("kubescheduler.config.k8s.io")[0].WithKind(kind)
		decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(config.Args.Raw, &version, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: args of %s: %w", field, config.Name, err)
		}
		arguments[config.Name] = decoded
	}
	return arguments, nil
}

// preFilter runs PreFilter as the framework does.
func (t *inTree) preFilter(
	ctx context.Context, profile profile, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (*inTreeCycle, *fwk.PreFilterResult, *fwk.Status) {
	cycle := &inTreeCycle{}
	var result *fwk.PreFilterResult
	var rejected *fwk.Status
	for at, plugin := range t.plugins {
		if slices.Contains(profile.filter, plugin.Name()) {
			continue
		}
		if first, ok := plugin.(fwk.PreFilterPlugin); ok {
			selected, status := first.PreFilter(ctx, state, pod, nodes)
			switch {
			case status.IsSkip():
				continue
			case status.Code() == fwk.Unschedulable:
				cycle.reject(at)
				rejected = status
			case status.IsRejected():
				cycle.reject(at)
				return cycle, nil, status
			case !status.IsSuccess():
				return cycle, nil, fwk.AsStatus(fmt.Errorf("running PreFilter plugin %q: %w", plugin.Name(), status.AsError()))
			case !slices.Contains(profile.preFilter, plugin.Name()):
				result = result.Merge(selected)
			}
		}
		cycle.active = append(cycle.active, plugin)
	}
	if !result.AllNodes() && len(result.NodeNames) == 0 {
		result = &fwk.PreFilterResult{NodeNames: sets.New[string]()}
	}
	return cycle, result, rejected
}

func (t *inTree) filter(ctx context.Context, cycle *inTreeCycle, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	for _, plugin := range cycle.active {
		filter, ok := plugin.(fwk.FilterPlugin)
		if !ok {
			continue
		}
		if status := filter.Filter(ctx, state, pod, node); !status.IsSuccess() {
			if !status.IsRejected() {
				return fwk.AsStatus(fmt.Errorf("running %q filter plugin: %w", plugin.Name(), status.AsError()))
			}
			cycle.reject(slices.Index(t.plugins, plugin))
			return status
		}
	}
	return nil
}

// change runs AddPod or RemovePod as the framework does.
func (t *inTree) change(
	ctx context.Context, cycle *inTreeCycle, state fwk.CycleState, pod *v1.Pod, changed fwk.PodInfo, node fwk.NodeInfo, added bool,
) *fwk.Status {
	for _, plugin := range cycle.active {
		first, ok := plugin.(fwk.PreFilterPlugin)
		if !ok || first.PreFilterExtensions() == nil {
			continue
		}
		change := first.PreFilterExtensions().RemovePod
		if added {
			change = first.PreFilterExtensions().AddPod
		}
		if status := change(ctx, state, pod, changed, node); !status.IsSuccess() {
			return fwk.AsStatus(fmt.Errorf("%s: %w", plugin.Name(), status.AsError()))
		}
	}
	return nil
}

func (c *inTreeCycle) reject(plugin int) { c.rejecting.Or(1 << plugin) }

// named is the plugin of a name, or nil.
func (t *inTree) named(name string) fwk.Plugin {
	if t == nil {
		return nil
	}
	at := slices.IndexFunc(t.plugins, func(plugin fwk.Plugin) bool { return plugin.Name() == name })
	if at < 0 {
		return nil
	}
	return t.plugins[at]
}
