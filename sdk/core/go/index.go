package nodesift

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Index follows the node index of a sidecar, across reconnects and restarts.
type Index struct {
	mutex   sync.RWMutex
	names   *RowNames
	err     error
	changed chan struct{}
}

func newIndex() *Index { return &Index{changed: make(chan struct{})} }

// Names is the newest table, and nil before the first. While the sidecar cannot be reached it stays what it was; see
// [Index.Err].
func (x *Index) Names() *RowNames {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.names
}

// Changed is closed when [Index.Names] is another table.
func (x *Index) Changed() <-chan struct{} {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.changed
}

// Err says why the index is not followed at present, and is nil while it is.
func (x *Index) Err() error {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.err
}

// Wait waits for the first table. Where there is none in time, the error says why.
func (x *Index) Wait(ctx context.Context) (*RowNames, error) {
	for {
		changed := x.Changed()
		if names := x.Names(); names != nil {
			return names, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), x.Err())
		}
	}
}

// adopt makes a table from an answer the newest one, if it is a later one of the same epoch. Which of two epochs is the newer
// one only the stream knows, because its messages are in order.
func (x *Index) adopt(names *RowNames) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if x.names != nil && names.epoch == x.names.epoch && names.generation > x.names.generation {
		x.set(names)
	}
}

// adoptStreamed makes a table from the stream the newest one, unless an answer has brought a later one.
func (x *Index) adoptStreamed(names *RowNames) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.err = nil
	if x.names == nil || names.epoch != x.names.epoch || names.generation > x.names.generation {
		x.set(names)
	}
}

// set is called with the lock.
func (x *Index) set(names *RowNames) {
	x.names = names
	close(x.changed)
	x.changed = make(chan struct{})
}

// broken notes why the stream has ended. A table that did not follow from ours makes ours worthless too.
func (x *Index) broken(err error) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.err = err
	if errors.Is(err, ErrTable) {
		x.set(nil)
	}
}

// follow reads streams, one after the other, until the client is closed.
func (x *Index) follow(ctx context.Context, stub nodesiftv1.NodesiftClient) {
	delay := backoffBase
	for {
		complete, err := x.read(ctx, stub)
		if ctx.Err() != nil {
			return
		}
		x.broken(err)
		if complete {
			delay = backoffBase
		}
		jitter := 1 + backoffJitter*(2*rand.Float64()-1)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(float64(delay) * jitter)):
		}
		delay = min(time.Duration(float64(delay)*backoffMultiplier), backoffMax)
	}
}

// read follows one stream to its end, and says whether it brought a table.
func (x *Index) read(ctx context.Context, stub nodesiftv1.NodesiftClient) (complete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	names := x.Names()
	// While the sidecar is away, gRPC connects, with its own back-off. The failures of that are in the log of gRPC.
	stream, err := stub.NodeIndex(ctx, &nodesiftv1.NodeIndexRequest{Known: names.Known()}, grpc.WaitForReady(true))
	if err != nil {
		return false, failure(err)
	}
	var parts *nodesiftv1.RowTable
	for {
		message, err := stream.Recv()
		if err != nil {
			return complete, failure(err)
		}
		if parts, err = join(parts, message.GetRows()); err != nil {
			return complete, err
		}
		if !message.GetComplete() {
			continue
		}
		if names, err = names.With(parts); err != nil {
			return complete, err
		}
		parts, complete = nil, true
		x.adoptStreamed(names)
	}
}

// join adds a part of a difference to those before it. Only the first can replace the table.
func join(parts, part *nodesiftv1.RowTable) (*nodesiftv1.RowTable, error) {
	if parts == nil {
		return part, nil
	}
	if part.GetEpoch() != parts.GetEpoch() || part.GetGeneration() != parts.GetGeneration() ||
		part.GetCount() != parts.GetCount() || part.GetWhole() {
		return nil, fmt.Errorf("%w: a part is of another table than those before it", ErrTable)
	}
	parts.Changes = append(parts.Changes, part.GetChanges()...)
	return parts, nil
}
