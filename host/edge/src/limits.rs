//! Every limit of the edge, with its unit and its reason.

use std::time::Duration;

/// Connections of one listener. Each listener has its own limit, so that a flood over TCP leaves the Unix socket free.
pub const CONNECTIONS: usize = 1024;

/// Connections of the explorer's listener: a browser opens six, and ten people look at a cluster while something is wrong with it.
pub const EXPLORER_CONNECTIONS: usize = 64;

/// Bytes of requests of the explorer's listener in each of three states: not arrived whole, worked on, waiting for a version. A body of
/// 1 MiB and its decoded names fit. With the bytes of unread answers, all that its clients can make the process hold is 16 MiB.
pub const EXPLORER_REQUEST_BYTES: usize = 2 << 20;

/// Bytes of encoded answers that the clients of the explorer's listener have not read: one page of nodes with some labels at 100,000 nodes
/// is about 5 MB.
pub const EXPLORER_UNSENT_BYTES: usize = 8 << 20;

/// The part of [`EXPLORER_UNSENT_BYTES`] that large answers leave to those of at most [`STREAM_CHUNK`] bytes.
pub const EXPLORER_UNSENT_RESERVE_BYTES: usize = 1 << 20;

/// Bytes of encoded answers of one connection of the explorer's listener.
pub const EXPLORER_CONNECTION_BYTES: usize = 6 << 20;

/// Bytes of small frames that the clients of the explorer's listener have not read.
pub const EXPLORER_SMALL_BYTES: usize = 512 << 10;

/// Bytes of answers of the explorer's listener that were encoded, or compressed, while they are sent: those of a dozen readers at once.
pub const EXPLORER_PIECES_BYTES: usize = 3 << 19;

/// Time until a connection is accepted again where the system has no file descriptor left for one: some have ended then.
pub const ACCEPT_RETRY: Duration = Duration::from_secs(1);

/// Time for a TLS handshake: two round trips and a signature, with room for a slow network.
pub const TLS_HANDSHAKE: Duration = Duration::from_secs(5);

/// Bytes of each file of certificates or of a key: the roots of all public authorities have some hundred KB.
pub const TLS_FILE_BYTES: u64 = 8 << 20;

/// Interval between checks of the certificate files; a check costs three `stat` calls.
pub const TLS_LOOK: Duration = Duration::from_secs(1);

/// Time for the head of an HTTP/1 request, and for the first bytes that tell HTTP/1 from HTTP/2; also how long an HTTP/1
/// connection may idle. Reconnecting over loopback is cheap.
pub const HEAD_TIME: Duration = Duration::from_secs(5);

/// Bytes of the head of an HTTP/1 request, and of the connection's read buffer, which is full while a large body waits for
/// its budget. hyper's minimum is 8 KiB; a path and a few headers need less.
pub const HEAD_BYTES: usize = 16 * 1024;

/// Headers of an HTTP/1 request; proxies add a dozen.
pub const HEADERS: usize = 64;

/// Bytes of all headers of an HTTP/2 request, uncompressed.
pub const H2_HEADER_BYTES: u32 = 16 * 1024;

/// Concurrent streams of one HTTP/2 connection: a core pipelines tens of pods.
pub const H2_STREAMS: u32 = 100;

/// Receive window of one HTTP/2 stream, in bytes.
pub const H2_STREAM_WINDOW: u32 = 64 * 1024;

/// Receive window of one HTTP/2 connection, in bytes: what its peer may have sent before any handler has read it.
pub const H2_CONNECTION_WINDOW: u32 = 128 * 1024;

/// Bytes of a response that one HTTP/2 stream buffers before the writer waits.
pub const H2_SEND_BUFFER: usize = 256 * 1024;

/// Bytes of a connection's small writes that leave together: an answer about one pod as a bitmap over 30,000 nodes. Copying them
/// costs less than a system call; larger writes are not copied. All connections of a listener hold 4 MiB at most.
pub const JOINED_BYTES: usize = 4 * 1024;

/// Control frames that a peer may send at once beside its requests: a client that sets windows of its streams sends some hundred. After a
/// minute without any it is twice this number, because what its time has earned is counted once the first are spent.
pub const CONTROL_FRAMES: u32 = 4_096;

/// Control frames that a peer may send per second in the long run: pings that measure, of a client that is otherwise idle.
pub const CONTROL_FRAMES_PER_SECOND: u32 = 64;

/// Control frames that a peer may send for each head of a request, and each frame of a response: two windows, and a ping that
/// measures.
pub const CONTROL_FRAMES_PER_FRAME: u32 = 4;

