//! An accounting module as the export of a component. Start at [`export_accounting!`](crate::export_accounting).

use std::cell::OnceCell;

use super::{Accounting, Amounts, Object, Ruling, configure};
use crate::bindings::accounting::exports::nodesift::accounting::accounting as exports;
use crate::bindings::accounting::nodesift::accounting::types::Amount;

/// The module of one instance.
#[doc(hidden)]
#[derive(Debug)]
pub struct Instance<A>(OnceCell<A>);

impl<A: Accounting> Instance<A> {
    /// An instance without arguments yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Makes the module of the JSON text of its arguments. Can be called once.
    ///
    /// # Errors
    ///
    /// Where the arguments are invalid, or on the second call.
    pub fn configure(&self, arguments: &str) -> Result<exports::Needs, String> {
        let accounting = configure::<A>(arguments)?;
        let needs = accounting.needs();
        self.0.set(accounting).map_err(|_| String::from("the module is already configured"))?;
        Ok(exports::Needs { annotations: needs.annotations, sums: needs.sums })
    }

    /// Calls the module for the object as a pod, and sorts the amounts by name.
    pub fn pod(&self, object: &Object) -> exports::Ruling {
        // The host always configures first.
        let Some(accounting) = self.0.get() else { return exports::Ruling::Broken(String::from("not configured")) };
        match accounting.pod(object) {
            Ruling::Standard => exports::Ruling::Standard,
            Ruling::Broken(text) => exports::Ruling::Broken(text),
            Ruling::Account(account) => exports::Ruling::Account(exports::Account {
                requests: listed(account.requests),
                usage: listed(account.usage),
                sums: account.sums.into_iter().collect(),
                flags: account.flags,
            }),
        }
    }

    /// Calls the module for the object as a node, and returns what it adds to sums.
    ///
    /// # Errors
    ///
    /// What of the node contradicts itself.
    pub fn node(&self, object: &Object) -> Result<Vec<(String, i64)>, String> {
        let accounting = self.0.get().ok_or_else(|| String::from("not configured"))?;
        Ok(accounting.node(object)?.into_iter().collect())
    }
}

impl<A: Accounting> Default for Instance<A> {
    fn default() -> Self {
        Self::new()
    }
}

fn listed(amounts: Amounts) -> Vec<Amount> {
    amounts.into_iter().map(|(resource, value)| Amount { resource, value }).collect()
}

/// Exports an [`Accounting`] as that of this crate's component. On targets other than wasm32 it does nothing.
#[macro_export]
macro_rules! export_accounting {
    ($accounting:ty) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the component boundary")]
        const _: () = {
            use $crate::accounting::{Instance, Object};
            use $crate::bindings::accounting::exports::nodesift::accounting::accounting::{Guest, Needs, Ruling};

            ::std::thread_local! {
                static INSTANCE: Instance<$accounting> = const { Instance::new() };
            }

            struct Component;

            impl Guest for Component {
                fn configure(args: ::std::string::String) -> ::core::result::Result<Needs, ::std::string::String> {
                    INSTANCE.with(|instance| instance.configure(&args))
                }

                fn pod() -> Ruling {
                    INSTANCE.with(|instance| instance.pod(&Object::default()))
                }

                fn node() -> ::core::result::Result<::std::vec::Vec<(::std::string::String, i64)>, ::std::string::String> {
                    INSTANCE.with(|instance| instance.node(&Object::default()))
                }
            }

            $crate::bindings::accounting::__export_accounting!(Component with_types_in $crate::bindings::accounting);
        };
    };
}
