package nodesift

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// What errors of this package are, for errors.Is.
var (
	// ErrUnavailable: the sidecar cannot be reached, or is not ready.
	ErrUnavailable = errors.New("nodesift is unavailable")
	// ErrDeadline: there was no answer in time, or no snapshot as new as the call required. Errors of this kind are also
	// context.DeadlineExceeded.
	ErrDeadline = errors.New("deadline exceeded")
	// ErrOverloaded: the sidecar has more requests than it can answer, or the request is too large.
	ErrOverloaded = errors.New("nodesift is overloaded")
	// ErrNotFound: the pod or the node is not in the cache.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request makes no sense; the message names the field.
	ErrInvalid = errors.New("invalid request")
	// ErrDenied: this client has no right to this call.
	ErrDenied = errors.New("permission denied")
	// ErrDoesNotFit: Assume with [Check], and the pod does not fit the node.
	ErrDoesNotFit = errors.New("the pod does not fit")
	// ErrChanged: the sidecar has another version of the pod than [Pod.At] names; Assume with [IfGeneration], and the cluster has
	// changed; or the policy or the overlay has, while the call was answered. Send the pod whole, or ask again.
	ErrChanged = errors.New("the cluster has changed")
	// ErrFault: a predicate could not be evaluated; see [FaultError].
	ErrFault = errors.New("a predicate could not be evaluated")
	// ErrStale: the API server has confirmed nothing for too long, so the answer may be about a cluster that is no more.
	ErrStale = errors.New("the answer is stale")
	// ErrNoAgreement: parties do not agree on a node; see [NoAgreementError].
	ErrNoAgreement = errors.New("no agreement with parties")
	// ErrNotAllocated: parties cannot allocate what was selected; see [NotAllocatedError].
	ErrNotAllocated = errors.New("not allocated")
	// ErrNegotiating: the pod has a negotiation; the message contains its id, for [Supersedes].
	ErrNegotiating = errors.New("the pod is being negotiated")
	// ErrUnsupported: the sidecar does not have the call, because it is older than this client, or newer; see [UnsupportedError].
	ErrUnsupported = errors.New("not supported by the sidecar")
	// ErrTable: a table of rows that does not follow from the one before, or a bitmap that does not belong to its table. The
	// client never reads such a bitmap.
	ErrTable = errors.New("the table of rows is not as expected")
)

// Error is the failure of a call: what the sidecar or gRPC says.
type Error struct {
	// gRPC's code.
	Code codes.Code
	// What to do, in the words of the sidecar.
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("nodesift: %s: %s", e.Code, e.Message) }

// GRPCStatus lets status.FromError see the code.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// Is tells which of the errors above it is.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case codes.Unavailable:
		return target == ErrUnavailable
	case codes.DeadlineExceeded:
		return target == ErrDeadline || target == context.DeadlineExceeded
	case codes.Canceled:
		return target == context.Canceled
	case codes.ResourceExhausted:
		return target == ErrOverloaded
	case codes.NotFound:
		return target == ErrNotFound
	case codes.InvalidArgument:
		return target == ErrInvalid
	case codes.PermissionDenied, codes.Unauthenticated:
		return target == ErrDenied
	case codes.FailedPrecondition:
		return target == ErrDoesNotFit
	case codes.Aborted:
		return target == ErrChanged
	case codes.AlreadyExists:
		return target == ErrNegotiating
	case codes.Unimplemented:
		return target == ErrUnsupported
	default:
		return false
	}
}

// failure makes an Error of what gRPC returns.
func failure(err error) error {
	if err == nil {
		return nil
	}
	of := status.Convert(err)
	return &Error{Code: of.Code(), Message: of.Message()}
}

// errorOf is the error of a part of a request.
func errorOf(part *nodesiftv1.CallError) error {
	return &Error{Code: codeNamed(part.GetCode()), Message: part.GetMessage()}
}

// Fault is a predicate that could not be evaluated, and what was done about it.
type Fault struct {
	// The predicate.
	Predicate string
	// Deadline, Memory, Trap, Quarantined and so on; the proto lists them.
	Kind string
	// A description.
	Detail string
	// Whether the predicate counts as fitting every node. Else the nodes count as rejected.
	Ignored bool
}

// FaultError is the error beside an answer in which predicates have failed. The answer is whole: their failure policies have
// answered in their place.
type FaultError struct{ Faults []Fault }

func (e *FaultError) Error() string {
	texts := make([]string, len(e.Faults))
	for at, fault := range e.Faults {
		effect := "the nodes count as rejected"
		if fault.Ignored {
			effect = "it is ignored"
		}
		texts[at] = fmt.Sprintf("%s: %s: %s (%s)", fault.Predicate, fault.Kind, fault.Detail, effect)
	}
	return "nodesift: " + strings.Join(texts, "; ")
}

// Is tells that it is [ErrFault].
func (e *FaultError) Is(target error) bool { return target == ErrFault }
