//! A scripted API server on loopback: lists with pages and watches with bookmarks over a store with all versions, and
//! scripted faults.
//!
//! Written over plain sockets with one thread per connection, because no server library can do what it must: cut a body at any
//! byte, stop sending without closing, go back in time. It shares no code with the sidecar.
//!
//! - [`ApiServer`]: start here. It serves until it is dropped, and records every request.
//! - [`store`]: the objects, their history, one version counter; the objects at any version.
//! - [`script`]: which request gets which fault.
//! - [`request`], [`resource`]: recorded requests, and the kinds that are served.
//! - `connection` and `body`: the answers.

mod body;
mod connection;
pub mod request;
pub mod resource;
pub mod script;
pub mod store;

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::timeout;
use connection::Listed;
pub use request::Request;
use resource::RESOURCES;
use script::Script;
pub use script::{Fault, Verb};
use store::{Entry, Store, Version};

/// Release that a server is by default: of the newest version whose verdicts are known.
fn newest() -> String {
    format!("v{}.2", nodesift_reference::kubernetes::newest())
}

/// Number of lists stored for their next pages; a request for a page of an older one is answered with 410.
const LISTS_KEPT: usize = 64;

/// An API server that serves until it is dropped.
#[derive(Debug)]
pub struct ApiServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl ApiServer {
    /// A server without objects, on a new port.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of loopback");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared::default());
        let acceptor = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || accept(&shared, listener, address))
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, configuration(address).to_string()).expect("a file can be written");
        Self { shared, address, acceptor: Some(acceptor), kubeconfig, _folder: folder }
    }

    /// A kubeconfig whose only context is this server.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// From now on the server says that it is this release, such as `v1.36.2`; with none it does not serve `/version`.
    pub fn set_release(&self, release: Option<&str>) {
        *lock(&self.shared.release) = release.map(str::to_owned);
    }

    /// Changes the store in one step, and wakes the watches.
    pub fn change<T>(&self, change: impl FnOnce(&mut Store) -> T) -> T {
        let result = change(&mut self.shared.store());
        self.shared.changed.iter().for_each(Condvar::notify_all);
        result
    }

    /// Creates or changes an object; see [`Store::apply`].
    pub fn apply(&self, object: Value) -> Version {
        let place = resource::place(object["kind"].as_str().unwrap_or_default());
        let version = self.shared.store().apply(object);
        self.shared.wake(place);
        version
    }

    /// Deletes an object by kind and `namespace/name` or name.
    pub fn delete(&self, kind: &str, key: &str) -> Version {
        let version = self.shared.store().delete(kind, key);
        self.shared.wake(resource::place(kind));
        version
    }

    /// Reads from the store under its lock.
    pub fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.shared.store())
    }

    /// Changes the fault script.
    pub fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.shared.script())
    }

    /// The next request of this kind and verb gets a fault.
    pub fn next(&self, kind: &'static str, verb: Verb, fault: Fault) {
        self.script(|script| script.next(kind, verb, fault));
    }

    /// Removes all faults; connections that already have one are unchanged.
    pub fn clear_faults(&self) {
        self.script(Script::clear_faults);
    }

    /// Limits the duration of watches from now on, whatever their clients request.
    pub fn end_watches_after(&self, time: Duration) {
        *lock(&self.shared.watch_time) = Some(time);
    }

    /// From now on every watch sends a bookmark after this time without an event; a real server does so once a minute.
    pub fn bookmark_every(&self, time: Duration) {
        *lock(&self.shared.bookmark_period) = Some(time);
    }

    /// From now on a request with another bearer token is refused with 401.
    pub fn require_token(&self, token: &str) {
        *lock(&self.shared.token) = Some(token.to_owned());
    }

    /// Stops as a stopped process does: connections stay open and are accepted, and nothing is sent on any of them.
    pub fn freeze(&self) {
        self.shared.frozen.store(true, Ordering::Relaxed);
    }

    /// Ends [`Self::freeze`]. Requests that were met by it stay unanswered.
    pub fn thaw(&self) {
        self.shared.frozen.store(false, Ordering::Relaxed);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// The number of requests for which `like` is true.
    pub fn count(&self, like: impl Fn(&Request) -> bool) -> usize {
        lock(&self.shared.requests).iter().filter(|request| like(request)).count()
    }

    /// Whether a watch of a kind is open.
    pub fn is_watched(&self, kind: &str) -> bool {
        let _script = self.shared.script();
        lock(&self.shared.connections).values().any(|connection| connection.watched == Some(kind))
    }

    /// Cuts all open connections.
    pub fn cut(&self) {
        self.cut_those(|_| true);
    }

    /// Cuts the connections on which a kind is watched.
    pub fn cut_watches(&self, kind: &str) {
        self.cut_those(|connection| connection.watched == Some(kind));
    }

    fn cut_those(&self, which: impl Fn(&Connection) -> bool) {
        for connection in lock(&self.shared.connections).values().filter(|connection| which(connection)) {
            // Fails if the connection is already closed.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends the watches of a kind normally, after a bookmark that is newer than all of their events.
    pub fn end_watches(&self, kind: &str) {
        let place = resource::place(kind);
        {
            // Under one lock, so that a watch that sees the end also sees the bookmark.
            let mut store = self.shared.store();
            store.bookmark(kind);
            store.end_watches(place);
        }
        self.shared.wake(place);
    }

    /// Stops: closes all connections and the port.
    pub fn go_down(&self) {
        self.shared.turn(Listening::Ending);
        // Wakes the accepting thread, if it still runs.
        let _ = TcpStream::connect(self.address);
        self.shared.wait_for(Listening::No);
        self.cut();
    }

    /// Starts again at the same address.
    pub fn come_up(&self) {
        self.shared.turn(Listening::Beginning);
        self.shared.wait_for(Listening::Yes);
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shared.turn(Listening::Over);
        let _ = TcpStream::connect(self.address);
        self.cut();
        self.shared.changed.iter().for_each(Condvar::notify_all);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn configuration(address: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "scripted",
        "clusters": [{"name": "scripted", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "scripted", "user": {"token": "scripted"}}],
        "contexts": [{"name": "scripted", "context": {"cluster": "scripted", "user": "scripted"}}],
    })
}

/// Whether the port is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Listening {
    #[default]
    Yes,
    Ending,
    No,
    Beginning,
    Over,
}

/// An open connection of a client.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// The kind that is currently watched on it.
    watched: Option<&'static str>,
}

