package yunikorn_test

import (
	"context"
	"encoding/json"
	"maps"

	v1 "k8s.io/api/core/v1"

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

// deliver is the beginning of Assume and Forget.
func (f *fake) deliver(ctx context.Context, of *nodesiftv1.Pod) error {
	f.mutex.Lock()
	delivered := f.delivered
	f.mutex.Unlock()
	if delivered == nil {
		return nil
	}
	return delivered(ctx, uidOf(of))
}

func (f *fake) Assume(ctx context.Context, request *nodesiftv1.AssumeRequest) (*nodesiftv1.AssumeResponse, error) {
	if err := f.deliver(ctx, request.GetPod()); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.assumeError != nil {
		return nil, f.assumeError
	}
	uid := uidOf(request.GetPod())
	f.placed[uid] = request.GetNode()
	f.generation++
	return &nodesiftv1.AssumeResponse{Uid: uid, Placed: f.outcome}, nil
}

func (f *fake) Forget(ctx context.Context, request *nodesiftv1.ForgetRequest) (*nodesiftv1.ForgetResponse, error) {
	if err := f.deliver(ctx, request.GetPod()); err != nil {
		return nil, err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.forgetError != nil {
		return nil, f.forgetError
	}
	delete(f.placed, request.GetPod().GetUid())
	f.forgotten = append(f.forgotten, request.GetPod().GetUid())
	f.generation++
	return &nodesiftv1.ForgetResponse{}, nil
}
