//! Compares the sidecar with the API server: waits until it has seen the newest versions, then compares its state of every node
//! with a recount, and its verdicts with those on a dump of the same cluster.

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use nodesift_fixtures::json::key;
use nodesift_tests::{sidecar as binary, timeout};
use serde_json::{Value, json};

use crate::asker;
use crate::kinds::{COLLECTIONS, NODES, PODS};
use crate::progress::seconds;
use crate::recount;
use crate::run::Stage;
use crate::state;
use crate::world::is_pending;

/// Random pending pods that are explained each time.
const EXPLAINED: usize = 150;

/// Maximum number of differences shown, and of characters of each.
const SHOWN: usize = 10;
const SHOWN_CHARS: usize = 500;

/// Waits until the sidecar has seen all changes, and compares.
pub(crate) async fn settled(stage: &mut Stage<'_>, when: &str) -> anyhow::Result<()> {
    let agreed = compare(stage).await.with_context(|| format!("when {when}"))?;
    stage.progress.say(format!("{when}: {agreed}"));
    Ok(())
}

/// Compares without a wait for changes: the sidecar has seen all of them before.
pub(crate) async fn unchanged(stage: &mut Stage<'_>, when: &str) -> anyhow::Result<()> {
    let (facts, verdicts) = agree(stage).await.with_context(|| format!("when {when}"))?;
    stage.progress.say(format!("{when}: {facts} facts and {verdicts} lines of explanation agree"));
    Ok(())
}

/// Returns a summary of the comparison.
async fn compare(stage: &mut Stage<'_>) -> anyhow::Result<String> {
    let started = Instant::now();
    let (nodes, pods) = stage.history.mark().await?;
    let sidecar = stage.sidecar.tcp();
    let seen = tokio::task::block_in_place(|| {
        timeout::until(|| asker::version(&sidecar).ok().filter(|seen| seen.nodes >= nodes && seen.pods >= pods))
    });
    let Some(seen) = seen else {
        bail!("the sidecar does not reach versions {nodes} and {pods}; it is at {:?}", asker::version(&sidecar));
    };
    let seen_after = started.elapsed();
    let (facts, verdicts) = agree(stage).await?;
    Ok(format!(
        "seen after {} (generation {}), {facts} facts and {verdicts} lines of explanation agree",
        seconds(seen_after),
        seen.generation,
    ))
}

/// Compares what the sidecar and the API server have now. Returns the numbers of equal facts and lines.
async fn agree(stage: &mut Stage<'_>) -> anyhow::Result<(usize, usize)> {
    let dump = dump(stage).await?;
    let of = |collection: &str| dump.iter().find(|(known, _)| *known == collection).map_or(&[][..], |(_, items)| items);
    let expected = recount::facts(of(NODES), of(PODS));
    let known = state::facts(&stage.sidecar.tcp())?;
    differ("a recount", &expected, "the sidecar's state", &known)?;
    Ok((expected.len(), agreement(stage, of(PODS))?))
}

/// Everything that the sidecar reads, listed from the API server and written to `cluster.json`.
async fn dump(stage: &Stage<'_>) -> anyhow::Result<Vec<(&'static str, Vec<Value>)>> {
    let mut dump = Vec::new();
    for collection in COLLECTIONS {
        dump.push((collection, stage.api.list(collection).await?.items));
    }
    let items: Vec<&Value> = dump.iter().flat_map(|(_, items)| items).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    fs::write(stage.folder.join("cluster.json"), list.to_string()).context("the dump cannot be written")?;
    Ok(dump)
}

/// Compares `explain` of pending pods by the live sidecar and on the dump. Returns the number of equal lines.
fn agreement(stage: &mut Stage<'_>, pods: &[Value]) -> anyhow::Result<usize> {
    let mut pending: Vec<String> = pods.iter().filter(|pod| is_pending(pod)).map(key).collect();
    stage.history.shuffle(&mut pending);
    pending.truncate(EXPLAINED);
    let explain = |of: &[&str]| explain(stage, of, &pending);
    let cluster = stage.folder.join("cluster.json");
    // A dump does not say of which version its server is.
    let cluster = cluster.to_str().context("a path that is not UTF-8")?;
    let offline = explain(&["--cluster", cluster, "--kubernetes", &stage.kubernetes])?;
    let url = format!("http://{}", stage.sidecar.address);
    let mut live = String::new();
    // Answers name no version for kinds other than nodes and pods, so the comparison is repeated until a timeout.
    let agreed = tokio::task::block_in_place(|| {
        timeout::until(|| {
            live = explain(&["--server", &url]).unwrap_or_else(|error| error.to_string());
            (live == offline).then_some(())
        })
    });
    if agreed.is_none() {
        for (name, text) in [("explained-live.jsonl", &live), ("explained-offline.jsonl", &offline)] {
            fs::write(stage.folder.join(name), text).context("explanations cannot be written")?;
        }
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        differ("the dump explained", &lines(&offline), "the live sidecar", &lines(&live))?;
        bail!("explanations are in a different order");
    }
    let count = offline.lines().count();
    ensure!(count > 0, "no pod is pending: nothing was compared");
    Ok(count)
}

fn explain(stage: &Stage<'_>, of: &[&str], pods: &[String]) -> anyhow::Result<String> {
    let mut command = binary::command(&stage.args.sidecar()?, &stage.args.cache()?);
    let output = binary::run(command.arg("explain").args(of).args(["--output", "jsonl", "--pod"]).args(pods));
    ensure!(output.code == Some(0), "explain ended with {:?}: {}", output.code, output.stderr);
    Ok(output.stdout)
}

/// Fails if two sets of lines differ, and shows the differences.
pub(crate) fn differ(left: &str, lines: &recount::Facts, right: &str, others: &recount::Facts) -> anyhow::Result<()> {
    let mut text = String::new();
    for (name, here, there) in [(left, lines, others), (right, others, lines)] {
        let only: Vec<&String> = here.difference(there).collect();
        if !only.is_empty() {
            let shown: Vec<String> =
                only.iter().take(SHOWN).map(|line| format!("\n    {line:.SHOWN_CHARS$}")).collect();
            write!(text, "\n  {} lines are only in {name}:{}", only.len(), shown.concat())?;
        }
    }
    ensure!(text.is_empty(), "{left} and {right} differ:{text}");
    Ok(())
}