/// The state that all connections share.
#[derive(Debug)]
struct Shared {
    store: Mutex<Store>,
    /// By index of the kind: notified when its objects change.
    changed: Vec<Condvar>,
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    lists: Mutex<VecDeque<(u64, Arc<Listed>)>>,
    watch_time: Mutex<Option<Duration>>,
    bookmark_period: Mutex<Option<Duration>>,
    token: Mutex<Option<String>>,
    release: Mutex<Option<String>>,
    frozen: AtomicBool,
    connections: Mutex<HashMap<u64, Connection>>,
    listening: Mutex<Listening>,
    turned: Condvar,
    numbers: AtomicU64,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            store: Mutex::default(),
            changed: RESOURCES.iter().map(|_| Condvar::new()).collect(),
            script: Mutex::default(),
            requests: Mutex::default(),
            lists: Mutex::default(),
            watch_time: Mutex::default(),
            bookmark_period: Mutex::default(),
            token: Mutex::default(),
            release: Mutex::new(Some(newest())),
            frozen: AtomicBool::default(),
            connections: Mutex::default(),
            listening: Mutex::default(),
            turned: Condvar::new(),
            numbers: AtomicU64::default(),
        }
    }
}

impl Shared {
    /// The answer to `/version`, if it is served.
    fn release(&self) -> Option<Value> {
        let release = lock(&self.release).clone()?;
        let mut numbers = release.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        Some(json!({"major": major, "minor": minor, "gitVersion": release}))
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    fn record(&self, request: Request) {
        lock(&self.requests).push(request);
    }

    /// Whether a request may be answered.
    fn admits(&self, request: &Request) -> bool {
        lock(&self.token).as_ref().is_none_or(|token| request.token == *token)
    }

    fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    fn watch_time(&self) -> Option<Duration> {
        *lock(&self.watch_time)
    }

    fn bookmark_period(&self) -> Option<Duration> {
        *lock(&self.bookmark_period)
    }

    /// Records what is watched on a connection.
    fn watched(&self, connection: u64, kind: Option<&'static str>) {
        if let Some(connection) = lock(&self.connections).get_mut(&connection) {
            connection.watched = kind;
        }
    }

    fn wake(&self, place: usize) {
        if let Some(changed) = self.changed.get(place) {
            changed.notify_all();
        }
    }

    /// The entries of a watch after a version, and the version of the store; waits until there is an entry.
    fn after(&self, place: usize, version: Version, most: usize, wait: Duration) -> (Vec<Entry>, Version) {
        let store = self.store();
        let entries = store.after(place, version, most);
        let Some(changed) = self.changed.get(place).filter(|_| entries.is_empty() && !wait.is_zero()) else {
            return (entries, store.version());
        };
        let (store, _) = changed.wait_timeout(store, wait).unwrap_or_else(PoisonError::into_inner);
        (store.after(place, version, most), store.version())
    }

    fn keep(&self, listed: Listed) -> u64 {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut lists = lock(&self.lists);
        lists.push_back((number, Arc::new(listed)));
        if lists.len() > LISTS_KEPT {
            lists.pop_front();
        }
        number
    }

    fn listed(&self, number: u64) -> Option<Arc<Listed>> {
        lock(&self.lists).iter().find(|(known, _)| *known == number).map(|(_, listed)| Arc::clone(listed))
    }

    fn is_over(&self) -> bool {
        *lock(&self.listening) == Listening::Over
    }

    fn turn(&self, listening: Listening) {
        *lock(&self.listening) = listening;
        self.turned.notify_all();
    }

    fn wait_for(&self, wanted: Listening) {
        let waiting = self.turned.wait_timeout_while(lock(&self.listening), timeout::limit(), |now| *now != wanted);
        let (now, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*now, wanted, "the scripted server does not change its state");
    }
}

/// Accepts connections, and closes and opens the port as requested.
fn accept(shared: &Arc<Shared>, mut listener: TcpListener, address: SocketAddr) {
    loop {
        if let Ok((stream, _)) = listener.accept() {
            let now = *lock(&shared.listening);
            if now == Listening::Yes {
                connect(shared, stream);
                continue;
            }
        }
        drop(listener);
        let now = *lock(&shared.listening);
        if now == Listening::Ending {
            shared.turn(Listening::No);
        }
        let waiting = shared.turned.wait_while(lock(&shared.listening), |now| *now == Listening::No);
        if *waiting.unwrap_or_else(PoisonError::into_inner) == Listening::Over {
            return;
        }
        let bound = timeout::until(|| TcpListener::bind(address).ok());
        listener = bound.expect("the server's own address is free again");
        shared.turn(Listening::Yes);
    }
}

fn connect(shared: &Arc<Shared>, stream: TcpStream) {
    let number = shared.numbers.fetch_add(1, Ordering::Relaxed);
    let (Ok(()), Ok(kept)) = (stream.set_nodelay(true), stream.try_clone()) else { return };
    lock(&shared.connections).insert(number, Connection { stream: kept, watched: None });
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        // Connections may end with an error, by the client or by the script.
        let _ = connection::serve(&shared, number, &stream);
        lock(&shared.connections).remove(&number);
        let _ = stream.shutdown(Shutdown::Both);
    });
}

/// A poisoned lock is used: a failed test leaves consistent plain values.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
