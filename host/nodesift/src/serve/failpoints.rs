//! Failpoints of the process suite: what a defect could stop or break, while a file of that name is in the folder that
//! `NODESIFT_FAILPOINTS` names. Not part of release builds.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nodesift_api::failpoint::panic_in_handlers;
use nodesift_cache::SharedWriter;
use nodesift_sandbox::Pulse;
use nodesift_source::feed;
use tokio::time::interval;

/// Environment variable with the path of the failpoints' folder.
const FOLDER: &str = "NODESIFT_FAILPOINTS";

/// Interval at which the folder is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// How long a policy waits for what it reads: the milliseconds in the file `sync-time`.
pub(super) fn sync_time() -> Option<Duration> {
    let file = std::env::var_os(FOLDER).map(PathBuf::from)?.join("sync-time");
    std::fs::read_to_string(file).ok()?.trim().parse().ok().map(Duration::from_millis)
}

/// Follows the folder; ends at once where none is named.
pub(super) async fn follow(clock: Arc<Pulse>, feed: Arc<feed::Pulse>, writer: SharedWriter) {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut looks = interval(LOOK);
    let mut holds = None;
    loop {
        looks.tick().await;
        let is_there = |name: &str| folder.join(name).exists();
        clock.stall(is_there("epoch-clock"));
        feed.stall(is_there("feed"));
        // A thread that never gives the writer back keeps everything from being published.
        if is_there("writer") && holds.is_none() {
            let (writer, file) = (Arc::clone(&writer), folder.join("writer"));
            holds = Some(std::thread::spawn(move || {
                let _held = writer.lock();
                while file.exists() {
                    std::thread::park_timeout(LOOK);
                }
            }));
        } else if !is_there("writer") {
            holds = None;
        }
        // The file says how many handlers panic. It is removed, which tells the test that they will.
        let handlers = folder.join("handlers");
        if let Ok(count) = std::fs::read_to_string(&handlers) {
            panic_in_handlers(count.trim().parse().unwrap_or(0));
            let _gone = std::fs::remove_file(handlers);
        }
    }
}
