//! Which clients may make which class of call, by the names in their certificates.
//!
//! Start at [`Rights::new`].

use super::Identity;
use crate::Error;
use crate::paths::Class;

/// The clients that may make each class of call over TCP. By default all may make all.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    lists: Option<Lists>,
}

#[derive(Debug, Clone, Default)]
struct Lists {
    read: Vec<String>,
    decide: Vec<String>,
    operate: Vec<String>,
    /// Each a party, and a name that may attend as it.
    attend: Vec<(String, String)>,
}

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
        Self { lists: Some(Lists { read, decide, operate, attend: Vec::new() }) }
    }

    /// The same, and who may attend as which party: a list like the others.
    #[must_use]
    pub fn attending(self, attend: &[(String, String)]) -> Self {
        if attend.is_empty() {
            return self;
        }
        Self { lists: Some(Lists { attend: attend.to_vec(), ..self.lists.unwrap_or_default() }) }
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
        let Some(lists) = &self.lists else { return Ok(()) };
        let (list, what, flag) = match class {
            Class::Probe => return Ok(()),
            Class::Attend => return self.check_party(None, identity),
            Class::Read => (&lists.read, "ask about pods and nodes", "--allow-read"),
            Class::Decide => (&lists.decide, "assume or forget pods", "--allow-decide"),
            Class::Operate => (&lists.operate, "read dumps and events, or call what is not listed", "--allow-operate"),
        };
        if list.iter().any(|name| is_named(identity, name)) { Ok(()) } else { Err(denied(identity, what, flag)) }
    }

    /// Refuses a client that may not attend as a party; none: as any.
    ///
    /// # Errors
    ///
    /// [`Error::Denied`].
    pub(super) fn check_party(&self, party: Option<&str>, identity: Option<&Identity>) -> Result<(), Error> {
        let Some(lists) = &self.lists else { return Ok(()) };
        let is_meant = |known: &str| party.is_none_or(|party| known == party);
        if lists.attend.iter().any(|(known, name)| is_meant(known) && is_named(identity, name)) {
            return Ok(());
        }
        Err(denied(identity, "attend as this party", "--allow-attend"))
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
        let open = Rights::new(&[], &[], &[]).attending(&[]);
        assert!(open.check_party(Some("licences"), None).is_ok());
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
