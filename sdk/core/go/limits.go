package nodesift

import "time"

const (
	// DefaultTimeout is the time of a call whose context has no deadline: that of the sidecar for a request.
	DefaultTimeout = 2 * time.Second

	// Silence on a connection before it is pinged, and the time for the answer. A shorter one is not taken by gRPC.
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 5 * time.Second

	// Back-off of connections and of the node index. A sidecar is on the same machine and restarts within seconds.
	backoffBase       = 50 * time.Millisecond
	backoffMax        = 2 * time.Second
	backoffMultiplier = 1.6
	backoffJitter     = 0.2
	connectTimeout    = time.Second

	// Largest message in bytes. The index of 100,000 nodes with long names takes 27 MB.
	maxMessageBytes = 64 << 20

	// Names beside the shared map of a table before that map is made anew. Each change of the table copies them, which takes
	// some microseconds.
	maxRecentNames = 512

	// Requests on a stream that are not answered yet. A core asks about one pod at a time and reports some placements beside
	// it, so more are a sidecar that does not read.
	maxStreamRequests = 1024
)
