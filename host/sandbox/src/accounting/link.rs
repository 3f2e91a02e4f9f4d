//! The functions by which a component reads an object. Start at [`link`].

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
use super::object::AccountedObject;
use super::types::Amount;
use super::world::AccountingWorld;
use crate::instance::Frame;
use crate::refusal::NoAnswer;
use crate::text::shorten;

/// Adds an interface, and only it, to a linker.
pub(super) fn link(interface: ObjectInterface, linker: &mut Linker<Frame<AccountingWorld>>) -> wasmtime::Result<()> {
    type Store<'a> = StoreContextMut<'a, Frame<AccountingWorld>>;
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
