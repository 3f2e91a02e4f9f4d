//go:build !kubernetes_1_35

package plugin

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreBindPreFlight tells whether there is anything to confirm.
func (p *Plugin) PreBindPreFlight(
	_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string,
) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, p.preFlight(state)
}