/// Bytes of a frame of a response from which on it leads to so many: nearly every message of a stream has as many. A shorter one leads to
/// one control frame, and none where it is no message: it leaves where the client opens its windows byte by byte, which would pay for
/// itself.
pub const ANSWERED_DATA_BYTES: usize = 32;

/// Bytes of a frame of a request's body below which it counts as a control frame: those before a message of gRPC. Nobody cuts a body
/// smaller, but for its last frame.
pub const TINY_DATA_BYTES: usize = 5;

/// Time for a peer that has sent too many to read that, before its connection is closed.
pub const GOODBYE_TIME: Duration = Duration::from_secs(1);

/// Interval of HTTP/2 pings that find dead peers.
pub const H2_PING: Duration = Duration::from_secs(20);

/// Time for the acknowledgement of such a ping.
pub const H2_PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a client may leave a response unread with full buffers before its connection is closed.
pub const WRITE_STALL: Duration = Duration::from_secs(5);

/// Time for one frame of a response, [`STREAM_CHUNK`] bytes at most, to be taken once it is handed to the connection, whatever
/// the connection's other streams do: twice [`WRITE_STALL`], since a hundred streams may share a slow reader.
pub const FRAME_TIME: Duration = Duration::from_secs(10);

/// Time for one frame of a response to be taken once the process drains: a stream whose client does not read cannot end by itself.
pub const DRAIN_FRAME_TIME: Duration = Duration::from_secs(1);

/// Interval at which frames and responses past their time are looked for, on connections that have any.
pub const SEND_TICK: Duration = Duration::from_secs(1);

/// Time for a response to be sent whole from its first byte on, for clients that read it slowly. A dump of a million pods takes
/// some seconds.
pub const SEND_TIME: Duration = Duration::from_secs(60);

/// Bytes of one chunk of a dump, a stream or a long response.
pub const STREAM_CHUNK: usize = 64 * 1024;

/// Bytes of encoded responses that the clients of one listener have not read. For more, the connection that holds most is closed if
/// it has held some for [`UNSENT_PATIENCE`]; else they are refused.
pub const UNSENT_BYTES: usize = 24 << 20;

/// The part of [`UNSENT_BYTES`] that large responses leave to those of at most [`STREAM_CHUNK`] bytes. Two cores that begin with
/// two requests in flight each on 100,000 nodes get the whole node index four times, 5 MB each with its bitmaps.
pub const UNSENT_RESERVE_BYTES: usize = 4 << 20;

/// Time that a client may leave a response unread while others need its room: over loopback one of 16 MiB takes some tens of
/// milliseconds.
pub const UNSENT_PATIENCE: Duration = Duration::from_millis(100);

/// Bytes of a small frame: answers to probes, errors, events. They never wait behind large ones.
pub const SMALL_FRAME: usize = 4 << 10;

/// Bytes that a small frame counts for at least: what the connection needs for it.
pub const SMALL_FRAME_LEAST: usize = 512;

/// Bytes of small frames that the clients of one listener have not read, besides one frame of each connection. For more, room is
/// made as in [`UNSENT_BYTES`], or their stream ends.
pub const UNSENT_SMALL_BYTES: usize = 4 << 20;

/// Bytes of small frames that the client of one connection has not read: a frame of each stream.
pub const CONNECTION_SMALL_BYTES: usize = H2_STREAMS as usize * SMALL_FRAME;

/// Bytes that a response counts for beside its body, until it is sent: the task and the stream of its request.
pub const RESPONSE_BYTES: usize = 2 << 10;

/// Bytes of connections that are closed since others need their room, until they have ended, unless it is one with more: on a busy
/// machine that takes a while, in which no more are closed.
pub const UNSENT_CLOSING_BYTES: usize = 12 << 20;

/// Bytes of a response or an event that, as the first of its connection, finds a place where there is no room: a question to a party
/// about 256 nodes. With as many as there may be connections it is 16 MiB.
pub const FIRST_BYTES: usize = 16 << 10;

/// Bytes of responses that were encoded while they are sent and that the clients of one listener have not read. More wait until
/// some are read, or the connection that holds most is closed as in [`UNSENT_BYTES`].
pub const UNSENT_PIECES_BYTES: usize = 8 << 20;

/// Bytes of responses of one connection that were encoded while they are sent: two pieces, so that one is encoded while the other
/// is sent. More would let a few slow readers hold up all others.
pub const CONNECTION_PIECES_BYTES: usize = 2 * STREAM_CHUNK;

/// Bytes of encoded responses of one connection, unless it is a single large one: the whole node index of 100,000 nodes twice.
/// Less where the listener has less left: many connections that do not read leave room to the others.
pub const CONNECTION_UNSENT_BYTES: usize = 12 << 20;

