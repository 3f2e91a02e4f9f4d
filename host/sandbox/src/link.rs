//! Links the interfaces of the contract to predicates. Those that give no facts, `log` and `row-sets`, are here; the others follow from the
//! table in `interface`. Start at [`link`].

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, WasmStr};

use crate::contract::PACKAGE;
use crate::instance;
use crate::interface::{FactStore as _, Interface};
use crate::limits::{LAST_WORDS_BYTES, LOG_LINE_BYTES};
use crate::log::{Level, Line, printable};
use crate::predicate::PredicateWorld;
use crate::wire::Failure;

type Frame = instance::Frame<PredicateWorld>;
type Store<'a> = StoreContextMut<'a, Frame>;

/// Adds an interface, and only it, to a linker, under every version of the contract that has it.
pub(super) fn link(interface: Interface, linker: &mut Linker<Frame>) -> wasmtime::Result<()> {
    for minor in interface.minors() {
        let mut instance = linker.instance(&format!("{PACKAGE}/{}@{}", interface.name(), minor.version()))?;
        match interface {
            Interface::Log => link_log(&mut instance)?,
            Interface::RowSets => link_row_sets(&mut instance)?,
            _ => interface.link_facts(&mut instance)?,
        }
    }
    Ok(())
}

/// Links `log.write`: a guest's line is counted, and its text is read only if it may be written or may be the guest's last words.
fn link_log(instance: &mut LinkerInstance<'_, Frame>) -> wasmtime::Result<()> {
    instance.func_wrap("write", |mut store: Store<'_>, (level, text): (Level, WasmStr)| {
        let (is_written, is_error) = (store.data().admits_line(), level == Level::Error);
        // First: a text that is dropped is not even read, unless it may be the guest's last.
        if is_written || is_error {
            let (line, words) = match text.to_str(&store) {
                Ok(text) => {
                    let limited = |limit| printable(&text, limit);
                    (is_written.then(|| limited(LOG_LINE_BYTES)), is_error.then(|| limited(LAST_WORDS_BYTES)))
                }
                Err(_) => {
                    let text = || "a line that is not text".to_owned();
                    (is_written.then(text), is_error.then(text))
                }
            };
            if let Some(words) = words {
                store.data_mut().note_error(words);
            }
            if let Some(text) = line {
                store.data_mut().write(Line { level, text });
            }
        }
        Ok(())
    })
}

/// Links the functions of `row-sets`.
fn link_row_sets(instance: &mut LinkerInstance<'_, Frame>) -> wasmtime::Result<()> {
    instance.func_wrap("all", |mut store: Store<'_>, (): ()| {
        let sets = store.data_mut().row_sets()?;
        Ok((sets.add(sets.all())?,))
    })?;
    instance.func_wrap("and", |mut store: Store<'_>, (a, b): (u32, u32)| {
        let sets = store.data_mut().row_sets()?;
        Ok((sets.add(sets.get(a)?.and(sets.get(b)?))?,))
    })?;
    instance.func_wrap("or", |mut store: Store<'_>, (a, b): (u32, u32)| {
        let sets = store.data_mut().row_sets()?;
        Ok((sets.add(sets.get(a)?.or(sets.get(b)?))?,))
    })?;
    instance.func_wrap("not", |mut store: Store<'_>, (a,): (u32,)| {
        let sets = store.data_mut().row_sets()?;
        Ok((sets.add(sets.get(a)?.not())?,))
    })?;
    instance
        .func_wrap("count", |mut store: Store<'_>, (a,): (u32,)| Ok((store.data_mut().row_sets()?.get(a)?.count(),)))?;
    instance.func_wrap("reject", |mut store: Store<'_>, (a, failure): (u32, Failure)| {
        Ok(store.data_mut().row_sets()?.reject(a, failure)?)
    })
}
