//! Two API servers of one cluster behind one address, of which the second lags: its connections to etcd are held, so it answers
//! watches from what it knew before. The sidecar must not go back to that, and must say when nothing is confirmed any more. Then
//! etcd is restored from a backup, while the second server still has the history that is no more, at higher versions.
//!
//! Start at [`run`], which starts the servers, and at [`Part::steps`]. [`look`] has what is read of the sidecar and the servers.

mod look;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nodesift_tests::timeout;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use self::look::{different, facts_of, remembered, serves_watches};
use crate::Args;
use crate::api::Api;
use crate::asker::{self, Asker};
use crate::balancer::Balancer;
use crate::history::History;
use crate::judge;
use crate::programs::{ADMIN_TOKEN, ApiServer, Etcd, SIDECAR_TOKEN};
use crate::progress::{Progress, seconds};
use crate::run::{Stage, follows_version, kubeconfig, start_sidecar};
use crate::state;
use crate::steps::GONE_NODES;
use crate::wire::{State, Wire};

/// Steps that the second server does not see.
const STEPS_MISSED: usize = 600;

/// Steps after it has caught up, and after each fault.
const STEPS_AFTER: usize = 200;

/// `--stale-after` of the sidecar: the least that leaves a quiet cluster fresh.
const STALE_AFTER: Duration = Duration::from_secs(15);

/// Longest time of a watch, which may confirm the state until it ends.
const WATCH: Duration = Duration::from_secs(10);

/// Time that one look takes at most.
const LOOK: Duration = Duration::from_secs(2);

/// Time within which the sidecar says that a server knows only older versions.
const SAID_WITHIN: Duration = Duration::from_secs(30);

/// Time within which the facts of a restored cluster are right and fresh: lists that are older are taken after 20 s, and the last kind may
/// wait a moment longer for its next one.
const RIGHT_AFTER_RESTORE: Duration = Duration::from_secs(45);

/// Participants of the scene.
struct Part<'a> {
    /// Its client is of the first server.
    stage: Stage<'a>,
    etcd: &'a mut Etcd,
    first: &'a mut ApiServer,
    second: ApiServer,
    of_second: Api,
    /// Between the second server and etcd.
    link: Wire,
    /// Between the sidecar and both servers.
    balancer: Balancer,
}

/// Runs it on a cluster that `history` has begun. `api` is a client of the first server.
pub(crate) async fn run(
    args: &Args,
    folder: &Path,
    progress: Progress,
    api: Api,
    history: History,
    etcd: &mut Etcd,
    first: &mut ApiServer,
) -> anyhow::Result<()> {
    let started = Instant::now();
    // Before the second server knows anything: all that it will know comes later.
    first.kill();
    etcd.back_up()?;
    first.start_again()?;
    first.wait(&api).await?;

    let link = Wire::to(etcd.address).await?;
    let mut second = first.beside("kube-apiserver-second", link.address)?;
    let own_address = second.address.to_string();
    let administrators = kubeconfig(folder, "administrator-of-second", &second, &own_address, ADMIN_TOKEN)?;
    let of_second = Api::connect(&administrators).await?;
    second.wait(&of_second).await?;
    serves_watches(&of_second).await?;
    let balancer = Balancer::to(first.address).await?;
    let sidecars = kubeconfig(folder, "sidecar-of-both", &second, &balancer.address.to_string(), SIDECAR_TOKEN)?;
    progress.say(format!("lagging: a second API server is ready after {}", seconds(started.elapsed())));

    let stale_after = format!("{}s", timeout::scaled(STALE_AFTER).as_secs());
    let sidecar = start_sidecar(args, &sidecars, &["--stale-after", &stale_after])?;
    let kubernetes = follows_version(&sidecar, &api, progress).await?;
    let stage = Stage { args, folder, progress, api, history, sidecar, kubernetes };
    let mut part = Part { stage, etcd, first, second, of_second, link, balancer };
    let outcome = part.steps().await;
    let log = part.stage.sidecar.output();
    std::fs::write(folder.join("sidecar-lagging.log"), &log).context("the sidecar's log cannot be written")?;
    outcome?;
    // Fails where the server has refused more than intended races explain.
    part.stage.history.account()?;
    ensure!(!log.contains("panicked"), "a panic is in the log:\n{log}");
    let sidecar = part.stage.sidecar;
    sidecar.signal("TERM");
    let (status, _) = block_in_place(|| sidecar.wait());
    ensure!(status.success(), "the sidecar ended with {status}");
    progress.say(format!("lagging: all of it took {}", seconds(started.elapsed())));
    Ok(())
}

