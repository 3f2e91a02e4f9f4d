package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Mode says what the sidecar's policy has.
type Mode string

const (
	// Additive: predicates that kube-scheduler does not have. Its own filters stay enabled, and decide beside them.
	Additive Mode = "Additive"
	// Full: the filters of kube-scheduler that the policy names are disabled in the profile, and the sidecar answers for them.
	Full Mode = "Full"
)

// Unavailable says what happens to a pod while the sidecar does not answer, or has no answer that a pod may be bound on.
type Unavailable string

const (
	// ByPolicy: Fail where the policy has predicates that kube-scheduler lacks, and InTree otherwise. The last policy that was learned
	// counts; before one was, it is Fail.
	ByPolicy Unavailable = "ByPolicy"
	// InTree: the filters of kube-scheduler decide, in this process. Predicates that kube-scheduler does not have are not
	// evaluated meanwhile.
	InTree Unavailable = "InTree"
	// Fail: the pod is not scheduled. It is tried again after its back-off.
	Fail Unavailable = "Fail"
)

// Scores says who scores nodes.
type Scores string

const (
	// Off: the plugins of kube-scheduler that the profile has enabled.
	Off Scores = "Off"
	// Replace: the scorers of the sidecar's policy, and what else the profile has enabled at score. The plugins of kube-scheduler that the
	// policy names are disabled there.
	Replace Scores = "Replace"
)

// Args are the arguments of the plugin, under pluginConfig of a KubeSchedulerConfiguration.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// A target of gRPC: unix:///run/nodesift/nodesift.sock unless given.
	Address string `json:"address,omitempty"`
	// Additive unless given.
	Mode Mode `json:"mode,omitempty"`
	// Off unless given; Replace is for mode Full.
	Scores Scores `json:"scores,omitempty"`
	// ByPolicy unless given.
	OnUnavailable Unavailable `json:"onUnavailable,omitempty"`
	// The time for one call; 20ms unless given.
	CallTimeout metav1.Duration `json:"callTimeout,omitempty"`
	// How long the sidecar may take to reach the resourceVersions that the scheduler has seen; 5ms unless given. It counts
	// towards the time for the call. 0s requires no versions.
	ConsistencyTimeout *metav1.Duration `json:"consistencyTimeout,omitempty"`
	// The time for external parties to agree on nodes for a pod, and to allocate on one of them; 30s unless given, 10m at most.
	NegotiationTimeout metav1.Duration `json:"negotiationTimeout,omitempty"`
	AllocationTimeout  metav1.Duration `json:"allocationTimeout,omitempty"`
	// Predicates of the policy that are left to the scheduler; none unless given. The policy must have all of them: the sidecar
	// refuses requests with any other name.
	Skip []string `json:"skip,omitempty"`
	// Preemption, in mode Full, as in DefaultPreemptionArgs.
	Preemption Preemption `json:"preemption,omitempty"`
	// Arguments of kube-scheduler's plugins for onUnavailable, signatures and queueing hints, as in pluginConfig of the
	// profile. They are those of kube-scheduler's default profile unless given.
	InTreeConfig []PluginConfig `json:"inTreeConfig,omitempty"`
}

// Preemption are the arguments of DefaultPreemption.
type Preemption struct {
	// 10 unless given.
	MinCandidateNodesPercentage *int32 `json:"minCandidateNodesPercentage,omitempty"`
	// 100 unless given.
	MinCandidateNodesAbsolute *int32 `json:"minCandidateNodesAbsolute,omitempty"`
}

// PluginConfig are the arguments of a plugin of kube-scheduler.
type PluginConfig struct {
	Name string               `json:"name"`
	Args runtime.RawExtension `json:"args"`
}

// decodeArgs reads the arguments of a profile, sets those that are not given, and reports all errors at once.
func decodeArgs(object runtime.Object) (*Args, error) {
	args := &Args{}
	switch given := object.(type) {
	case nil:
	case *runtime.Unknown:
		if err := yaml.UnmarshalStrict(given.Raw, args); err != nil {
			return nil, fmt.Errorf("args of %s: %w", Name, err)
		}
	default:
		return nil, fmt.Errorf("args of %s are of type %T", Name, object)
	}
	args.setDefaults()
	if err := args.validate(); err != nil {
		return nil, err
	}
	return args, nil
}

