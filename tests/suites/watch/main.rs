//! The sidecar against a scripted API server. Under all faults of server, network and objects, its answers are correct at the
//! versions that they name, it answers nothing before it has listed everything, and it recovers by itself.
//!
//! [`world`] starts both, [`oracle`] and [`state`] give the expected answers. Rows of the reliability list, and where they are:
//!
//! | row | here | with a simulated clock, in `host/src` |
//! |---|---|---|
//! | W-01 410 as event, status, on page 2; compaction | [`expiry`] | `source/kube/state` |
//! | W-02 cuts, chunks, 1.5 MB | [`streams`]: cuts at some bytes | `source/kube`: at every byte of 50 frames |
//! | W-03 silence | [`outage`]: in real time, once | `source/kube/follower` |
//! | W-04, W-05 duplicates, older versions, odd versions | [`streams`] | `source/feed` |
//! | W-06 lost deletes, recreated objects | [`deletes`] | `source/feed` |
//! | W-07 bookmarks | [`bookmarks`] | `source/kube/state` |
//! | W-08 lagging lists, restored backups | [`expiry`], [`restored`] | `source/kube/state` |
//! | W-09 too large versions, 429, errors, 403, 401 | [`outage`], [`start_up`] | `source/kube`: 60 s of errors, the rate at the plateau |
//! | W-10 server gone | [`outage`]: 30 s of it | |
//! | W-11 not whole, not ready | [`start_up`] | |
//! | W-12 staleness | [`outage`]: with a bound of some seconds | `api` |
//! | W-13 clocks | [`outage`]: a process stopped for 30 s | monotonic clocks only: clippy.toml forbids reading the wall clock |
//! | W-14 storm | [`storm`]: smaller in a debug build | |
//! | W-15 odd objects | [`streams`] | `source/items` |
//! | W-16 a flipped cell | | `cache`, `source` |
//! | W-17 random histories and faults | [`random`] | `source/feed` |
//! | W-18 pods that move | [`deletes`] | `cache/model` |
//! | M-01, M-02, M-03 | [`memory`] | |
//! | P-03 killed and restarted | [`restart`] | |
//!
//! [`control_plane`] has what a live control plane does to assumed pods, readiness and the log; [`credentials`] tokens and
//! kubeconfigs, and their changes; [`proxies`] proxies on the way to the server. [`replay`] plays the recorded streams of a real API
//! server. [`one_list`] has the commands that list such a server once, or watch a pod through a sidecar.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(clippy::indexing_slicing, clippy::cast_precision_loss, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod bookmarks;
mod control_plane;
mod credentials;
mod deletes;
mod expiry;
mod kubernetes;
mod memory;
mod one_list;
mod oracle;
mod outage;
mod proxies;
mod random;
mod replay;
mod restart;
mod restored;
mod start_up;
mod state;
mod storm;
mod streams;
mod world;
