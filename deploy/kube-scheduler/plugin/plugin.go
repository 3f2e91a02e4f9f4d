package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Name is the name of the plugin in a KubeSchedulerConfiguration.
const Name = "Nodesift"

var (
	_ fwk.PreEnqueuePlugin    = &Plugin{}
	_ fwk.PreFilterPlugin     = &Plugin{}
	_ fwk.PreFilterExtensions = &Plugin{}
	_ fwk.FilterPlugin        = &Plugin{}
	_ fwk.PostFilterPlugin    = &Plugin{}
	_ fwk.ReservePlugin       = &Plugin{}
	_ fwk.SignPlugin          = &Plugin{}
	_ fwk.EnqueueExtensions   = &Plugin{}
	_ fwk.PermitPlugin        = &Plugin{}
	_ fwk.PreBindPlugin       = &Plugin{}
	_ fwk.PostBindPlugin      = &Plugin{}
)

// Plugin is one profile's plugin.
type Plugin struct {
	args   *Args
	handle fwk.Handle
	// For what is no cycle's.
	logger      klog.Logger
	sidecar     *sidecar
	observed    *observed
	nominations nominations
	rejections  rejections
	// The event that hints were last asked about.
	hinted     atomic.Pointer[hinted]
	policy     policy
	inTree     *inTree
	preemption *preemptionPlugin
	scoring    scoring
	// What is under way with those who decide about pods outside of the cluster.
	negotiations *negotiations
	// What the profile has enabled beside this plugin.
	profile func() profile
}

// New is the factory for app.WithPlugin.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := decodeArgs(object)
	if err != nil {
		return nil, err
	}
	registerMetrics()
	p := &Plugin{args: args, handle: handle, logger: klog.FromContext(ctx)}
	p.profile = sync.OnceValue(func() profile { return profileOf(handle) })
	if args.Mode == Full {
		if p.inTree, err = newInTree(ctx, handle, args.InTreeConfig); err != nil {
			return nil, fmt.Errorf("%s: %w", Name, err)
		}
		if p.preemption, err = newPreemption(ctx, p); err != nil {
			return nil, fmt.Errorf("%s: %w", Name, err)
		}
	}
	if p.sidecar, err = sharedSidecar(ctx, args.Address); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	p.negotiations = newNegotiations(ctx, p)
	if p.observed, err = observe(ctx, p); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	go p.policy.begin(ctx, p.sidecar.client, handle.ProfileName())
	return p, nil
}

// Name is the name of the plugin.
func (p *Plugin) Name() string { return Name }

// profile is what a profile has enabled.
type profile struct {
	// The plugins of kube-scheduler at these extension points.
	preFilter, filter []string
	// The plugins that score, with their weights.
	score []config.Plugin
	// Whether DefaultPreemption runs beside this plugin.
	defaultPreemption bool
	// Whether this plugin runs at all points that a pod with external parties passes.
	negotiates bool
}

func profileOf(handle fwk.Handle) profile {
	// The handle is the framework, which says so only where all plugins have been made.
	framework, ok := handle.(interface{ ListPlugins() *config.Plugins })
	if !ok {
		return profile{}
	}
	enabled := func(set config.PluginSet) []string {
		var all []string
		for _, plugin := range set.Enabled {
			all = append(all, plugin.Name)
		}
		return all
	}
	plugins := framework.ListPlugins()
	return profile{
		preFilter:         enabled(plugins.PreFilter),
		filter:            enabled(plugins.Filter),
		score:             plugins.Score.Enabled,
		defaultPreemption: slices.Contains(enabled(plugins.PostFilter), names.DefaultPreemption),
		negotiates: slices.Contains(enabled(plugins.Reserve), Name) && slices.Contains(enabled(plugins.Permit), Name) &&
			slices.Contains(enabled(plugins.PreBind), Name),
	}
}