func (a *Args) setDefaults() {
	if a.Address == "" {
		a.Address = defaultAddress
	}
	if a.Mode == "" {
		a.Mode = Additive
	}
	if a.Scores == "" {
		a.Scores = Off
	}
	if a.OnUnavailable == "" {
		a.OnUnavailable = ByPolicy
	}
	if a.CallTimeout.Duration == 0 {
		a.CallTimeout.Duration = defaultCallTimeout
	}
	if a.ConsistencyTimeout == nil {
		a.ConsistencyTimeout = &metav1.Duration{Duration: defaultConsistencyTimeout}
	}
	for _, timeout := range []*metav1.Duration{&a.NegotiationTimeout, &a.AllocationTimeout} {
		if timeout.Duration == 0 {
			timeout.Duration = defaultNegotiationTimeout
		}
	}
	if a.Preemption.MinCandidateNodesPercentage == nil {
		a.Preemption.MinCandidateNodesPercentage = new(int32(defaultMinCandidateNodesPercentage))
	}
	if a.Preemption.MinCandidateNodesAbsolute == nil {
		a.Preemption.MinCandidateNodesAbsolute = new(int32(defaultMinCandidateNodesAbsolute))
	}
}

func (a *Args) validate() error {
	var problems []error
	refuse := func(field, format string, values ...any) {
		problems = append(problems, fmt.Errorf("args of %s: %s: %s", Name, field, fmt.Sprintf(format, values...)))
	}
	if strings.ContainsAny(a.Address, " \t\n") || strings.HasPrefix(a.Address, "/") {
		refuse("address", "%q is no target of gRPC, such as %s or dns:///localhost:10270", a.Address, defaultAddress)
	}
	if a.Mode != Additive && a.Mode != Full {
		refuse("mode", "%q is neither %s nor %s", a.Mode, Additive, Full)
	}
	switch {
	case a.Scores != Off && a.Scores != Replace:
		refuse("scores", "%q is neither %s nor %s", a.Scores, Off, Replace)
	case a.Scores == Replace && a.Mode == Additive:
		refuse("scores", "%s needs mode %s: without it nobody scores while the sidecar does not answer", Replace, Full)
	}
	if a.OnUnavailable != ByPolicy && a.OnUnavailable != InTree && a.OnUnavailable != Fail {
		refuse("onUnavailable", "%q is none of %s, %s and %s", a.OnUnavailable, ByPolicy, InTree, Fail)
	}
	if a.CallTimeout.Duration < time.Millisecond || a.CallTimeout.Duration > maxCallTimeout {
		refuse("callTimeout", "%s is not between 1ms and %s", a.CallTimeout.Duration, maxCallTimeout)
	}
	if wait := a.ConsistencyTimeout.Duration; wait < 0 || wait > a.CallTimeout.Duration {
		refuse("consistencyTimeout", "%s is not between 0s and callTimeout, %s", wait, a.CallTimeout.Duration)
	}
	for field, timeout := range map[string]time.Duration{
		"negotiationTimeout": a.NegotiationTimeout.Duration, "allocationTimeout": a.AllocationTimeout.Duration,
	} {
		if timeout < minNegotiationTimeout || timeout > maxNegotiationTimeout {
			refuse(field, "%s is not between %s and %s", timeout, minNegotiationTimeout, maxNegotiationTimeout)
		}
	}
	for at, name := range a.Skip {
		if name == "" || slices.Contains(a.Skip[:at], name) {
			refuse(fmt.Sprintf("skip[%d]", at), "%q is empty or named twice", name)
		}
	}
	if percentage := *a.Preemption.MinCandidateNodesPercentage; percentage < 0 || percentage > 100 {
		refuse("preemption.minCandidateNodesPercentage", "%d is not between 0 and 100", percentage)
	}
	if absolute := *a.Preemption.MinCandidateNodesAbsolute; absolute < 0 {
		refuse("preemption.minCandidateNodesAbsolute", "%d is negative", absolute)
	}
	return errors.Join(problems...)
}
