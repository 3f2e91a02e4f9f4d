package nodesift

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Stream asks on one stream: requests are answered in their order, each on a snapshot at least as new as the one before it, and
// the next one can be sent before the answer has come. It costs less a call than [Client.Feasible]. One slow request holds up
// those after it, so requests that take long are better asked by the client itself.
//
// Its methods can be called from many goroutines. Where the stream is lost, the calls on it fail with [ErrUnavailable], and the
// next call begins another one. A request without an answer in its time ends the stream, because nothing behind it would be
// answered either. What was assumed on a lost stream can be unknown to the process that answers on the next one: [Set.Stream].
type Stream struct {
	client *Client
	ctx    context.Context
	stop   context.CancelFunc
	// Full while a request is being sent, or a stream begun, for which nobody waits longer than the time of its own request.
	turn   chan struct{}
	mutex  sync.Mutex
	on     *conversation
	number uint64
}

// conversation is one stream of gRPC.
type conversation struct {
	number  uint64
	stream  nodesiftv1.Nodesift_FilterStreamClient
	cancel  context.CancelFunc
	last    uint64
	waiting []waiting
	// Why it has ended.
	err error
}

type waiting struct {
	id   uint64
	done func(*nodesiftv1.FilterResponse, error)
}

// Stream makes a stream, which begins with its first call.
func (c *Client) Stream() *Stream {
	ctx, stop := context.WithCancel(context.Background())
	return &Stream{client: c, ctx: ctx, stop: stop, turn: make(chan struct{}, 1)}
}

// Close ends the stream. Calls on it fail.
func (s *Stream) Close() { s.stop() }

// Feasible is [Client.Feasible] on this stream.
func (s *Stream) Feasible(ctx context.Context, pod Pod, options ...FeasibleOption) (Set, error) {
	asked, err := s.client.ask(pod, options)
	if err != nil {
		return Set{}, err
	}
	ctx, cancel := s.client.deadline(ctx, waits(asked.request.GetConsistency()))
	defer cancel()
	type outcome struct {
		response *nodesiftv1.FilterResponse
		err      error
	}
	answered := make(chan outcome, 1)
	on := s.send(ctx, timed(ctx, &asked.request), func(response *nodesiftv1.FilterResponse, err error) {
		answered <- outcome{response, err}
	})
	select {
	case outcome := <-answered:
		if outcome.err != nil {
			return Set{}, outcome.err
		}
		asked.stream = on.number
		return s.client.read(asked, outcome.response)
	case <-ctx.Done():
		err := late(ctx)
		if errors.Is(err, ErrDeadline) {
			s.end(on, lost("a request on it was not answered in time"))
		}
		return Set{}, err
	}
}

// Changes is what became of [Stream.Change] or [Client.Place].
type Changes struct {
	// As [Set.Assumed], [Set.Forgotten] and [Set.Stream], which is 0 after [Client.Place].
	Assumed   []AssumeOutcome
	Forgotten []ForgetOutcome
	Stream    uint64
}

// Change makes changes and evaluates nothing. It returns once they are sent; every later request on this stream sees them.
// Options are [AssumeFirst] and [ForgetFirst]. Done is called once with what became of them, before any later request on this
// stream is answered; it must neither block nor call the stream.
func (s *Stream) Change(ctx context.Context, done func(Changes, error), options ...FeasibleOption) {
	of := &feasible{}
	for _, option := range options {
		option.feasible(of)
	}
	if of.err != nil {
		done(Changes{}, of.err)
		return
	}
	ctx, cancel := s.client.deadline(ctx, 0)
	defer cancel()
	var number uint64
	s.sendOn(ctx, &of.request, func(on *conversation) { number = on.number }, func(response *nodesiftv1.FilterResponse, err error) {
		done(Changes{assumedOf(response.GetAssumed()), forgottenOf(response.GetForgotten()), number}, err)
	})
}

// timed gives a request the time that its context has left, for a request on a stream has no header for it. It is rounded down,
// so that the sidecar says that it was too slow before the client gives the stream up.
func timed(ctx context.Context, request *nodesiftv1.FilterRequest) *nodesiftv1.FilterRequest {
	if deadline, ok := ctx.Deadline(); ok {
		request.TimeoutMs = proto.Uint32(uint32(max(time.Until(deadline)/time.Millisecond, 1)))
	}
	return request
}

