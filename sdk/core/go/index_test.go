package nodesift

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// script is a sidecar whose streams of the node index are written down.
type script struct {
	nodesiftv1.NodesiftClient
	grpc.ServerStreamingClient[nodesiftv1.NodeIndexResponse]
	messages []*nodesiftv1.NodeIndexResponse
	known    *nodesiftv1.Bitmaps
}

func (s *script) NodeIndex(_ context.Context, request *nodesiftv1.NodeIndexRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[nodesiftv1.NodeIndexResponse], error) {
	s.known = request.GetKnown()
	return s, nil
}

func (s *script) Recv() (*nodesiftv1.NodeIndexResponse, error) {
	if len(s.messages) == 0 {
		return nil, io.EOF
	}
	message := s.messages[0]
	s.messages = s.messages[1:]
	return message, nil
}

// inParts is a table of which every row is a message.
func inParts(generation uint64, whole bool, names map[uint32]string, count uint32) []*nodesiftv1.NodeIndexResponse {
	var messages []*nodesiftv1.NodeIndexResponse
	for row := range count {
		if name, ok := names[row]; ok {
			messages = append(messages, &nodesiftv1.NodeIndexResponse{Rows: &nodesiftv1.RowTable{
				Epoch: 7, Generation: generation, Count: count, Whole: whole && len(messages) == 0,
				Changes: []*nodesiftv1.RowName{{Row: row, Node: name}},
			}})
		}
	}
	messages[len(messages)-1].Complete = true
	return messages
}

func TestTablesInPartsAreReadWholeAndResumedFromTheLast(t *testing.T) {
	index := newIndex()
	first := inParts(1, true, map[uint32]string{0: "a", 1: "b", 2: "c"}, 3)
	second := inParts(2, false, map[uint32]string{0: "c", 2: "d", 3: "e"}, 4)
	// The third is cut off before its end, and counts for nothing.
	third := inParts(3, false, map[uint32]string{0: "x", 1: "y"}, 4)[:1]
	sidecar := &script{messages: slices.Concat(first, second, third)}
	complete, err := index.read(t.Context(), sidecar)
	if !complete || errors.Is(err, ErrTable) || err == nil {
		t.Fatalf("%t, %v", complete, err)
	}
	if names := index.Names(); !slices.Equal(names.names, []string{"c", "b", "d", "e"}) || names.generation != 2 {
		t.Errorf("%v at %d", names.names, names.generation)
	}
	sidecar.messages = inParts(3, false, map[uint32]string{0: "x", 1: "y"}, 4)
	if complete, err := index.read(t.Context(), sidecar); !complete || errors.Is(err, ErrTable) {
		t.Fatalf("%t, %v", complete, err)
	}
	if sidecar.known.GetEpoch() != 7 || sidecar.known.GetGeneration() != 2 {
		t.Errorf("resumed from %v", sidecar.known)
	}
	if names := index.Names(); !slices.Equal(names.names, []string{"x", "y", "d", "e"}) {
		t.Error(names.names)
	}
	// A part of another generation than those before it.
	sidecar.messages = slices.Concat(inParts(4, false, map[uint32]string{0: "p", 1: "q"}, 4)[:1], inParts(5, false, map[uint32]string{1: "r"}, 4))
	if _, err := index.read(t.Context(), sidecar); !errors.Is(err, ErrTable) {
		t.Errorf("parts of two generations: %v", err)
	}
}
