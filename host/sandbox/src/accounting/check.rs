//! Checks what an accounting component returned: names, numbers of entries, and the range of amounts. Start at [`ruling`].

use std::sync::Arc;

use super::types::{Account, Amount, Needs, NodeSums, RawAccount, RawNeeds, RawRuling, RawSums, Ruling, Sums};
use crate::fault::{Fault, FaultKind};
use crate::limits::{
    ACCOUNT_AMOUNTS, ACCOUNT_FLAGS, ACCOUNT_NAME_BYTES, ACCOUNTING_ANNOTATIONS, ACCOUNTING_KEY_BYTES, ACCOUNTING_SUMS,
    REASON_BYTES, RESOURCE_NAME_BYTES,
};
use crate::log::printable;
use crate::text::shorten;

/// Checks what `configure` returned.
///
/// # Errors
///
/// `Configure` where it has too many entries, or a name that cannot be one.
pub(super) fn needs(raw: RawNeeds) -> Result<Needs, Fault> {
    let RawNeeds { annotations, sums } = raw;
    let refused = |detail: String| Fault::new(FaultKind::Configure, &detail);
    for (what, count, most) in
        [("annotations", annotations.len(), ACCOUNTING_ANNOTATIONS), ("sums", sums.len(), ACCOUNTING_SUMS)]
    {
        if count > most {
            return Err(refused(format!("it needs {count} {what}, at most {most} are allowed")));
        }
    }
    if let Some(key) = annotations.iter().find(|key| key.is_empty() || key.len() > ACCOUNTING_KEY_BYTES) {
        return Err(refused(format!("it needs the annotation {key:?}, which has no key of an annotation")));
    }
    if let Some(name) = sums.iter().find(|name| !is_name(name)) {
        return Err(refused(format!("it needs the sum {name:?}, which is no name of a sum")));
    }
    let sorted = |mut names: Vec<Arc<str>>| {
        names.sort_unstable();
        names.dedup();
        names
    };
    Ok(Needs { annotations: sorted(annotations), sums: sorted(sums) })
}

/// Checks what `pod` returned.
///
/// # Errors
///
/// `OutputTooLarge` where it has too many entries, and `MalformedVerdict` where it contradicts the contract.
pub(super) fn ruling(raw: RawRuling, needs: &Needs) -> Result<Ruling, Fault> {
    match raw {
        RawRuling::Standard => Ok(Ruling::Standard),
        RawRuling::Account(account) => checked_account(account, needs).map(Ruling::Account),
        RawRuling::Broken(text) => Ok(Ruling::Broken(printable(&text, REASON_BYTES))),
    }
}

/// Checks what `node` returned.
///
/// # Errors
///
/// As for [`ruling`].
pub(super) fn node_sums(raw: NodeSums, needs: &Needs) -> Result<Result<Sums, String>, Fault> {
    match raw {
        Ok(raw) => sums(raw, needs).map(Ok),
        Err(text) => Ok(Err(printable(&text, REASON_BYTES))),
    }
}

fn checked_account(raw: RawAccount, needs: &Needs) -> Result<Account, Fault> {
    Ok(Account {
        requests: amounts("requests", raw.requests)?,
        usage: amounts("usage", raw.usage)?,
        sums: sums(raw.sums, needs)?,
        flags: flags(raw.flags)?,
    })
}

fn amounts(what: &str, raw: Vec<Amount>) -> Result<Vec<(Arc<str>, i64)>, Fault> {
    at_most(raw.len(), ACCOUNT_AMOUNTS, what)?;
    if let Some(odd) = raw.iter().find(|amount| !is_resource_name(&amount.resource)) {
        return malformed(&format!("{what}: {:?} is no name of a resource", odd.resource));
    }
    if let Some(odd) = raw.iter().find(|amount| amount.value < 0) {
        return malformed(&format!("{what}: {} of {}", odd.value, odd.resource));
    }
    by_name(what, raw.into_iter().map(|amount| (amount.resource, amount.value)).collect())
}

fn sums(raw: RawSums, needs: &Needs) -> Result<Sums, Fault> {
    at_most(raw.len(), ACCOUNTING_SUMS, "sums")?;
    if let Some((odd, _)) = raw.iter().find(|(name, _)| needs.sums.binary_search(name).is_err()) {
        return malformed(&format!("sums: {odd:?} is not among those that `configure` has said"));
    }
    by_name("sums", raw)
}

fn flags(mut raw: Vec<Arc<str>>) -> Result<Vec<Arc<str>>, Fault> {
    at_most(raw.len(), ACCOUNT_FLAGS, "flags")?;
    if let Some(odd) = raw.iter().find(|name| !is_name(name)) {
        return malformed(&format!("flags: {odd:?} is no name"));
    }
    raw.sort_unstable();
    match raw.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(twice) => malformed(&format!("flags: {:?} is there twice", twice.first())),
        None => Ok(raw),
    }
}

/// Sorts a list by name. Fails if a name is there twice.
fn by_name(what: &str, mut list: Vec<(Arc<str>, i64)>) -> Result<Vec<(Arc<str>, i64)>, Fault> {
    list.sort_unstable();
    let is_twice = |pair: &&[(Arc<str>, i64)]| matches!(pair, [(a, _), (b, _)] if a == b);
    match list.windows(2).find(is_twice).and_then(<[_]>::first) {
        Some((name, _)) => malformed(&format!("{what}: {name:?} is there twice")),
        None => Ok(list),
    }
}

/// Whether this can be the name of a sum or a flag.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._/".contains(&byte);
    !text.is_empty() && text.len() <= ACCOUNT_NAME_BYTES && text.bytes().all(is_allowed)
}

