//! Which clients may make which class of call, by the names in their certificates.
//!
//! Start at [`Rights::new`].

use super::Identity;
use crate::Error;
use crate::paths::Class;

/// The clients that may make each class of call over TCP. By default all may make all, but nobody may attend as a party.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    lists: Option<Lists>,
    /// Each a party, and a user that may attend as it over the Unix socket. Without any, every user may attend as any party there.
    users: Vec<(String, u32)>,
    /// Whether nobody decides or attends, whatever the lists say.
    reads_alone: bool,
}

#[derive(Debug, Clone, Default)]
struct Lists {
    read: Vec<String>,
    decide: Vec<String>,
    operate: Vec<String>,
    /// Each a party, and a name that may attend as it.
    attend: Vec<(String, String)>,
}

/// Name, in refusals, of the right to attend as a party.
const ATTEND: &str = "attend as this party";

/// In a list: every client with a valid certificate.
const ANY: &str = "*";

impl Rights {
    /// Rights by lists of names. Where no list has a name, every client may make every call. As soon as one has, a class whose
    /// list is empty is open to no client over TCP.
    pub fn new(read: &[String], decide: &[String], operate: &[String]) -> Self {
        if [read, decide, operate].iter().all(|list| list.is_empty()) {
            return Self::default();
        }
        let [read, decide, operate] = [read, decide, operate].map(<[String]>::to_vec);
        Self { lists: Some(Lists { read, decide, operate, attend: Vec::new() }), ..Self::default() }
    }

    /// Adds a list of who may attend as which party: a party, and a name in a certificate. Like the other lists it restricts every
    /// class as soon as it has an entry.
    #[must_use]
    pub fn attending(self, attend: &[(String, String)]) -> Self {
        if attend.is_empty() {
            return self;
        }
        Self { lists: Some(Lists { attend: attend.to_vec(), ..self.lists.unwrap_or_default() }), ..self }
    }

    /// Sets which users, by their IDs, may attend as which party over the Unix socket; empty for all.
    #[must_use]
    pub fn attending_users(self, users: &[(String, u32)]) -> Self {
        Self { users: users.to_vec(), ..self }
    }

    /// Refuses a user of the Unix socket that may not attend as a party; none: one that is not known.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub(super) fn check_user(&self, party: &str, user: Option<u32>) -> Result<(), Error> {
        let is_listed = |(known, listed): &(String, u32)| known == party && Some(*listed) == user;
        if self.users.is_empty() || self.users.iter().any(is_listed) {
            return Ok(());
        }
        let client = user.map_or_else(|| "of an unknown user".to_owned(), |user| format!("of user {user}"));
        Err(Error::Denied { client, what: ATTEND, flag: "--allow-attend-uid" })
    }

    /// Takes the rights to decide and to attend from everybody: a page may read, and a script that got into it places nothing.
    #[must_use]
    pub fn reading_alone(self) -> Self {
        Self { reads_alone: true, ..self }
    }

    /// Whether any list restricts anything.
    pub fn restrict(&self) -> bool {
        self.lists.is_some()
    }

    /// Refuses a client that no list allows.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub(super) fn check(&self, class: Class, identity: Option<&Identity>) -> Result<(), Error> {
        if self.reads_alone && matches!(class, Class::Decide | Class::Attend) {
            return Err(Error::ReadsAlone);
        }
        if class == Class::Attend {
            return self.check_party(None, identity);
        }
        let Some(lists) = &self.lists else { return Ok(()) };
        let (list, what, flag) = match class {
            Class::Probe | Class::Page | Class::Attend => return Ok(()),
            Class::Read => (&lists.read, "ask about pods and nodes", "--allow-read"),
            Class::Decide => (&lists.decide, "assume or forget pods", "--allow-decide"),
            Class::Operate => (&lists.operate, "read dumps and events, or call what is not listed", "--allow-operate"),
        };
        if list.iter().any(|name| is_named(identity, name)) { Ok(()) } else { Err(denied(identity, what, flag)) }
    }

    /// Refuses a client that may not attend as a party; none: as any. A party decides for others, so nobody is one without being listed.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub(super) fn check_party(&self, party: Option<&str>, identity: Option<&Identity>) -> Result<(), Error> {
        let is_meant = |known: &str| party.is_none_or(|party| known == party);
        if self
            .lists
            .iter()
            .flat_map(|lists| &lists.attend)
            .any(|(known, name)| is_meant(known) && is_named(identity, name))
        {
            return Ok(());
        }
        Err(denied(identity, ATTEND, "--allow-attend"))
    }
}

/// Whether a client goes by a name of a list.
fn is_named(identity: Option<&Identity>, name: &str) -> bool {
    identity.is_some_and(|identity| name == ANY || identity.has(name))
}

