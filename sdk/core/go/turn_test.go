package nodesift_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// full is a stream to a side that does not read: what is sent waits until the stream ends.
type full struct {
	grpc.ClientStream
	sending chan struct{}
}

func (f full) SendMsg(message any) error {
	if _, ok := message.(*nodesiftv1.FilterStreamRequest); !ok {
		return f.ClientStream.SendMsg(message)
	}
	f.sending <- struct{}{}
	<-f.Context().Done()
	return io.EOF
}

// A change may have more time than a question, and keeps no question waiting for longer than its own.
func TestAQuestionOnAStreamHasItsOwnTimeWhateverIsBeingSent(t *testing.T) {
	sending := make(chan struct{}, 10)
	client := dial(t, smallCluster(t).target(), nodesift.GRPC(grpc.WithStreamInterceptor(func(
		ctx context.Context, of *grpc.StreamDesc, on *grpc.ClientConn, method string, streamer grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		stream, err := streamer(ctx, of, on, method, options...)
		return full{stream, sending}, err
	})))
	stream := client.Stream()
	defer stream.Close()
	long, end := context.WithTimeout(t.Context(), scaled(time.Minute))
	defer end()
	changed := make(chan error, 1)
	go stream.Change(long, func(_ nodesift.Changes, err error) { changed <- err }, nodesift.AssumeFirst(nodesift.PodUID("uid-web"), "empty"))
	<-sending
	for range 3 {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := stream.Feasible(short, nodesift.PodUID("uid-web"))
		cancel()
		if !errors.Is(err, nodesift.ErrDeadline) {
			t.Fatal(err)
		}
		if len(changed) > 0 {
			t.Fatalf("the question ends with the change, or ends it: %v", <-changed)
		}
	}
	end()
	if err := <-changed; err == nil {
		t.Fatal("nobody has read it")
	}
}
