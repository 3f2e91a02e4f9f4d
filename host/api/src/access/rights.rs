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

#[derive(Debug, Clone)]
struct Lists {
    read: Vec<String>,
    decide: Vec<String>,
    operate: Vec<String>,
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
        Self { lists: Some(Lists { read: read.to_vec(), decide: decide.to_vec(), operate: operate.to_vec() }) }
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
            Class::Read => (&lists.read, "ask about pods and nodes", "--allow-read"),
            Class::Decide => (&lists.decide, "assume or forget pods", "--allow-decide"),
            Class::Operate => (&lists.operate, "read dumps and events, or call what is not listed", "--allow-operate"),
        };
        let allowed = identity.is_some_and(|identity| list.iter().any(|name| name == ANY || identity.has(name)));
        if allowed {
            return Ok(());
        }
        let client = identity.map_or_else(|| "without a certificate".to_owned(), ToString::to_string);
        Err(Error::Denied { client, what, flag })
    }
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
    fn a_refusal_names_the_client_and_the_missing_right() {
        let rights = Rights::new(&names(&["core"]), &[], &[]);
        let error = rights.check(Class::Decide, Some(&Identity::named(&["stranger"]))).unwrap_err();
        let text = error.text();
        assert!(text.contains("\"stranger\"") && text.contains("--allow-decide"), "{text}");
        assert_eq!(error.status().0, tonic::Code::PermissionDenied);
    }
}