/// Bytes of all requests of one class of listeners that have not arrived whole, or one body of the configured size where that
/// is more. Over loopback 4 MiB arrive in milliseconds, and silent senders give way.
pub const ARRIVING_BYTES: usize = 5 << 20;

/// Bytes of all requests of one class of listeners that have arrived whole and are not answered: twenty extender calls of 5,000
/// nodes by name, or one gRPC request that names 100,000 nodes (64 bytes each).
pub const PENDING_BYTES: usize = 8 << 20;

/// Bytes of all requests of one class of listeners that wait for a version of the cluster.
pub const WAITING_BYTES: usize = 5 << 20;

/// Bytes of each of these budgets that are kept for small requests: a hundred by name or UID never queue behind large ones.
pub const SMALL_RESERVE_BYTES: usize = 512 << 10;

/// Bytes that a request counts for besides its body: head, stream, task and timers of an HTTP/2 request.
pub const REQUEST_BYTES: usize = 4 << 10;

/// Bytes of a request that is small, [`REQUEST_BYTES`] included, and of a body that needs no pages of its own.
pub const SMALL_BYTES: usize = 16 << 10;

/// Silence after which a sender gives way to others that need its room: over loopback the next bytes come within microseconds,
/// and a busy machine runs every thread within some milliseconds.
pub const SILENCE: Duration = Duration::from_millis(20);

/// Bytes that end a silence. Fewer now and then would let a sender hold megabytes.
pub const PROGRESS_BYTES: usize = 16 << 10;

/// Time that a request waits for room while it arrives: many times [`SILENCE`], after which silent senders have given way, and a
/// quarter of the time that a request has.
pub const ROOM_WAIT: Duration = Duration::from_millis(500);

/// Time that the first of those who wait leaves the others their room: silent senders give way after [`SILENCE`], those that
/// became silent just now included.
pub const ROOM_PATIENCE: Duration = Duration::from_millis(50);

/// Interval at which it looks for room.
pub const ROOM_TICK: Duration = Duration::from_millis(5);

/// Requests of one class of listeners that wait for room at once; each may have 64 KiB in buffers of its connection.
pub const ROOM_WAITERS: usize = 64;

/// Time without a sign of life after which a connection or stream leaves its place for another: a request follows its
/// connection within milliseconds.
pub const PLACE_IDLE: Duration = Duration::from_millis(200);

/// Connections that leave at once when places are needed: so a flood of a thousand delays a probe by a second or two.
pub const DISMISSALS: usize = 32;

/// Interval at which more are asked to leave while a place is needed.
pub const PLACE_TICK: Duration = Duration::from_millis(20);

/// Time that one waits for a place until even those may have to leave who were active just now: peers that send something now and
/// then would keep every place.
pub const PLACE_WAIT: Duration = Duration::from_millis(500);

/// Time for a stream to end that has to leave its place, before its connection is closed: one whose client reads ends at once.
pub const LEAVE_TIME: Duration = Duration::from_millis(200);

/// Streams of one kind and class of listeners that wait for a place at once, as many as the most places of a kind. Each has its
/// head in memory.
pub const PLACE_WAITERS: usize = 64;

/// Streams of one connection that wait for a place at once: a client opens some streams at a time.
pub const CONNECTION_PLACE_WAITERS: usize = 16;

/// Time after which a connection without requests is closed. HTTP/1 has [`HEAD_TIME`].
pub const CONNECTION_IDLE: Duration = Duration::from_secs(15 * 60);

/// Age at which an HTTP/2 connection is told to end (GOAWAY), so that none is for ever; clients open another.
pub const CONNECTION_AGE: Duration = Duration::from_secs(60 * 60);

/// Time for the requests of a connection to end after its GOAWAY.
pub const CONNECTION_GRACE: Duration = Duration::from_secs(10);

/// Time for a connection to end whose place another one needs: for the GOAWAY to be written.
pub const DISMISSAL_GRACE: Duration = Duration::from_millis(50);

/// Interval at which idle and old connections are looked for.
pub const CONNECTION_TICK: Duration = Duration::from_secs(30);

/// Time between "not ready" and the end of accepting connections, so that a poller of `/readyz` can see it.
pub const DRAIN_NOTICE: Duration = Duration::from_millis(200);

/// Time for running requests to end after a signal, before their connections are dropped.
pub const DRAIN_GRACE: Duration = Duration::from_secs(8);

/// Threads that serve connections of the Unix socket, each with an epoll and two other file descriptors; fewer where there are fewer cores.
/// One of them answers tens of thousands of cached questions a second.
pub const SOCKET_THREADS: usize = 8;
