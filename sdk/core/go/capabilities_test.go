package nodesift_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// older is a sidecar that does not know Capabilities, nor any call but one.
type older struct {
	nodesiftv1.UnimplementedNodesiftServer
}

func (older) NodeIndex(_ *nodesiftv1.NodeIndexRequest, stream grpc.ServerStreamingServer[nodesiftv1.NodeIndexResponse]) error {
	rows := &nodesiftv1.RowTable{Epoch: 1, Generation: 1, Whole: true}
	if err := stream.Send(&nodesiftv1.NodeIndexResponse{Rows: rows, Complete: true}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// newer is a sidecar that has a call which this client does not know, and lacks one that it does.
type newer struct{ older }

func (newer) Capabilities(context.Context, *nodesiftv1.CapabilitiesRequest) (*nodesiftv1.CapabilitiesResponse, error) {
	return &nodesiftv1.CapabilitiesResponse{
		Version: "9.0.0",
		Calls: []*nodesiftv1.SupportedCall{
			{Name: "Filter", Service: "nodesift.v1.Nodesift", Http: "POST /v1/filter"},
			{Name: "Divine", Service: "nodesift.v1.Nodesift"},
			{Name: "State", Http: "GET /v1/state"},
		},
	}, nil
}

// scripted serves a sidecar of the test, and returns where.
func scripted(t *testing.T, of nodesiftv1.NodesiftServer) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "n.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	nodesiftv1.RegisterNodesiftServer(server, of)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "unix://" + socket
}

// learned is what a client is told of a sidecar once it has connected.
func learned(t *testing.T, target string) *nodesift.Capabilities {
	t.Helper()
	told := make(chan *nodesift.Capabilities, 1)
	client := dial(t, target, nodesift.OnCapabilities(func(known *nodesift.Capabilities) { told <- known }))
	select {
	case known := <-told:
		if client.Supported() != known {
			t.Errorf("%v is known, and %v was told", client.Supported(), known)
		}
		return known
	case <-time.After(scaled(time.Minute)):
		t.Fatal("nothing is told")
		return nil
	}
}

func TestAnOlderSidecarIsSaidToLackWhatCameAfterIt(t *testing.T) {
	target := scripted(t, older{})
	known := learned(t, target)
	if known.Version != "" || !known.Supports("Reprieve") || known.Supports("Capabilities") {
		t.Errorf("it supports %+v", known)
	}
	err := known.Require("Filter", "Capabilities", "Divine")
	var missing *nodesift.UnsupportedError
	if !errors.Is(err, nodesift.ErrUnsupported) || !errors.As(err, &missing) || !slices.Equal(missing.Missing, []string{"Capabilities", "Divine"}) {
		t.Errorf("it lacks %v", err)
	}
	if known.Require("Filter", "Select") != nil {
		t.Error("calls that are older than Capabilities count as there")
	}
	// A call that it does not have all the same says so.
	if _, err := dial(t, target).Reprieve(t.Context(), nodesift.PodUID("a"), nil); !errors.Is(err, nodesift.ErrUnsupported) {
		t.Errorf("a call that it does not have fails with %v", err)
	}
}

func TestANewerSidecarIsSaidToLackWhatItHasGivenUp(t *testing.T) {
	known := learned(t, scripted(t, newer{}))
	if !slices.Equal(known.Calls, []string{"Divine", "Filter"}) {
		t.Errorf("its calls are %v", known.Calls)
	}
	err := known.Require("Filter", "Reprieve")
	if !errors.Is(err, nodesift.ErrUnsupported) || !strings.Contains(err.Error(), "9.0.0") || !strings.Contains(err.Error(), "Reprieve") {
		t.Errorf("it lacks %v", err)
	}
}

func TestTheSidecarOfThisVersionSupportsEveryCallOfItsProto(t *testing.T) {
	needBinary(t)
	known := learned(t, target)
	services := nodesiftv1.File_nodesift_v1_nodesift_proto.Services()
	for at := range services.Len() {
		methods := services.Get(at).Methods()
		for method := range methods.Len() {
			if name := string(methods.Get(method).Name()); known.Require(name) != nil {
				t.Errorf("%v", known.Require(name))
			}
		}
	}
	if known.Version == "" || known.KubernetesVersion == "" || known.Limits["reprieveNodes"] != nodesift.MaxReprieveNodes {
		t.Errorf("it supports %+v", known)
	}
	if !slices.Contains(known.Policy.Predicates, "NodeResourcesFit") || known.Policy.Generation == 0 {
		t.Errorf("its policy is %+v", known.Policy)
	}
}

// firstCalls are those of a client from before Capabilities.
var firstCalls = []string{
	"Assume", "Attend", "Explain", "Filter", "FilterStream", "Forget", "Negotiate", "NodeIndex", "PreFilterPredicates",
	"PreemptionPredicates", "Predicates", "Release", "Reprieve", "Select",
}

func TestAClientOfAnotherVersionIsAnsweredAsFarAsBothKnow(t *testing.T) {
	needBinary(t)
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), scaled(time.Minute))
	defer cancel()

	// An older one reads what it knows of the answer, which may be nothing, and has every call that it needs.
	var old emptypb.Empty
	if err := conn.Invoke(ctx, nodesiftv1.Nodesift_Capabilities_FullMethodName, &nodesiftv1.CapabilitiesRequest{}, &old); err != nil || len(old.ProtoReflect().GetUnknown()) == 0 {
		t.Errorf("an older client is told %v, %v", &old, err)
	}
	known := learned(t, target)
	if err := known.Require(firstCalls...); err != nil {
		t.Errorf("an older client: %v", err)
	}

	// A newer one is answered without what it asks for besides, and is told of calls that there are not, before it makes them and after.
	var request nodesiftv1.CapabilitiesRequest
	request.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), "more"))
	var answer nodesiftv1.CapabilitiesResponse
	if err := conn.Invoke(ctx, nodesiftv1.Nodesift_Capabilities_FullMethodName, &request, &answer); err != nil || answer.GetVersion() != known.Version {
		t.Errorf("a newer client is told %v, %v", &answer, err)
	}
	err = conn.Invoke(ctx, "/nodesift.v1.Nodesift/Divine", &emptypb.Empty{}, &emptypb.Empty{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a call that there is not: %v", err)
	}
	if err := known.Require("Filter", "Divine"); !errors.Is(err, nodesift.ErrUnsupported) || !strings.Contains(err.Error(), "Divine") {
		t.Errorf("a newer client is told that it lacks %v", err)
	}
}
