//! Reads of the sidecar and of the two servers, and the waits for it.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures_util::future::try_join_all;
use nodesift_fixtures::json::text;
use nodesift_tests::timeout;
use tokio::task::block_in_place;

use super::Part;
use crate::api::Api;
use crate::asker::{self, Version};
use crate::judge;
use crate::kinds::{COLLECTIONS, NODES, PODS};
use crate::progress::seconds;
use crate::recount::{self, Facts};
use crate::state;

/// Time within which answers are right again once a server is.
const RIGHT_WITHIN: Duration = Duration::from_secs(30);

impl Part<'_> {
    /// The versions of an answer now.
    pub(super) fn version(&self) -> anyhow::Result<Version> {
        asker::version(&self.stage.sidecar.tcp())
    }

    /// Waits until answers are stale, or fresh. Returns the time since `from`; `None` after the timeout.
    pub(super) fn becomes(&self, stale: bool, from: Instant) -> Option<Duration> {
        let as_wanted = || self.version().is_ok_and(|version| version.is_stale == stale).then(|| from.elapsed());
        block_in_place(|| timeout::until(as_wanted))
    }

    /// Waits until the sidecar's state is as expected, and fresh. Returns the time since `from`.
    pub(super) fn agrees(&self, expected: &Facts, from: Instant) -> anyhow::Result<Duration> {
        let shown = || state::facts(&self.stage.sidecar.tcp());
        let agreed = || {
            let is_fresh = self.version().is_ok_and(|version| !version.is_stale);
            (is_fresh && shown().is_ok_and(|shown| shown == *expected)).then(|| from.elapsed())
        };
        if let Some(passed) = block_in_place(|| timeout::until(agreed)) {
            return Ok(passed);
        }
        judge::differ("a recount", expected, "the sidecar's state", &shown()?)?;
        bail!("the sidecar's state is right, and is never fresh")
    }

    /// Waits until the facts are right and fresh; fails where that takes longer than is promised.
    pub(super) fn right(&self, when: &str, expected: &Facts, from: Instant) -> anyhow::Result<()> {
        let passed = self.agrees(expected, from)?;
        ensure!(passed <= timeout::scaled(RIGHT_WITHIN), "{when}: right only after {}", seconds(passed));
        self.say(format!("{when}: {} facts are right, and fresh, after {}", expected.len(), seconds(passed)));
        Ok(())
    }

    /// Waits until the sidecar says this, after so many bytes of its log.
    pub(super) fn says(&self, log: usize, text: &str) -> anyhow::Result<()> {
        let is_said = || self.stage.sidecar.output().get(log..).is_some_and(|since| since.contains(text)).then_some(());
        block_in_place(|| timeout::until(is_said)).with_context(|| format!("the sidecar does not say {text:?}"))
    }

    /// Prints one line of the scene's report.
    pub(super) fn say(&self, text: impl AsRef<str>) {
        self.stage.progress.say(format!("lagging: {}", text.as_ref()));
    }
}

/// The facts about the nodes and pods that a server lists.
pub(super) async fn facts_of(api: &Api) -> anyhow::Result<Facts> {
    let (nodes, pods) = (api.list(NODES).await?.items, api.list(PODS).await?.items);
    Ok(recount::facts(&nodes, &pods))
}

/// The number of facts that only one of two has.
pub(super) fn different(left: &Facts, right: &Facts) -> usize {
    left.symmetric_difference(right).count()
}

/// The version of nodes that a server has in memory, without a look at etcd.
pub(super) async fn remembered(api: &Api) -> anyhow::Result<u64> {
    let reply = api.get(&format!("{NODES}?resourceVersion=0")).await?;
    ensure!(reply.status == 200, "{NODES}: {} {}", reply.status, text(&reply.body, "message"));
    text(&reply.body, "metadata.resourceVersion").parse().context("a version is not a number")
}

/// Waits until a server that has just started serves watches of all kinds: they need all that it has in memory.
pub(super) async fn serves_watches(api: &Api) -> anyhow::Result<()> {
    let until = Instant::now() + timeout::limit();
    loop {
        // Each watch that is served takes a second.
        let refusals = COLLECTIONS.map(|collection| async move {
            let version = api.list(collection).await?.version;
            api.watch_refusal(collection, &version).await
        });
        let refusals = try_join_all(refusals).await?;
        if refusals.iter().all(Option::is_none) {
            return Ok(());
        }
        ensure!(Instant::now() < until, "watches are still refused: {refusals:?}");
    }
}
