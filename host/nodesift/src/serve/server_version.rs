//! The version of the API server, which policies follow that name none: read before the policy is, again while the server does not tell
//! it, after each outage, and now and then. Start at [`ServerVersion`] and [`follow`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::args::ServeArgs;
use crate::limits::{
    SERVER_VERSION_ANSWERS, SERVER_VERSION_FIRST, SERVER_VERSION_LOOK, SERVER_VERSION_PATIENCE, SERVER_VERSION_RELOAD,
    SERVER_VERSION_RELOAD_LOOK, SERVER_VERSION_RETRY,
};
use crate::terminal;
use nodesift_api::Latch;
use nodesift_engine::{Engine, Refusal, VersionOrigin};
use nodesift_policy::kubernetes::{Auto, Release, ServerVersion, VersionError};
use nodesift_source::kube::{ApiServer, Failure, Health};

/// Why the version of a server is not known.
#[derive(Debug, thiserror::Error)]
enum Untold {
    /// The server has not answered, or refuses to.
    #[error("{0}")]
    Request(#[from] Failure),
    /// Its answer is none.
    #[error("{0}")]
    Answer(#[from] VersionError),
}

impl Untold {
    /// Whether the server has answered: where it does so again and again, waiting for another answer makes no start better. One that
    /// reports an error of its own may be about to start.
    fn is_answer(&self) -> bool {
        match self {
            Self::Answer(_) => true,
            Self::Request(Failure::Refused { status, .. }) => *status < 500,
            Self::Request(failure) => {
                matches!(failure, Failure::Denied { .. } | Failure::NotServed { .. } | Failure::Malformed(_))
            }
        }
    }
}

/// Returns the source of the version of Kubernetes before anything is known of an API server.
pub(super) fn undecided(args: &ServeArgs) -> ServerVersion {
    undecided_of(args.policy.auto(), args.kube.origin().is_some())
}

/// Returns that source where the command line says `auto`, of a cluster that is behind an API server or not.
pub(crate) fn undecided_of(auto: Auto, is_live: bool) -> ServerVersion {
    match auto {
        Auto::Newest if is_live => ServerVersion::from(Auto::ServerUnknown),
        auto => ServerVersion::from(auto),
    }
}

/// Asks the server once, where its version decides and is not known. A server that is not there is asked again later, by [`follow`].
pub(crate) async fn ask_once(server: &ApiServer, version: &ServerVersion) {
    if version.auto() != Auto::ServerUnknown {
        return;
    }
    match timeout(SERVER_VERSION_FIRST, ask(server)).await {
        Ok(Ok(release)) => version.see(release),
        Ok(Err(error)) => tracing::debug!(%error, "the API server has not told its version yet"),
        Err(_) => tracing::debug!("the API server has not told its version in time"),
    }
}

async fn ask(server: &ApiServer) -> Result<Release, Untold> {
    Ok(Release::from_answer(&server.version().await?)?)
}

/// State of the looks at the version so far.
struct Looks {
    /// Time until the next one.
    pause: Duration,
    /// The release that the last look has shown, where it is not the known one.
    other: Option<Release>,
    /// The server was away since the last look that has shown a release.
    is_after_outage: bool,
    /// It was told that the server does not tell its version.
    is_told: bool,
    /// How many looks in a row the server has answered without telling it.
    answers: u32,
    /// Since when looks fail while the server answers everything else.
    since: Option<Instant>,
}

impl Default for Looks {
    fn default() -> Self {
        let (other, since) = (None, None);
        Self { pause: SERVER_VERSION_RETRY, other, is_after_outage: false, is_told: false, answers: 0, since }
    }
}

impl Looks {
    /// Takes the outcome of a look; `is_well` where the server answers other requests. Returns whether a start is to wait no longer.
    fn take(
        &mut self,
        outcome: Result<Release, Untold>,
        version: &ServerVersion,
        (is_well, now): (bool, Instant),
    ) -> bool {
        match outcome {
            Ok(release) => {
                self.see(release, version);
                *self = Self { pause: SERVER_VERSION_LOOK, other: self.other.take(), ..Self::default() };
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_told, true) {
                    let reason = error.to_string();
                    tracing::warn!(reason = %terminal::escaped(&reason), "the API server does not tell its version");
                }
                self.pause = (self.pause * 2).min(SERVER_VERSION_LOOK);
                self.answers = if error.is_answer() { self.answers.saturating_add(1) } else { 0 };
                self.since = is_well.then(|| self.since.unwrap_or(now));
                let is_long = |since: Instant| now.duration_since(since) >= SERVER_VERSION_PATIENCE;
                self.answers >= SERVER_VERSION_ANSWERS || self.since.is_some_and(is_long)
            }
        }
    }

    /// Another release than the known one counts once two looks in a row have shown it, or after an outage: while a control plane is
    /// upgraded, servers of two releases may be behind one address.
    fn see(&mut self, release: Release, version: &ServerVersion) {
        let known = version.auto();
        let is_other = matches!(&known, Auto::Server(known) if *known != release);
        if is_other && !self.is_after_outage && self.other.as_ref() != Some(&release) {
            self.other = Some(release);
            return;
        }
        self.other = None;
        version.see(release);
        if let (Auto::Server(release), true) = (version.auto(), version.auto() != known) {
            tracing::info!(server = &*release.git_version, "the API server has told its version");
        }
    }
}

/// Follows the version of the server for a process that has no policy yet, for as long as it is polled: under another version, the one
/// that is there may be valid.
pub(super) async fn follow_without_policy(server: ApiServer, version: ServerVersion) {
    let mut looks = Looks::default();
    loop {
        let outcome = ask(&server).await;
        looks.take(outcome, &version, (false, Instant::now()));
        sleep(looks.pause).await;
    }
}

/// Follows the version of the server, for as long as it is polled. `over` is notified after outages, and `health` knows of other requests.
/// Readiness waits, by `latch`, until the server has told it and the policy follows, or for as long as that is worth it.
pub(super) async fn follow(
    server: ApiServer,
    version: ServerVersion,
    (over, health): (Arc<Notify>, Health),
    engine: Arc<Engine>,
    mut latch: Option<Latch>,
) {
    let mut looks = Looks::default();
    loop {
        let outcome = ask(&server).await;
        let refusal = engine.refusal(&engine.policy());
        let is_well = health.report().is_none();
        if looks.take(outcome, &version, (is_well, Instant::now()))
            && let Some(latch) = latch.take()
        {
            if version.auto() != Auto::ServerUnknown {
                until_followed(&engine, refusal.as_ref()).await;
            }
            drop(latch);
        }
        tokio::select! {
            () = sleep(looks.pause) => {}
            () = over.notified() => looks.is_after_outage = true,
        }
    }
}

/// Waits until the active policy follows the version that is known, or was refused under it, and not for long. `before` is the last refusal
/// of before the version was known.
async fn until_followed(engine: &Engine, before: Option<&Arc<Refusal>>) {
    let until = Instant::now() + SERVER_VERSION_RELOAD;
    while Instant::now() < until {
        let policy = engine.policy();
        let follows = policy.settings.kubernetes.origin != VersionOrigin::ServerUnknown;
        if follows || is_another(before, engine.refusal(&policy).as_ref()) {
            return;
        }
        sleep(SERVER_VERSION_RELOAD_LOOK).await;
    }
}

/// Whether there is a refusal, and it is not the one of before.
fn is_another(before: Option<&Arc<Refusal>>, now: Option<&Arc<Refusal>>) -> bool {
    now.is_some_and(|now| before.is_none_or(|before| !Arc::ptr_eq(before, now)))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use nodesift_policy::kubernetes::MinorVersion;

    fn release(minor: u16) -> Release {
        Release { minor: MinorVersion { major: 1, minor }, git_version: format!("v1.{minor}.0").into() }
    }

    fn refused(status: u16) -> Result<Release, Untold> {
        Err(Failure::Refused { status, message: String::new(), retry_after: None }.into())
    }

    fn silent() -> Result<Release, Untold> {
        Err(Failure::Silent(Duration::from_secs(1)).into())
    }

    #[test]
    fn a_start_gives_up_after_a_few_answers_in_a_row_that_tell_no_version() {
        let answers: [fn() -> Result<Release, Untold>; 4] = [
            || refused(400),
            || Err(Failure::Malformed(String::new()).into()),
            || Err(Failure::Denied { status: 403, message: String::new() }.into()),
            || Err(VersionError::Answer(String::new()).into()),
        ];
        let (version, now) = (ServerVersion::from(Auto::ServerUnknown), Instant::now());
        for answer in answers {
            let mut looks = Looks::default();
            let mut takes = |outcome| looks.take(outcome, &version, (true, now));
            for look in 1..SERVER_VERSION_ANSWERS {
                assert!(!takes(answer()), "look {look}");
            }
            assert!(!takes(silent()), "no answer ends the row");
            for look in 1..SERVER_VERSION_ANSWERS {
                assert!(!takes(answer()), "look {look}");
            }
            assert!(takes(answer()));
        }
        assert_eq!(version.auto(), Auto::ServerUnknown);
    }

    #[test]
    fn a_start_gives_up_after_a_while_in_which_everything_else_is_answered() {
        let (version, start) = (ServerVersion::from(Auto::ServerUnknown), Instant::now());
        let failures: [fn() -> Result<Release, Untold>; 2] = [silent, || refused(503)];
        for failure in failures {
            let mut looks = Looks::default();
            let mut takes = |is_well, at: Duration| looks.take(failure(), &version, (is_well, start + at));
            let long = SERVER_VERSION_PATIENCE;
            assert!(!takes(false, Duration::ZERO) && !takes(false, long * 5), "the server is away");
            assert!(!takes(true, long * 6) && !takes(true, long * 7 - Duration::from_millis(1)));
            assert!(takes(true, long * 7));
            assert!(!takes(false, long * 8) && !takes(true, long * 9), "it was away again");
        }
    }

    #[test]
    fn pauses_grow_while_the_server_tells_nothing() {
        let (version, now) = (ServerVersion::from(Auto::ServerUnknown), Instant::now());
        let mut looks = Looks::default();
        let pauses: Vec<Duration> = (0..10)
            .map(|_| {
                looks.take(silent(), &version, (true, now));
                looks.pause
            })
            .collect();
        assert_eq!(
            (pauses[0], pauses[1], pauses[9]),
            (SERVER_VERSION_RETRY * 2, SERVER_VERSION_RETRY * 4, SERVER_VERSION_LOOK)
        );
        assert!(looks.take(Ok(release(36)), &version, (true, now)));
        looks.take(silent(), &version, (true, now));
        assert_eq!(looks.pause, SERVER_VERSION_LOOK);
    }

    #[test]
    fn servers_of_two_releases_behind_one_address_are_no_changes() {
        let (version, now) = (ServerVersion::from(Auto::ServerUnknown), Instant::now());
        let mut looks = Looks::default();
        let sees = |looks: &mut Looks, minor| {
            assert!(looks.take(Ok(release(minor)), &version, (true, now)));
            version.auto()
        };
        assert_eq!(sees(&mut looks, 36), Auto::Server(release(36)), "the first is taken at once");
        for _ in 0..3 {
            assert_eq!(sees(&mut looks, 37), Auto::Server(release(36)));
            assert_eq!(sees(&mut looks, 36), Auto::Server(release(36)));
        }
        assert_eq!(sees(&mut looks, 37), Auto::Server(release(36)));
        assert_eq!(sees(&mut looks, 35), Auto::Server(release(36)));
        assert_eq!(sees(&mut looks, 35), Auto::Server(release(35)));
        looks.is_after_outage = true;
        assert_eq!(sees(&mut looks, 37), Auto::Server(release(37)));
        assert!(!looks.is_after_outage);
        assert_eq!(sees(&mut looks, 36), Auto::Server(release(37)));
    }

    #[test]
    fn a_refusal_of_before_is_none_of_the_version() {
        let refusal = || {
            let (at, source, failures) = (SystemTime::UNIX_EPOCH, String::new(), Vec::new());
            Arc::new(Refusal { generation: 1, at, source, failures, unlisted: 0 })
        };
        let (before, after) = (refusal(), refusal());
        assert!(!is_another(None, None) && !is_another(Some(&before), None));
        assert!(!is_another(Some(&before), Some(&before)));
        assert!(is_another(Some(&before), Some(&after)) && is_another(None, Some(&after)));
    }
}
