//! What an accounting component can read of one object, and the linker. Start at [`AccountedObject`].

use std::sync::Arc;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::accountant::State;
use super::contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
use super::types::{Amount, ObjectOwner};
use crate::text::shorten;

/// What can be read of the object of the running call. Units and meanings are those of the contract; lists are sorted as it says.
pub trait AccountedObject: Send + Sync {
    /// `object-annotations.get`, for a key among the needs.
    fn annotation(&self, key: &str) -> Option<Arc<str>>;

    /// `object-owners.owners`
    fn owners(&self) -> Vec<ObjectOwner>;

    /// `object-requests.standard`
    fn standard(&self) -> Vec<Amount>;

    /// `object-requests.usage`
    fn usage(&self) -> Vec<Amount>;

    /// `object-requests.containers`
    fn containers(&self) -> Vec<Amount>;
}

/// Why a function of an interface has no answer. The error ends the guest's call.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// It was called outside `pod` and `node`.
    #[error("what is read of an object can only be read while `pod` or `node` runs")]
    NoObject,
    /// The annotation is not among the needs.
    #[error("the annotation {0} is not among those that `configure` has said")]
    NotNeeded(String),
}

/// Adds an interface, and only it, to a linker.
pub(super) fn link(interface: ObjectInterface, linker: &mut Linker<State>) -> wasmtime::Result<()> {
    type Store<'a> = StoreContextMut<'a, State>;
    let name = format!("{ACCOUNTING_PACKAGE}/{}@{ACCOUNTING_VERSION}", interface.name());
    let mut instance = linker.instance(&name)?;
    match interface {
        ObjectInterface::Annotations => instance.func_wrap("get", |store: Store<'_>, (key,): (WasmStr,)| {
            let key = key.to_str(&store)?;
            let running = store.data().running()?;
            if running.needs.annotations.binary_search_by(|known| (**known).cmp(&key)).is_err() {
                return Err(NoAnswer::NotNeeded(shorten(&key)).into());
            }
            Ok((running.object.annotation(&key),))
        }),
        ObjectInterface::Owners => {
            instance.func_wrap("owners", |store: Store<'_>, (): ()| Ok((store.data().running()?.object.owners(),)))
        }
        ObjectInterface::Requests => {
            let amounts = |store: &Store<'_>, of: fn(&dyn AccountedObject) -> Vec<Amount>| {
                wasmtime::Result::Ok((of(&*store.data().running()?.object),))
            };
            instance.func_wrap("standard", move |store: Store<'_>, (): ()| amounts(&store, |it| it.standard()))?;
            instance.func_wrap("usage", move |store: Store<'_>, (): ()| amounts(&store, |it| it.usage()))?;
            instance.func_wrap("containers", move |store: Store<'_>, (): ()| amounts(&store, |it| it.containers()))
        }
    }
}
