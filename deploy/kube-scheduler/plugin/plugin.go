package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Name is the name of the plugin in a KubeSchedulerConfiguration.
const Name = "Nodesift"

var _ fwk.PreFilterPlugin = &Plugin{}
var _ fwk.FilterPlugin = &Plugin{}
var _ fwk.ReservePlugin = &Plugin{}

// Plugin asks a sidecar.
type Plugin struct {
	handle fwk.Handle
	args   *Args
	client *nodesift.Client
}

// New is the factory for app.WithPlugin.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := decodeArgs(object)
	if err != nil {
		return nil, err
	}
	client, err := nodesift.Dial(args.Address, nodesift.Timeout(args.CallTimeout.Duration))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = client.Close() })
	_ = plugins.NewInTreeRegistry
	return &Plugin{handle: handle, args: args, client: client}, nil
}

// Name is the name of the plugin.
func (p *Plugin) Name() string { return Name }

type cycle struct{ set nodesift.Set }

func (c *cycle) Clone() fwk.StateData { return c }

// PreFilter asks the sidecar about all nodes.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	set, err := p.client.Feasible(ctx, nodesift.WholePod(pod))
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	state.Write(Name, &cycle{set})
	return nil, nil
}

// PreFilterExtensions are not there yet.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter looks a node up.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	data, err := state.Read(Name)
	if err != nil {
		return fwk.AsStatus(err)
	}
	set := data.(*cycle).set
	if set.Fits(node.Node().Name) {
		return nil
	}
	_, code, reasons := set.Why(node.Node().Name)
	return fwk.NewStatus(fwk.Code(code), reasons...)
}

// Reserve counts the pod on the node.
func (p *Plugin) Reserve(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	_, err := p.client.Assume(ctx, nodesift.WholePod(pod), node)
	return fwk.AsStatus(err)
}

// Unreserve counts the pod no longer.
func (p *Plugin) Unreserve(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	if _, err := p.client.Forget(ctx, nodesift.WholePod(pod)); err != nil {
		klog.FromContext(ctx).Error(err, "pod is not forgotten", "pod", klog.KObj(pod))
	}
}