/// Whether this can be the name of a resource: what Kubernetes allows in one, without its rules about where.
fn is_resource_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    !text.is_empty() && text.len() <= RESOURCE_NAME_BYTES && text.bytes().all(is_allowed)
}

fn at_most(count: usize, most: usize, what: &str) -> Result<(), Fault> {
    if count <= most {
        return Ok(());
    }
    let detail = format!("{count} {what} in an account, at most {most} are allowed");
    Err(Fault { kind: FaultKind::OutputTooLarge, detail })
}

fn malformed<T>(detail: &str) -> Result<T, Fault> {
    Err(Fault { kind: FaultKind::MalformedVerdict, detail: shorten(detail) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn amount(resource: &str, value: i64) -> Amount {
        Amount { resource: resource.into(), value }
    }

    fn taking(usage: Vec<Amount>) -> RawAccount {
        RawAccount { requests: vec![], usage, sums: vec![], flags: vec![] }
    }

    fn two_sums() -> Needs {
        needs(RawNeeds { annotations: vec!["k".into()], sums: vec!["b.x".into(), "a".into(), "a".into()] }).unwrap()
    }

    fn fault(account: RawAccount) -> Fault {
        ruling(RawRuling::Account(account), &two_sums()).unwrap_err()
    }

    #[test]
    fn lists_are_sorted_and_kept_whole() {
        let raw = RawAccount {
            requests: vec![amount("memory", 1), amount("cpu", 0)],
            usage: vec![amount("example.com/Gpu_1", i64::MAX)],
            sums: vec![("b.x".into(), i64::MIN), ("a".into(), 3)],
            flags: vec!["z".into(), "migration-source".into()],
        };
        let Ruling::Account(account) = ruling(RawRuling::Account(raw), &two_sums()).unwrap() else { unreachable!() };
        assert_eq!(account.requests, [("cpu".into(), 0), ("memory".into(), 1)]);
        assert_eq!(account.usage, [("example.com/Gpu_1".into(), i64::MAX)]);
        assert_eq!(account.sums, [("a".into(), 3), ("b.x".into(), i64::MIN)]);
        assert_eq!(account.flags, ["migration-source".into(), "z".into()]);
    }

    #[test]
    fn what_contradicts_the_contract_is_a_fault() {
        let sums = |sums: &[&str]| RawAccount {
            sums: sums.iter().map(|name| ((*name).into(), 1)).collect(),
            ..taking(vec![])
        };
        let flags =
            |flags: &[&str]| RawAccount { flags: flags.iter().map(|flag| (*flag).into()).collect(), ..taking(vec![]) };
        let long = "x".repeat(RESOURCE_NAME_BYTES + 1);
        for (account, detail) in [
            (taking(vec![amount("cpu", -1)]), "usage: -1 of cpu"),
            (
                RawAccount { requests: vec![amount("cpu", i64::MIN)], ..taking(vec![]) },
                "requests: -9223372036854775808",
            ),
            (taking(vec![amount("cpu", 1), amount("gpu", 1), amount("cpu", 2)]), r#""cpu" is there twice"#),
            (taking(vec![amount("", 1)]), r#""" is no name of a resource"#),
            (taking(vec![amount("a\nb", 1)]), r"a\nb"),
            (taking(vec![amount(&long, 1)]), "is no name of a resource"),
            (sums(&["a", "c"]), r#""c" is not among those"#),
            (sums(&["a", "a"]), r#""a" is there twice"#),
            (flags(&["A"]), r#""A" is no name"#),
            (flags(&["b", "a", "b"]), "is there twice"),
        ] {
            let fault = fault(account);
            assert_eq!(fault.kind, FaultKind::MalformedVerdict, "{fault}");
            assert!(fault.detail.contains(detail), "{fault}: {detail}");
        }
    }

    #[test]
    fn entries_are_counted() {
        let many = |count: usize| taking((0..count).map(|it| amount(&format!("r{it}"), 1)).collect());
        assert!(ruling(RawRuling::Account(many(ACCOUNT_AMOUNTS)), &two_sums()).is_ok());
        assert_eq!(fault(many(ACCOUNT_AMOUNTS + 1)).kind, FaultKind::OutputTooLarge);
        let flags = (0..=ACCOUNT_FLAGS).map(|it| format!("f{it}").into()).collect();
        assert_eq!(fault(RawAccount { flags, ..taking(vec![]) }).kind, FaultKind::OutputTooLarge);
        let names = |count: usize| (0..count).map(|it| format!("n{it}").into()).collect::<Vec<Arc<str>>>();
        let needing = |annotations, sums| needs(RawNeeds { annotations: names(annotations), sums: names(sums) });
        assert!(needing(ACCOUNTING_ANNOTATIONS, ACCOUNTING_SUMS).is_ok());
        for odd in [needing(ACCOUNTING_ANNOTATIONS + 1, 0), needing(0, ACCOUNTING_SUMS + 1)] {
            assert_eq!(odd.unwrap_err().kind, FaultKind::Configure);
        }
        assert!(needs(RawNeeds { annotations: vec![], sums: vec!["Ä".into()] }).is_err());
        assert!(needs(RawNeeds { annotations: vec!["".into()], sums: vec![] }).is_err());
    }

    #[test]
    fn texts_are_one_line_and_cut() {
        let text = "a\n".repeat(REASON_BYTES);
        let Ruling::Broken(broken) = ruling(RawRuling::Broken(text.clone()), &two_sums()).unwrap() else {
            unreachable!()
        };
        assert!(broken.len() <= REASON_BYTES && broken.starts_with(r"a\na\n"), "{broken}");
        assert_eq!(node_sums(Err(text), &two_sums()).unwrap(), Err(broken));
        assert_eq!(node_sums(Ok(vec![("a".into(), -1)]), &two_sums()).unwrap(), Ok(vec![("a".into(), -1)]));
    }
}
