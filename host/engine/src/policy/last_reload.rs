//! The last reload, for those who ask. Start at [`LastReload`].

use std::time::{Duration, SystemTime};

use crate::Trial;

/// A reload that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastReload {
    /// The generation that was active then.
    pub generation: u64,
    /// Wall-clock time at which the reload ended.
    pub at: SystemTime,
    /// Result of the reload.
    pub outcome: ReloadOutcome,
    /// From the reading of the files to the end, without the time that was waited for the files to be quiet.
    pub took: Duration,
    /// Steps of it in their order; of a refused one those up to the step that failed, of a rollback none.
    pub steps: Vec<ReloadStep>,
    /// The part of it in which the active policy was exchanged for the next.
    pub swap: Option<Duration>,
    /// The trial of the policy that has become active; none where there was none.
    pub trial: Option<Trial>,
}

/// A step of a reload that has ended, well or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReloadStep {
    /// Name in statuses: `read`, `load`, `follow`, `trial` or `switch`.
    pub name: &'static str,
    /// Time that the step took.
    pub took: Duration,
}

/// How a reload has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// The policy of the files is active.
    Active,
    /// The policy before stayed.
    Refused,
    /// The policy before is active again.
    RolledBack,
}

impl ReloadOutcome {
    /// The name in statuses and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Refused => "refused",
            Self::RolledBack => "rolledBack",
        }
    }
}
