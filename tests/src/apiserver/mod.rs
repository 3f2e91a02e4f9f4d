//! A scripted API server on loopback: lists with pages and watches with bookmarks over a store that keeps every version,
//! and faults where a script wants them.
//!
//! Written over plain sockets, one thread a connection, because what it is for is what no server library does: to cut a
//! body at a byte, to fall silent without an end, to go back in time. Nothing in it is shared with the sidecar.
//!
//! - [`ApiServer`]: start here. It serves until it is dropped, and remembers every request.
//! - [`store`]: the objects, their history, one counter of versions; what was there at any version.
//! - [`script`]: which request meets which fault.
//! - [`request`], [`resource`]: what was asked, and what can be asked for.
//! - `connection` and `body`: how it is answered.

mod body;
mod connection;
pub mod request;
pub mod resource;
pub mod script;
pub mod store;

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// How many lists are kept for their next pages; a later request for a page is answered with 410.
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
    /// A server without objects, on a port of its own.
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

    /// Changes the store as one step, and wakes the watches.
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

    /// Looks at the store.
    pub fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.shared.store())
    }

    /// Changes the fault script.
    pub fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.shared.script())
    }

    /// The next request of a sort meets a fault.
    pub fn next(&self, kind: &'static str, verb: Verb, fault: Fault) {
        self.script(|script| script.next(kind, verb, fault));
    }

    /// No request meets a fault any more; connections that have met one stay as they are.
    pub fn clear_faults(&self) {
        self.script(Script::clear_faults);
    }

    /// No watch lasts longer than this from now on, whatever its client asks for.
    pub fn end_watches_after(&self, time: Duration) {
        *lock(&self.shared.watch_time) = Some(time);
    }

    /// From now on every watch tells a bookmark after each such time without an event; a real server does so once a minute.
    pub fn bookmark_every(&self, time: Duration) {
        *lock(&self.shared.bookmark_period) = Some(time);
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// How many requests there were that are like this.
    pub fn count(&self, like: impl Fn(&Request) -> bool) -> usize {
        lock(&self.shared.requests).iter().filter(|request| like(request)).count()
    }

    /// Whether a watch of a kind is under way.
    pub fn is_watched(&self, kind: &str) -> bool {
        let _script = self.shared.script();
        lock(&self.shared.connections).values().any(|connection| connection.watched == Some(kind))
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        self.cut_those(|_| true);
    }

    /// Breaks the connections on which a kind is watched.
    pub fn cut_watches(&self, kind: &str) {
        self.cut_those(|connection| connection.watched == Some(kind));
    }

    fn cut_those(&self, which: impl Fn(&Connection) -> bool) {
        for connection in lock(&self.shared.connections).values().filter(|connection| which(connection)) {
            // One that is closed already is cut as well.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends the watches of a kind in order, after a bookmark that is newer than all that they have told.
    pub fn end_watches(&self, kind: &str) {
        let place = resource::place(kind);
        {
            // Under one lock, so that a watch that sees the end sees the bookmark as well.
            let mut store = self.shared.store();
            store.bookmark(kind);
            store.end_watches(place);
        }
        self.shared.wake(place);
    }

    /// Stops: connections are closed, and the port is no longer listened on.
    pub fn go_down(&self) {
        self.shared.turn(Listening::Ending);
        // Wakes the one who listens; whether it is still there does not matter.
        let _ = TcpStream::connect(self.address);
        self.shared.wait_for(Listening::No);
        self.cut();
    }

    /// Comes back, at the same address.
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

/// Whether the port is listened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Listening {
    #[default]
    Yes,
    Ending,
    No,
    Beginning,
    Over,
}

/// A connection that is open.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// The kind that is watched on it now.
    watched: Option<&'static str>,
}

/// What the connections share.
#[derive(Debug)]
struct Shared {
    store: Mutex<Store>,
    /// By place of the kind: its objects changed.
    changed: Vec<Condvar>,
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    lists: Mutex<VecDeque<(u64, Arc<Listed>)>>,
    watch_time: Mutex<Option<Duration>>,
    bookmark_period: Mutex<Option<Duration>>,
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
            connections: Mutex::default(),
            listening: Mutex::default(),
            turned: Condvar::new(),
            numbers: AtomicU64::default(),
        }
    }
}

impl Shared {
    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    fn record(&self, request: Request) {
        lock(&self.requests).push(request);
    }

    fn watch_time(&self) -> Option<Duration> {
        *lock(&self.watch_time)
    }

    fn bookmark_period(&self) -> Option<Duration> {
        *lock(&self.bookmark_period)
    }

    /// Says what is watched on a connection.
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

    /// What a watch is told after a version, and the version of the store; waits for something to tell.
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
        assert_eq!(*now, wanted, "the scripted server does not turn");
    }
}

/// Accepts connections, and goes and comes as it is told.
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
        // How a connection ends is the client's business, or the script's.
        let _ = connection::serve(&shared, number, &stream);
        lock(&shared.connections).remove(&number);
        let _ = stream.shutdown(Shutdown::Both);
    });
}

/// A test that failed with a lock held leaves plain values behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