func late(ctx context.Context) error {
	code := codes.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return &Error{Code: code, Message: "no answer on the stream in time"}
}

func lost(why string) error {
	return &Error{Code: codes.Unavailable, Message: "the stream is lost: " + why}
}

func (s *Stream) send(
	ctx context.Context, request *nodesiftv1.FilterRequest, done func(*nodesiftv1.FilterResponse, error),
) *conversation {
	return s.sendOn(ctx, request, func(*conversation) {}, done)
}

// sendOn sends a request, tells before on which stream, and has `done` called once.
func (s *Stream) sendOn(
	ctx context.Context, request *nodesiftv1.FilterRequest, before func(*conversation), done func(*nodesiftv1.FilterResponse, error),
) *conversation {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		done(nil, late(ctx))
		return &conversation{cancel: func() {}}
	}
	on, err := s.current(ctx)
	if err == nil {
		err = s.enqueue(on, before, done)
	}
	if err != nil {
		<-s.turn
		if of := (*Error)(nil); !errors.As(err, &of) {
			err = failure(err)
		}
		done(nil, err)
		return on
	}
	// Where the other side does not read, Send blocks.
	inTime := context.AfterFunc(ctx, on.cancel)
	err = on.stream.Send(&nodesiftv1.FilterStreamRequest{Id: on.last, Filter: request})
	inTime()
	<-s.turn
	if err != nil {
		// Send tells only that the stream is over. The reader is told why, and tells those who wait.
		on.cancel()
	}
	return on
}

// enqueue notes who waits for the answer to the request that is sent next. Where there is an error, nobody does.
func (s *Stream) enqueue(on *conversation, before func(*conversation), done func(*nodesiftv1.FilterResponse, error)) error {
	s.mutex.Lock()
	if on.err != nil {
		defer s.mutex.Unlock()
		return on.err
	}
	if len(on.waiting) >= maxStreamRequests {
		s.mutex.Unlock()
		err := lost(fmt.Sprintf("%d requests on it are not answered", maxStreamRequests))
		s.end(on, err)
		return err
	}
	defer s.mutex.Unlock()
	before(on)
	on.last++
	on.waiting = append(on.waiting, waiting{on.last, done})
	return nil
}

// current is the stream that there is, or a new one. It is called by whoever has the turn.
func (s *Stream) current(within context.Context) (*conversation, error) {
	s.mutex.Lock()
	on := s.on
	alive := on != nil && on.err == nil
	s.mutex.Unlock()
	if alive {
		return on, nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	// While gRPC connects, this waits.
	inTime := context.AfterFunc(within, cancel)
	stream, err := s.client.stub.FilterStream(ctx)
	inTime()
	if err != nil && within.Err() != nil {
		err = lost("it did not begin in time")
	}
	if err != nil {
		cancel()
		return &conversation{cancel: func() {}}, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.number++
	s.on = &conversation{number: s.number, stream: stream, cancel: cancel}
	go s.listen(s.on)
	return s.on, nil
}

// listen reads answers until the stream is over.
func (s *Stream) listen(on *conversation) {
	for {
		message, err := on.stream.Recv()
		if err != nil {
			s.end(on, lost(err.Error()))
			return
		}
		s.mutex.Lock()
		if len(on.waiting) == 0 || on.waiting[0].id != message.GetId() {
			s.mutex.Unlock()
			s.end(on, lost(fmt.Sprintf("request %d was answered out of turn", message.GetId())))
			return
		}
		first := on.waiting[0]
		on.waiting[0] = waiting{}
		on.waiting = on.waiting[1:]
		s.mutex.Unlock()
		if message.GetError() != nil {
			first.done(nil, errorOf(message.GetError()))
		} else {
			first.done(message.GetAnswer(), nil)
		}
	}
}

// end fails all that wait on a stream.
func (s *Stream) end(on *conversation, err error) {
	s.mutex.Lock()
	if on.err == nil {
		on.err = err
	}
	unanswered := on.waiting
	on.waiting = nil
	s.mutex.Unlock()
	on.cancel()
	for _, waiting := range unanswered {
		waiting.done(nil, err)
	}
}
