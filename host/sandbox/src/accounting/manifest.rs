//! Imports and exports of an accounting component. Start at [`Manifest::new`].

use super::contract::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
use super::error::AccountingError;
use crate::manifest::Surface;
use crate::text::shorten;

/// Prefix of the versions that are served: every patch version of 0.1.
const SERVED: &str = "0.1.";

/// Imports and exports of an accounting component.
#[derive(Debug)]
pub(in super::super) struct Manifest {
    /// The interfaces of which it imports at least one function, sorted.
    pub(super) imports: Vec<ObjectInterface>,
    /// The full name of its export `accounting`.
    pub(super) export: String,
    /// The version in it.
    pub(super) contract: String,
}

/// Properties of an accounting component that can be read without a policy.
#[derive(Debug, Clone)]
pub struct AccountingInspection {
    /// The version of the contract that it was built for.
    pub contract: String,
    /// The interfaces of which it imports at least one function, sorted.
    pub imports: Vec<ObjectInterface>,
}

/// Inspects a component that exports accounting of any version; `None` for every other component. Nothing of it runs.
///
/// # Errors
///
/// Those of [`AccountingError`] that can be told by imports and exports.
pub fn inspect_accounting(bytes: &[u8]) -> Option<Result<AccountingInspection, AccountingError>> {
    let surface = Surface::read(bytes).ok()?;
    let is_accounting = |export: &String| split(export).is_some_and(|(name, _)| name == "accounting");
    surface.exports.iter().any(is_accounting).then(|| {
        let Manifest { imports, contract, .. } = Manifest::new(&surface)?;
        Ok(AccountingInspection { contract, imports })
    })
}

impl Manifest {
    /// The manifest of a component with these imports and exports.
    ///
    /// # Errors
    ///
    /// [`AccountingError::Contract`] where it exports no accounting, [`AccountingError::ContractVersion`], and
    /// [`AccountingError::UnknownImports`].
    pub(super) fn new(surface: &Surface) -> Result<Self, AccountingError> {
        let version =
            |export: &str| split(export).filter(|(name, _)| *name == "accounting").map(|(_, it)| it.to_owned());
        let exported: Vec<(&String, String)> =
            surface.exports.iter().filter_map(|export| Some((export, version(export)?))).collect();
        let served = exported.iter().find(|(_, version)| is_served(version));
        let (export, contract) = match (served, exported.first()) {
            (Some((export, version)), _) => ((*export).clone(), version.clone()),
            (None, Some((_, version))) => {
                return Err(AccountingError::ContractVersion { built_for: shorten(version) });
            }
            (None, None) => {
                let found = match surface.exports.as_slice() {
                    [] => "it exports nothing".to_owned(),
                    names => format!("it exports {}", names.join(", ")),
                };
                let name = format!("{ACCOUNTING_PACKAGE}/accounting@{ACCOUNTING_VERSION}");
                return Err(AccountingError::Contract(format!("no export {name}; {found}")));
            }
        };
        let (mut imports, mut unknown) = (Vec::new(), Vec::new());
        for import in &surface.imports {
            let known = split(import).filter(|(_, version)| is_served(version));
            match known.and_then(|(name, _)| ObjectInterface::from_name(name)) {
                Some(interface) => imports.push(interface),
                None => unknown.push(import.clone()),
            }
        }
        if !unknown.is_empty() {
            return Err(AccountingError::UnknownImports(unknown));
        }
        imports.sort_unstable();
        imports.dedup();
        Ok(Self { imports, export, contract })
    }

    /// Checks that it imports no other interfaces than these.
    ///
    /// # Errors
    ///
    /// [`AccountingError::ForbiddenImports`] with all others.
    pub(super) fn check(&self, allow: Option<&[ObjectInterface]>) -> Result<(), AccountingError> {
        let Some(allow) = allow else { return Ok(()) };
        let forbidden = self.imports.iter().filter(|import| !allow.contains(import));
        let forbidden: Vec<&str> = forbidden.map(|import| import.name()).collect();
        if forbidden.is_empty() { Ok(()) } else { Err(AccountingError::ForbiddenImports(forbidden)) }
    }
}

/// Name and version of an interface of the contract's package, from the full name of an import or export.
fn split(full: &str) -> Option<(&str, &str)> {
    full.strip_prefix(ACCOUNTING_PACKAGE)?.strip_prefix('/')?.split_once('@')
}

fn is_served(version: &str) -> bool {
    version.strip_prefix(SERVED).is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|it| it.is_ascii_digit()))
}
