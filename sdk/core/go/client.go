package nodesift

import (
	"context"
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Client calls a sidecar. Its methods can be called from many goroutines.
type Client struct {
	connection  *grpc.ClientConn
	stub        nodesiftv1.NodesiftClient
	negotiation nodesiftv1.NegotiationClient
	parties     nodesiftv1.PartiesClient
	index       *Index
	supported   atomic.Pointer[Capabilities]
	timeout     time.Duration
	closed      context.Context
	stop        context.CancelFunc
	following   sync.WaitGroup
}

// DialOption is an option of [Dial].
type DialOption func(*dial)

type dial struct {
	timeout      time.Duration
	credentials  credentials.TransportCredentials
	waitForReady bool
	tell         func(*Capabilities)
	more         []grpc.DialOption
}

// Timeout is the time of a call whose context has no deadline; [DefaultTimeout] unless given.
func Timeout(timeout time.Duration) DialOption {
	return func(d *dial) { d.timeout = timeout }
}

// TLS is the configuration of TLS, with a client certificate where the sidecar requires one. Off loopback, it always does.
func TLS(config *tls.Config) DialOption {
	return func(d *dial) { d.credentials = credentials.NewTLS(config) }
}

// WaitForReady makes calls wait for a sidecar that cannot be reached, until their deadline. Otherwise they fail at once.
func WaitForReady() DialOption {
	return func(d *dial) { d.waitForReady = true }
}

// GRPC adds options of gRPC, such as interceptors.
func GRPC(options ...grpc.DialOption) DialOption {
	return func(d *dial) { d.more = append(d.more, options...) }
}

// Dial makes a client of the sidecar at a target of gRPC, such as unix:///run/nodesift/nodesift.sock or
// dns:///localhost:10270. It returns at once, connects in the background, and connects again where the connection is lost.
func Dial(target string, options ...DialOption) (*Client, error) {
	d := dial{timeout: DefaultTimeout, credentials: insecure.NewCredentials()}
	for _, option := range options {
		option(&d)
	}
	connection, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(d.credentials),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.WaitForReady(d.waitForReady)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepAliveTime, Timeout: keepAliveTimeout}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: backoffBase, Multiplier: backoffMultiplier, Jitter: backoffJitter, MaxDelay: backoffMax,
			},
			MinConnectTimeout: connectTimeout,
		}),
	}, d.more...)...)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	client := &Client{
		connection:  connection,
		stub:        nodesiftv1.NewNodesiftClient(connection),
		negotiation: nodesiftv1.NewNegotiationClient(connection),
		parties:     nodesiftv1.NewPartiesClient(connection),
		index:       newIndex(),
		timeout:     d.timeout,
		closed:      ctx,
		stop:        stop,
	}
	client.following.Go(func() { client.index.follow(ctx, client.stub) })
	client.following.Go(func() { client.learn(ctx, d.tell) })
	return client, nil
}

// Close ends the connection and the calls on it.
func (c *Client) Close() error {
	c.stop()
	err := c.connection.Close()
	c.following.Wait()
	return err
}

// Connect begins to connect where there is no connection, also where the client would wait for a while after a failure. It does not
// wait. For cores that try in the background whether a sidecar has come back.
func (c *Client) Connect() {
	c.connection.ResetConnectBackoff()
	c.connection.Connect()
}

// Done is closed by [Client.Close], for what a core does with the client in the background.
func (c *Client) Done() <-chan struct{} { return c.closed.Done() }

// Index is the node index, which the client follows from [Dial] on.
func (c *Client) Index() *Index { return c.index }

// Stub is the generated client, for the calls that this package has no method for.
func (c *Client) Stub() nodesiftv1.NodesiftClient { return c.stub }

// deadline gives a context without a deadline that of the client, and the time for which the call may wait beside it.
func (c *Client) deadline(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.timeout+wait)
}
