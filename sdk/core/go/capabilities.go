package nodesift

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Calls that every sidecar has which is too old to say what it supports.
var firstCalls = []string{
	"Assume", "Attend", "Explain", "Filter", "FilterStream", "Forget", "Negotiate", "NodeIndex", "PreFilterPredicates",
	"PreemptionPredicates", "Predicates", "Release", "Reprieve", "Select",
}

// Capabilities is what a sidecar supports.
type Capabilities struct {
	// The version of the sidecar. Empty where it is too old to say what it supports; then only Calls is known.
	Version string
	// The revision of the source that it was built from; empty where the build does not name one.
	Revision string
	// The minor version of Kubernetes whose kube-scheduler has the verdicts of the built-in predicates.
	KubernetesVersion string
	// Names of the calls of gRPC, sorted.
	Calls []string
	// The contracts that modules can be built for, as PACKAGE@VERSION.
	Contracts []string
	// Limits of requests by name; times are in milliseconds.
	Limits map[string]int64
	// The policy that was active when the sidecar was asked.
	Policy SupportedPolicy
}

// SupportedPolicy is what a policy evaluates.
type SupportedPolicy struct {
	// The number of the policy, as in [Version].
	Generation uint64
	// The schedulers whose pods are not foreign.
	SchedulerNames []string
	// Names of the predicates whose verdicts count, in evaluation order.
	Predicates []string
	// Names of the external parties.
	Parties []string
	// Whether an accounting component says what pods take.
	Accounting bool
	// Whether [Client.Reprieve] has static pods stay, whatever their priority.
	StaticPodsStay bool
}

// Supports tells whether the sidecar has a call of this name.
func (c *Capabilities) Supports(call string) bool { return slices.Contains(c.Calls, call) }

// Require returns an [UnsupportedError] with those of the calls that the sidecar does not have, and nil where it has all.
func (c *Capabilities) Require(calls ...string) error {
	missing := slices.DeleteFunc(slices.Clone(calls), c.Supports)
	if len(missing) == 0 {
		return nil
	}
	return &UnsupportedError{Missing: missing, Version: c.Version}
}

// UnsupportedError names calls that a core needs and a sidecar does not have. It is [ErrUnsupported].
type UnsupportedError struct {
	// Names of the calls.
	Missing []string
	// The version of the sidecar; empty where it is too old to say.
	Version string
}

func (e *UnsupportedError) Error() string {
	version := e.Version
	if version == "" {
		version = "of a version that does not say what it supports"
	}
	return fmt.Sprintf("nodesift: the sidecar (%s) does not have %s: the core needs another version of it", version, strings.Join(e.Missing, ", "))
}

// Is tells that it is [ErrUnsupported].
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// Capabilities asks what the sidecar supports. One that is too old to know the call has the calls that are older than it.
func (c *Client) Capabilities(ctx context.Context) (*Capabilities, error) {
	ctx, cancel := c.deadline(ctx, 0)
	defer cancel()
	response, err := c.stub.Capabilities(ctx, &nodesiftv1.CapabilitiesRequest{})
	if err := failure(err); errors.Is(err, ErrUnsupported) {
		return &Capabilities{Calls: slices.Clone(firstCalls)}, nil
	} else if err != nil {
		return nil, err
	}
	known := &Capabilities{
		Version:           response.GetVersion(),
		Revision:          response.GetRevision(),
		KubernetesVersion: response.GetKubernetesVersion(),
		Contracts:         response.GetContracts(),
		Limits:            map[string]int64{},
		Policy: SupportedPolicy{
			Generation:     response.GetPolicy().GetGeneration(),
			SchedulerNames: response.GetPolicy().GetSchedulerNames(),
			Parties:        response.GetPolicy().GetParties(),
			Accounting:     response.GetPolicy().GetAccounting(),
			StaticPodsStay: response.GetPolicy().GetStaticPodsStay(),
		},
	}
	calls := map[string]struct{}{}
	for _, call := range response.GetCalls() {
		if call.GetService() != "" {
			calls[call.GetName()] = struct{}{}
		}
	}
	known.Calls = slices.Sorted(maps.Keys(calls))
	for _, limit := range response.GetLimits() {
		known.Limits[limit.GetName()] = limit.GetAmount()
	}
	for _, predicate := range response.GetPolicy().GetPredicates() {
		if predicate.GetEnforced() {
			known.Policy.Predicates = append(known.Policy.Predicates, predicate.GetName())
		}
	}
	return known, nil
}

// OnCapabilities has a function told what the sidecar supports, once the client is connected and again after each restart of the
// sidecar, beside all calls. For cores that say at once, in words, which calls they miss ([Capabilities.Require]).
func OnCapabilities(tell func(*Capabilities)) DialOption {
	return func(d *dial) { d.tell = tell }
}

// Supported is what the sidecar supports, as the client has learned it by itself; nil before that, see [OnCapabilities].
func (c *Client) Supported() *Capabilities { return c.supported.Load() }

// learn asks each process of the sidecar what it supports, until the client is closed.
func (c *Client) learn(ctx context.Context, tell func(*Capabilities)) {
	var epoch uint64
	for {
		changed := c.index.Changed()
		var again <-chan time.Time
		if names := c.index.Names(); names != nil && names.epoch != epoch {
			known, err := c.Capabilities(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				epoch = names.epoch
				c.supported.Store(known)
				if tell != nil {
					tell(known)
				}
			case !errors.Is(err, ErrDenied):
				again = time.After(backoffMax)
			default:
				// Without the right to ask there is nothing to learn from this process.
				epoch = names.epoch
			}
		}
		select {
		case <-changed:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}
