//! The version that a policy takes which names none, and the API server's as it was read last. Start at [`Auto`].

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::table::Table;
use super::version::{MinorVersion, Release};
use nodesift_engine::VersionOrigin;

/// The source of the version of Kubernetes where a policy follows the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Auto {
    /// Nothing: the newest version that is known.
    #[default]
    Newest,
    /// The command line, whatever the policy says.
    Argument(MinorVersion),
    /// An API server that has not told its release.
    ServerUnknown,
    /// The release of an API server.
    Server(Release),
}

impl Auto {
    /// Returns the version of a table, and where it was taken from.
    pub fn version(&self, table: &Table) -> (MinorVersion, VersionOrigin) {
        match self {
            Self::Newest => (table.newest(), VersionOrigin::Newest),
            Self::Argument(version) => (*version, VersionOrigin::Argument),
            Self::ServerUnknown => (table.newest(), VersionOrigin::ServerUnknown),
            Self::Server(Release { minor, git_version }) => {
                let (nearest, git_version) = (table.nearest(*minor), Arc::clone(git_version));
                let is_known = nearest == *minor;
                let origin = match is_known {
                    true => VersionOrigin::Server { git_version },
                    false => VersionOrigin::NearestToServer { git_version },
                };
                (nearest, origin)
            }
        }
    }
}

/// The present source of the version of a process; clones share it. Policies that follow the cluster are read again once it changes.
#[derive(Clone, Default)]
pub struct ServerVersion(Arc<Shared>);

#[derive(Default)]
struct Shared {
    auto: Mutex<Auto>,
    wakes: Mutex<Vec<Weak<dyn Fn() + Send + Sync>>>,
}

impl fmt::Debug for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerVersion").field(&*self.0.auto.lock()).finish()
    }
}

impl PartialEq for ServerVersion {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ServerVersion {}

impl From<Auto> for ServerVersion {
    fn from(auto: Auto) -> Self {
        Self(Arc::new(Shared { auto: Mutex::new(auto), ..Shared::default() }))
    }
}

impl ServerVersion {
    /// Returns what decides the version now.
    pub fn auto(&self) -> Auto {
        self.0.auto.lock().clone()
    }

    /// The API server has told its release.
    pub fn see(&self, release: Release) {
        let mut auto = self.0.auto.lock();
        let seen = Auto::Server(release);
        if *auto == seen {
            return;
        }
        *auto = seen;
        drop(auto);
        self.0.wakes.lock().retain(|wake| wake.upgrade().map(|wake| wake()).is_some());
    }

    /// Has this called after each change, for as long as it is held elsewhere.
    pub(crate) fn wake(&self, wake: &Arc<dyn Fn() + Send + Sync>) {
        self.0.wakes.lock().push(Arc::downgrade(wake));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn release(version: &str) -> Release {
        Release { minor: version.parse().unwrap(), git_version: format!("v{version}.1").into() }
    }

    #[test]
    fn a_server_outside_of_the_table_gets_the_nearest_version_and_is_named() {
        let table = Table::built_in();
        let of = |version: &str| Auto::Server(release(version)).version(table);
        for version in &table.versions {
            let (chosen, origin) = of(&version.to_string());
            assert_eq!(chosen, *version);
            assert_eq!(origin, VersionOrigin::Server { git_version: format!("v{version}.1").into() });
        }
        for (version, expected) in [("1.20", table.versions[0]), ("1.99", table.newest()), ("2.0", table.newest())] {
            let (chosen, origin) = of(version);
            assert_eq!(chosen, expected);
            assert_eq!(origin, VersionOrigin::NearestToServer { git_version: format!("v{version}.1").into() });
        }
        assert_eq!(Auto::Newest.version(table), (table.newest(), VersionOrigin::Newest));
        assert_eq!(Auto::ServerUnknown.version(table), (table.newest(), VersionOrigin::ServerUnknown));
    }

    #[test]
    fn a_change_wakes_and_the_same_again_does_not() {
        let server = ServerVersion::from(Auto::ServerUnknown);
        let woken = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&woken);
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            counting.fetch_add(1, Ordering::SeqCst);
        });
        server.wake(&wake);
        server.see(release("1.36"));
        assert_eq!(server.auto(), Auto::Server(release("1.36")));
        server.see(release("1.36"));
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        drop(wake);
        server.see(release("1.37"));
        assert_eq!(woken.load(Ordering::SeqCst), 1);
    }
}
