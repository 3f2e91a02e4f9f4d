package yunikorn_test

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// placements is a copy of where the sidecar counts pods.
func (f *fake) placements() map[string]string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return maps.Clone(f.placed)
}

// uidOf is the UID of a pod that is named or given whole.
func uidOf(of *nodesiftv1.Pod) string {
	if of.GetJson() == "" {
		return of.GetUid()
	}
	var whole v1.Pod
	if err := json.Unmarshal([]byte(of.GetJson()), &whole); err != nil {
		panic(err)
	}
	return string(whole.UID)
}

// takes makes calls that place take 2 ms each, or 2 ms for each placement, as drawn.
func (f *fake) takes(random *rand.Rand) string {
	const time = 2 * time.Millisecond
	forEach := random.IntN(2) == 0
	f.change(func() {
		if f.perCall, f.perPlacement = time, 0; forEach {
			f.perCall, f.perPlacement = 0, time
		}
	})
	return map[bool]string{false: "2 ms a call", true: "2 ms a placement"}[forEach]
}

// place is a Filter that asks about no pods. As the sidecar's, it ends assumptions first, and may have made some changes where it fails.
// What nobody waits for any more is not begun, so it does not come after what is told later.
func (f *fake) place(ctx context.Context, request *nodesiftv1.FilterRequest) (*nodesiftv1.FilterResponse, error) {
	changes := len(request.GetForget()) + len(request.GetAssume())
	if changes == 0 || changes > nodesift.MaxPlacements {
		return nil, status.Error(codes.InvalidArgument, "no placements, or too many")
	}
	var uids []string
	for _, one := range request.GetForget() {
		uids = append(uids, uidOf(one.GetPod()))
	}
	for _, one := range request.GetAssume() {
		uids = append(uids, uidOf(one.GetPod()))
	}
	f.mutex.Lock()
	takes := f.perCall + time.Duration(changes)*f.perPlacement
	f.calls, f.most = f.calls+1, max(f.most, changes)
	f.atOnce++
	f.mostAtOnce = max(f.mostAtOnce, f.atOnce)
	for _, uid := range uids {
		if f.telling[uid]++; f.telling[uid] > 1 {
			f.overlaps = append(f.overlaps, uid)
		}
	}
	f.mutex.Unlock()
	defer func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.atOnce--
		for _, uid := range uids {
			f.telling[uid]--
		}
	}()
	time.Sleep(takes)
	response := &nodesiftv1.FilterResponse{}
	for _, one := range request.GetForget() {
		answer, err := f.forget(ctx, one)
		outcome := &nodesiftv1.ForgetOutcome{Outcome: &nodesiftv1.ForgetOutcome_Answer{Answer: answer}}
		if err != nil {
			of, whole := errorOf(err)
			if whole != nil {
				return nil, whole
			}
			outcome.Outcome = &nodesiftv1.ForgetOutcome_Error{Error: of}
		}
		response.Forgotten = append(response.Forgotten, outcome)
	}
	for _, one := range request.GetAssume() {
		answer, err := f.assume(ctx, one)
		outcome := &nodesiftv1.AssumeOutcome{Outcome: &nodesiftv1.AssumeOutcome_Answer{Answer: answer}}
		if err != nil {
			of, whole := errorOf(err)
			if whole != nil {
				return nil, whole
			}
			outcome.Outcome = &nodesiftv1.AssumeOutcome_Error{Error: of}
		}
		response.Assumed = append(response.Assumed, outcome)
	}
	return response, nil
}

// ofWholeCall is an error that no part of an answer has, whatever its code.
type ofWholeCall struct{ error }

// errorOf is the error of one placement, or of the whole call.
func errorOf(err error) (of *nodesiftv1.CallError, whole error) {
	if of, ok := err.(ofWholeCall); ok {
		return nil, of.error
	}
	names := map[codes.Code]string{
		codes.NotFound: "NOT_FOUND", codes.InvalidArgument: "INVALID_ARGUMENT", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	}
	text, known := names[status.Code(err)]
	if !known {
		return nil, err
	}
	return &nodesiftv1.CallError{Code: text, Message: status.Convert(err).Message()}, nil
}

// deliver is the beginning of each placement.
func (f *fake) deliver(ctx context.Context, of *nodesiftv1.Pod) error {
	f.mutex.Lock()
	delivered := f.delivered
	f.mutex.Unlock()
	if delivered == nil {
		return nil
	}
	return delivered(ctx, uidOf(of))
}

func (f *fake) assume(ctx context.Context, request *nodesiftv1.AssumeRequest) (*nodesiftv1.AssumeResponse, error) {
	if err := f.deliver(ctx, request.GetPod()); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := status.FromContextError(ctx.Err()).Err(); err != nil {
		return nil, err
	}
	if f.assumeError != nil {
		return nil, f.assumeError
	}
	uid := uidOf(request.GetPod())
	if f.unseen[uid] && request.GetPod().GetJson() == "" {
		return nil, status.Error(codes.NotFound, "the pod is not in the cache")
	}
	if f.unknown[request.GetNode()] {
		return nil, status.Error(codes.NotFound, "the node is not in the cache")
	}
	f.placed[uid] = request.GetNode()
	f.generation++
	return &nodesiftv1.AssumeResponse{Uid: uid, Placed: f.outcome}, nil
}

func (f *fake) forget(ctx context.Context, request *nodesiftv1.ForgetRequest) (*nodesiftv1.ForgetResponse, error) {
	if err := f.deliver(ctx, request.GetPod()); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err := status.FromContextError(ctx.Err()).Err(); err != nil {
		return nil, err
	}
	if f.forgetError != nil {
		return nil, f.forgetError
	}
	delete(f.placed, request.GetPod().GetUid())
	f.forgotten = append(f.forgotten, request.GetPod().GetUid())
	f.generation++
	return &nodesiftv1.ForgetResponse{}, nil
}
