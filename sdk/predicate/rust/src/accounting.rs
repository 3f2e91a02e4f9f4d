//! Write accounting modules: what a pod takes of its node where its containers do not say it. They are no predicates: one is asked
//! about a single object, where the object comes in, and predicates then read its amounts as they read any other.
//!
//! Implement [`Accounting`] and give the type to [`export_accounting!`](crate::export_accounting). [`Object`] is what can be read;
//! in tests it is made of plain values, and [`ruling`] asks about it.
//!
//! ```
//! use nodesift_sdk::NoArgs;
//! use nodesift_sdk::accounting::{self, Account, Accounting, Amounts, Needs, Object, Ruling};
//!
//! /// Pods take the licences that an annotation says.
//! pub struct Licences;
//!
//! impl Accounting for Licences {
//!     type Args = NoArgs;
//!
//!     fn new(_: NoArgs) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn needs(&self) -> Needs {
//!         Needs::annotations(["example.com/licences"])
//!     }
//!
//!     fn pod(&self, pod: &Object) -> Ruling {
//!         let Some(text) = pod.annotation("example.com/licences") else { return Ruling::Standard };
//!         let Ok(licences) = text.parse::<u32>() else { return Ruling::Broken("example.com/licences: no number".into()) };
//!         let with = |mut amounts: Amounts| {
//!             amounts.insert("example.com/licence".into(), licences.into());
//!             amounts
//!         };
//!         Ruling::Account(Account { requests: with(pod.standard()), usage: with(pod.usage()), ..Account::default() })
//!     }
//! }
//!
//! nodesift_sdk::export_accounting!(Licences);
//!
//! let pod = Object::default().with_annotation("example.com/licences", "2");
//! let Ruling::Account(account) = accounting::ruling(&Licences, &pod) else { panic!() };
//! assert_eq!(account.usage["example.com/licence"], 2);
//! ```

mod export;
mod object;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::args;

pub use export::Instance;
pub use object::{Object, Owner};

/// Amounts by resource, or by the name of a sum: `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, others
/// as a count.
pub type Amounts = BTreeMap<String, i64>;

/// A module that determines what pods take of their nodes. The type is exported by [`export_accounting!`](crate::export_accounting).
pub trait Accounting: Sized + 'static {
    /// The arguments of the policy; [`NoArgs`](crate::NoArgs) where there are none.
    type Args: DeserializeOwned + 'static;

    /// Makes it of its arguments.
    ///
    /// # Errors
    ///
    /// A text that refuses the policy. It should begin with the path of the argument.
    fn new(args: Self::Args) -> Result<Self, String>;

    /// The annotations that it reads, and the sums that it makes; the same each time.
    fn needs(&self) -> Needs;

    /// Accounts for a pod. The result may depend on this object alone.
    fn pod(&self, pod: &Object) -> Ruling;

    /// Accounts for a node: the amounts that it adds to sums of its own. By default none.
    ///
    /// # Errors
    ///
    /// What of the node contradicts itself, as a line for operators.
    fn node(&self, node: &Object) -> Result<Amounts, String> {
        let _ = node;
        Ok(Amounts::new())
    }
}

/// Annotations that an accounting module reads, and sums that it declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Keys of annotations, at most 32. The policy has to list each of them.
    pub annotations: Vec<String>,
    /// Names of sums, at most 32; small letters, digits, `-`, `.`, `_` and `/`.
    pub sums: Vec<String>,
}

impl Needs {
    /// These annotations, and no sums.
    #[must_use]
    pub fn annotations<const N: usize>(keys: [&str; N]) -> Self {
        Self { annotations: keys.map(String::from).to_vec(), sums: Vec::new() }
    }

    /// Replaces the names of the sums.
    #[must_use]
    pub fn with_sums<const N: usize>(self, names: [&str; N]) -> Self {
        Self { sums: names.map(String::from).to_vec(), ..self }
    }
}

/// Amounts that a pod takes, in the place of those that the API states: a resource that is not listed is not taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Amounts that a node must have free for the pod to be placed on it; none below 0.
    pub requests: Amounts,
    /// Amounts that the pod takes of the node that it is on; none below 0.
    pub usage: Amounts,
    /// Amounts that the pod adds to sums of the node that it is on.
    pub sums: Amounts,
    /// Marks for operators, at most 8. Nothing is decided by them.
    pub flags: Vec<String>,
}

/// Result of an accounting module for a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It takes what the API says.
    Standard,
    /// The pod takes these amounts in the place of those that the API states.
    Account(Account),
    /// The data read of the pod is inconsistent: one line for operators. The policy decides which amounts count then.
    Broken(String),
}

/// Makes an accounting module of the JSON text of its arguments.
///
/// # Errors
///
/// Where the arguments are none that it takes.
pub fn configure<A: Accounting>(arguments: &str) -> Result<A, String> {
    A::new(args::parse(arguments)?)
}

/// Returns a module's ruling about an object as a pod. For tests.
pub fn ruling(accounting: &impl Accounting, pod: &Object) -> Ruling {
    accounting.pod(pod)
}