impl Part<'_> {
    async fn steps(&mut self) -> anyhow::Result<()> {
        judge::settled(&mut self.stage, "lagging: the first of two API servers is followed").await?;
        let asker = Asker::start(self.stage.sidecar.tcp(), self.stage.args.nodes.saturating_sub(GONE_NODES));
        let outcome = self.behind().await;
        let report = asker.stop();
        outcome?;
        let report = report?;
        self.say(format!(
            "{} requests, all answered, none from an older state than the one before; the slowest took {}",
            report.asked,
            seconds(report.slowest)
        ));
        // After the requests, which take versions that go back for an error.
        self.restored().await?;
        self.of_another_history().await
    }

    /// The cluster goes on while the second server sees nothing; then the sidecar comes to that one.
    async fn behind(&mut self) -> anyhow::Result<()> {
        self.link.set(State::Held);
        self.stage.history.go_on(STEPS_MISSED).await?;
        judge::settled(&mut self.stage, "lagging: after changes that the second server has not seen").await?;
        let (known, newest) = (remembered(&self.of_second).await?, self.version()?.nodes);
        ensure!(known < newest, "the second server does not lag: it is at version {known} of {newest}");
        let expected = facts_of(&self.stage.api).await?;

        let sidecar = self.stage.sidecar.tcp();
        let turned = Instant::now();
        self.balancer.turn_to(self.second.address);
        let mut looks = 0_usize;
        let became_stale = block_in_place(|| {
            timeout::until(|| {
                looks += 1;
                let look = || -> anyhow::Result<Option<Duration>> {
                    let (answer, passed) = (asker::version(&sidecar)?, turned.elapsed());
                    judge::differ("what was written", &expected, "the sidecar's state", &state::facts(&sidecar)?)?;
                    Ok(answer.is_stale.then_some(passed))
                };
                look().transpose()
            })
        });
        let stale = became_stale.context("answers are never stale at a server that lags")??;
        let bound = timeout::scaled(STALE_AFTER + LOOK);
        ensure!(stale <= bound, "answers were fresh for {} at a server that lags", seconds(stale));
        self.say(format!(
            "at the second server, {} versions behind: stale after {}; {looks} looks at the state show nothing older",
            newest - known,
            seconds(stale)
        ));
        judge::unchanged(&mut self.stage, "lagging: while the second server confirms nothing").await?;

        let resumed = Instant::now();
        self.link.set(State::Whole);
        let fresh = self.agrees(&expected, resumed)?;
        self.say(format!("the second server reaches etcd again: fresh after {}", seconds(fresh)));
        self.stage.history.go_on(STEPS_AFTER).await?;
        judge::settled(&mut self.stage, "lagging: after the second server has caught up").await
    }

    /// etcd is restored from the backup. The sidecar is at the second server, which does not see that, and comes to the first.
    async fn restored(&mut self) -> anyhow::Result<()> {
        let before = self.version()?;
        self.link.set(State::Held);
        self.first.kill();
        self.etcd.restore()?;
        self.first.start_again()?;
        self.first.wait(&self.stage.api).await?;
        self.stage.history.reload().await?;
        let expected = facts_of(&self.stage.api).await?;

        let log = self.stage.sidecar.output().len();
        let turned = Instant::now();
        self.balancer.turn_to(self.first.address);
        self.says(log, "the API server knows only older versions")?;
        let said = turned.elapsed();
        ensure!(said <= timeout::scaled(SAID_WITHIN), "older versions are said only after {}", seconds(said));
        self.says(log, "the cluster was restored from a backup; its lists")?;
        let taken = turned.elapsed();
        let right = self.agrees(&expected, turned)?;
        ensure!(
            right <= timeout::scaled(RIGHT_AFTER_RESTORE),
            "facts of the backup are right only after {}",
            seconds(right)
        );
        self.say(format!(
            "at the first server, over a backup: versions are said to be older after {}, and taken after {}; {} facts are right, and \
             fresh, after {}",
            seconds(said),
            seconds(taken),
            expected.len(),
            seconds(right)
        ));
        self.stage.history.go_on(STEPS_AFTER).await?;
        judge::settled(&mut self.stage, "lagging: after the backup was restored").await?;
        let after = self.version()?;
        let is_older = after.nodes < before.nodes && after.pods < before.pods;
        ensure!(is_older, "the versions did not go back: {before:?} and {after:?}");
        Ok(())
    }

    /// The sidecar comes back to the second server, whose history is no more and has higher versions than the restored one.
    async fn of_another_history(&mut self) -> anyhow::Result<()> {
        let (known, newest) = (remembered(&self.of_second).await?, self.version()?.nodes);
        ensure!(known > newest, "the second server's version {known} is not higher than {newest}");
        let expected = facts_of(&self.stage.api).await?;
        let turned = Instant::now();
        self.balancer.turn_to(self.second.address);
        let stale = self.becomes(true, turned).context("answers of a history that is no more are never stale")?;
        let bound = timeout::scaled(STALE_AFTER + WATCH + LOOK);
        ensure!(stale <= bound, "answers of a history that is no more were fresh for {}", seconds(stale));
        let wrong = different(&state::facts(&self.stage.sidecar.tcp())?, &expected);
        self.say(format!(
            "back at the second server, {} versions ahead in the history that is no more: stale after {}; {wrong} facts are wrong",
            known - newest,
            seconds(stale)
        ));

        let resumed = Instant::now();
        self.link.set(State::Whole);
        let (handle, of_second) = (Handle::current(), &self.of_second);
        let own = block_in_place(|| timeout::until(|| handle.block_on(facts_of(of_second)).ok()));
        let wrong = own.map(|own| different(&own, &expected));
        if wrong == Some(0) {
            self.right("the second server reaches etcd again", &expected, resumed)?;
            self.stage.history.go_on(STEPS_AFTER).await?;
            return judge::settled(&mut self.stage, "lagging: after the second server has caught up with the backup")
                .await;
        }
        // It watches etcd from a version that does not exist yet, and takes its memory for newer than etcd's. Nobody can tell that from
        // its answers: Kubernetes asks for a restart of all API servers after etcd was restored.
        let lists = wrong.map_or_else(|| "does not list".to_owned(), |wrong| format!("lists {wrong} wrong facts"));
        self.say(format!("the second server reaches etcd again, and {lists} itself"));
        let fresh = self.becomes(false, resumed);
        let fresh = fresh.map_or_else(|| "never fresh".to_owned(), |passed| format!("fresh after {}", seconds(passed)));
        let wrong = different(&state::facts(&self.stage.sidecar.tcp())?, &expected);
        self.say(format!("what the sidecar makes of that: {fresh}, with {wrong} wrong facts"));

        self.balancer.hold();
        self.second.kill();
        self.second.start_again()?;
        self.second.wait(&self.of_second).await?;
        let restarted = Instant::now();
        self.balancer.turn_to(self.second.address);
        self.right("the second server was restarted", &expected, restarted)?;
        self.stage.history.go_on(STEPS_AFTER).await?;
        judge::settled(&mut self.stage, "lagging: after the second server was restarted").await
    }
}