fn denied(identity: Option<&Identity>, what: &'static str, flag: &'static str) -> Error {
    let client = identity.map_or_else(|| "without a certificate".to_owned(), ToString::to_string);
    Error::Denied { client, what, flag }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CLASSES: [Class; 3] = [Class::Read, Class::Decide, Class::Operate];

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn without_lists_every_client_may_make_every_call() {
        let rights = Rights::new(&[], &[], &[]);
        assert!(!rights.restrict());
        for class in CLASSES {
            assert!(rights.check(class, None).is_ok());
            assert!(rights.check(class, Some(&Identity::named(&["core"]))).is_ok());
        }
    }

    #[test]
    fn a_list_allows_its_names_and_an_empty_one_beside_it_allows_nobody() {
        let rights = Rights::new(&names(&["core", "spiffe://cluster/dashboard"]), &names(&["core"]), &[]);
        let may = |identity: Option<&Identity>| CLASSES.map(|class| rights.check(class, identity).is_ok());
        assert_eq!(may(Some(&Identity::named(&["other", "core"]))), [true, true, false]);
        assert_eq!(may(Some(&Identity::named(&["spiffe://cluster/dashboard"]))), [true, false, false]);
        // No prefix, no suffix, no other case.
        for stranger in ["", "cor", "core2", "Core", "*", "spiffe://cluster/dashboard/"] {
            assert_eq!(may(Some(&Identity::named(&[stranger]))), [false; 3], "{stranger:?}");
        }
        assert_eq!(may(Some(&Identity::named(&[]))), [false; 3]);
        assert_eq!(may(None), [false; 3]);
        assert!(rights.check(Class::Probe, None).is_ok());
    }

    #[test]
    fn an_asterisk_is_every_client_with_a_certificate() {
        let rights = Rights::new(&names(&["*"]), &[], &[]);
        assert!(rights.check(Class::Read, Some(&Identity::named(&["anyone"]))).is_ok());
        assert!(rights.check(Class::Read, Some(&Identity::named(&[]))).is_ok());
        assert!(rights.check(Class::Read, None).is_err());
    }

    #[test]
    fn a_party_attends_by_a_name_that_is_listed_for_it_and_for_no_other() {
        let pair = |party: &str, name: &str| (party.to_owned(), name.to_owned());
        let rights = Rights::new(&[], &[], &[]).attending(&[pair("licences", "flexd"), pair("storage", "*")]);
        let (licences, other) = (Identity::named(&["flexd"]), Identity::named(&["x"]));
        assert!(rights.check(Class::Attend, Some(&other)).is_ok() && rights.check(Class::Attend, None).is_err());
        assert!(rights.check_party(Some("licences"), Some(&licences)).is_ok());
        assert!(rights.check_party(Some("storage"), Some(&licences)).is_ok());
        let refused = rights.check_party(Some("licences"), Some(&other)).unwrap_err().text();
        assert!(refused.contains("--allow-attend"), "{refused}");
        // As soon as one list has a name, the others are closed.
        assert!(rights.check(Class::Decide, Some(&licences)).is_err());
    }

    #[test]
    fn without_a_list_nobody_attends_over_tcp_and_everybody_over_the_socket() {
        let open = Rights::new(&[], &[], &[]).attending(&[]);
        for rights in [open, Rights::default(), Rights::new(&names(&["core"]), &names(&["core"]), &[])] {
            for identity in [None, Some(Identity::named(&["core"]))] {
                assert!(rights.check_party(Some("licences"), identity.as_ref()).is_err());
                assert!(rights.check(Class::Attend, identity.as_ref()).is_err());
            }
            assert!(rights.check_user("licences", Some(1)).is_ok() && rights.check_user("licences", None).is_ok());
        }
    }

    #[test]
    fn over_the_socket_a_party_attends_as_a_user_that_is_listed_for_it() {
        let rights = Rights::default().attending_users(&[("licences".to_owned(), 7), ("disk".to_owned(), 8)]);
        let may = |party: &str, user| rights.check_user(party, user).is_ok();
        assert!(may("licences", Some(7)) && may("disk", Some(8)));
        assert!(!may("licences", Some(8)) && !may("licences", Some(0)) && !may("licences", None) && !may("x", Some(7)));
        assert!(rights.check_user("disk", Some(7)).unwrap_err().text().contains("--allow-attend-uid"));
    }

    #[test]
    fn where_all_only_read_nobody_decides_or_attends_whom_the_lists_name() {
        let pair = ("licences".to_owned(), "core".to_owned());
        let core = Identity::named(&["core"]);
        for rights in [Rights::default(), Rights::new(&names(&["core"]), &names(&["core"]), &names(&["core"]))] {
            let rights = rights.attending(std::slice::from_ref(&pair)).reading_alone();
            for class in [Class::Decide, Class::Attend] {
                assert!(matches!(rights.check(class, Some(&core)), Err(Error::ReadsAlone)), "{class:?}");
            }
        }
        let rights = Rights::default().reading_alone();
        assert!([Class::Read, Class::Operate, Class::Page].iter().all(|class| rights.check(*class, None).is_ok()));
    }

    #[test]
    fn a_refusal_names_the_client_and_the_missing_right() {
        let rights = Rights::new(&names(&["core"]), &[], &[]);
        let error = rights.check(Class::Decide, Some(&Identity::named(&["stranger"]))).unwrap_err();
        let text = error.text();
        assert!(text.contains("\"stranger\"") && text.contains("--allow-decide"), "{text}");
        assert_eq!(error.status().0, tonic::Code::PermissionDenied);
    }
}
