package plugin

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclient "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// preempt runs a cycle that fails on every node, and PostFilter.
func (w *world) preempt(pod *v1.Pod) (*fwk.PostFilterResult, *fwk.Status) {
	w.t.Helper()
	_, statuses, state := w.cycle(ours, pod)
	read := framework.NewDefaultNodeToStatus()
	for node, status := range statuses {
		if status.IsSuccess() {
			w.t.Fatalf("%s fits %s", pod.Name, node)
		}
		read.Set(node, status)
	}
	return w.plugin().PostFilter(w.ctx, state, pod, read)
}

// fullNodes are nodes with two pods each, of priority 1 and 2, and a pod that waits.
func fullNodes(waiting *v1.Pod, names ...string) []runtime.Object {
	objects := []runtime.Object{waiting}
	for _, name := range names {
		objects = append(objects, node(name), pod(name+"-low").Node(name).Priority(1).Obj(), pod(name+"-high").Node(name).Priority(2).Obj())
	}
	return objects
}

func startFull(t *testing.T, reprieve func(int, *nodesiftv1.NodeVictims) *nodesiftv1.NodeReprieve, nodes ...string) *fakeSidecar {
	fake := startFake(t, nodes...)
	for _, node := range nodes {
		fake.rejects[node] = failure("NodeResourcesFit", unschedulable, "Insufficient cpu")
	}
	fake.reprieve = func(request *nodesiftv1.ReprieveRequest) *nodesiftv1.ReprieveResponse {
		response := &nodesiftv1.ReprieveResponse{Version: &nodesiftv1.Version{Generation: 1}}
		for at, node := range request.GetNodes() {
			response.Nodes = append(response.Nodes, reprieve(at, node))
		}
		return response
	}
	return fake
}

func TestADryRunIsOneCallAndEvictsWhoMayNotStay(t *testing.T) {
	var asked []*nodesiftv1.NodeVictims
	fake := startFull(t, func(_ int, node *nodesiftv1.NodeVictims) *nodesiftv1.NodeReprieve {
		asked = append(asked, node)
		if node.GetNode() == "a" {
			return &nodesiftv1.NodeReprieve{Fits: true}
		}
		return &nodesiftv1.NodeReprieve{Fits: true, Kept: []uint32{0}}
	}, "a", "b")
	web := pod("web").Priority(10).Obj()
	w := newWorld(t, full, patient(fake.address()), fullNodes(web, "a", "b")...)
	result, status := w.preempt(web)
	// On b one pod is enough.
	if !status.IsSuccess() || result == nil || result.NominatedNodeName != "b" || fake.reprieves != 1 {
		t.Fatalf("%+v, %v after %d calls", result, status, fake.reprieves)
	}
	for _, node := range asked {
		if wanted := []string{"uid-" + node.GetNode() + "-high", "uid-" + node.GetNode() + "-low"}; !slices.Equal(node.GetVictims(), wanted) {
			t.Errorf("%s: %v, not %v", node.GetNode(), node.GetVictims(), wanted)
		}
	}
	until(t, "the victim is deleted", func() bool {
		return slices.ContainsFunc(w.client.Actions(), func(action testingclient.Action) bool { return action.GetVerb() == "delete" })
	})
}

func TestStaticPodsAreVictimsUnlessThePolicyLetsThemStay(t *testing.T) {
	for _, stay := range []bool{false, true} {
		var asked []string
		fake := startFull(t, func(_ int, node *nodesiftv1.NodeVictims) *nodesiftv1.NodeReprieve {
			asked = node.GetVictims()
			return &nodesiftv1.NodeReprieve{Fits: true}
		}, "a")
		fake.set(func(f *fakeSidecar) {
			f.capabilities = &nodesiftv1.CapabilitiesResponse{Version: "1.0.0", Policy: &nodesiftv1.SupportedPolicy{StaticPodsStay: stay}}
		})
		web := pod("web").Priority(10).Obj()
		objects := fullNodes(web, "a")
		for _, object := range objects {
			if low, ok := object.(*v1.Pod); ok && low.Name == "a-low" {
				low.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "a", UID: "uid-a"}}
			}
		}
		w := newWorld(t, full, patient(fake.address()), objects...)
		until(t, "the sidecar has said what it supports", func() bool {
			sidecarsMutex.Lock()
			defer sidecarsMutex.Unlock()
			shared := sidecars[fake.address()]
			return shared != nil && shared.client.Supported() != nil
		})
		if _, status := w.preempt(web); !status.IsSuccess() {
			t.Fatalf("%v", status)
		}
		wanted := []string{"uid-a-high", "uid-a-low"}
		if stay {
			wanted = wanted[:1]
		}
		if !slices.Equal(asked, wanted) {
			t.Errorf("static pods stay: %t, and the victims are %v, not %v", stay, asked, wanted)
		}
	}
}

func TestNodesWhereNoPreemptionHelpsSayWhyInOneCall(t *testing.T) {
	fake := startFull(t, func(_ int, node *nodesiftv1.NodeVictims) *nodesiftv1.NodeReprieve {
		if node.GetNode() == "c" {
			return &nodesiftv1.NodeReprieve{Failure: failure("NodePorts", unschedulable, "node(s) didn't have free ports for the requested pod ports")}
		}
		return &nodesiftv1.NodeReprieve{Failure: failure("NodeResourcesFit", unschedulable, "Insufficient cpu", "Insufficient memory")}
	}, "a", "b", "c")
	web := pod("web").Priority(10).Obj()
	w := newWorld(t, full, patient(fake.address()), fullNodes(web, "a", "b", "c")...)
	before := len(fake.asked())
	_, status := w.preempt(web)
	const wanted = "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 2 Insufficient cpu, 2 Insufficient memory."
	if status.Code() != fwk.Unschedulable || !strings.Contains(status.Message(), wanted) {
		t.Errorf("%v", status)
	}
	if fake.reprieves != 1 || len(fake.asked()) != before+1 {
		t.Errorf("%d calls about victims, %d about the pod", fake.reprieves, len(fake.asked())-before)
	}
}

func TestAnAnswerWithoutAReasonIsNoCandidate(t *testing.T) {
	fake := startFull(t, func(at int, _ *nodesiftv1.NodeVictims) *nodesiftv1.NodeReprieve {
		if at == 0 {
			return &nodesiftv1.NodeReprieve{}
		}
		return &nodesiftv1.NodeReprieve{Error: &nodesiftv1.CallError{Code: "NOT_FOUND", Message: "gone"}}
	}, "a", "b")
	web := pod("web").Priority(10).Obj()
	w := newWorld(t, full, patient(fake.address()), fullNodes(web, "a", "b")...)
	if result, status := w.preempt(web); fake.reprieves != 1 || status.IsSuccess() || result != nil && result.NominatingInfo != nil && result.NominatedNodeName != "" {
		t.Errorf("%+v, %v", result, status)
	}
}
