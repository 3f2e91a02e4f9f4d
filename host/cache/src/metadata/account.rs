//! Accounts: what a pod takes of its node where a policy has an accounting component, in the place of what the API says. Start
//! at [`Account::new`].

use std::sync::Arc;

use super::labels::Amounts;
use super::requests::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_scalar};

/// Amounts by the names of sums, sorted, each once. Sums are no resources: nothing is free of them.
pub type Sums = Arc<[(Arc<str>, i64)]>;

/// Account of a pod by the policy's accounting component. It depends on the pod's own object alone, so that equal pods share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Account {
    /// Requests of the pod on a node that it is not on yet, in the place of those of its facts.
    pub requests: Amounts,
    /// Usage of the pod on its node, in the place of that of its facts.
    pub usage: Amounts,
    /// Amounts that the pod adds to the named sums of its node.
    pub sums: Sums,
    /// Marks for operators, sorted.
    pub flags: Arc<[Arc<str>]>,
    /// Reason why the component has given no account of the pod as it is now; none where it has.
    pub fault: Option<AccountFault>,
}

/// Why an account is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountFault {
    /// Reason why the account is not known, one line for operators.
    pub text: Arc<str>,
    /// Whether the amounts are those of the pod's last account; else they are what the API says.
    pub is_last: bool,
}

impl Account {
    /// An account of lists that are in any order and have a name once. As of a pod without an account, resources that
    /// kube-scheduler does not count are left out, and so is `pods`; requests of `cpu`, `memory` and `ephemeral-storage` are
    /// listed where above zero, and usage where it is not zero.
    pub fn new(requests: Amounts, usage: Amounts, sums: Amounts, flags: Vec<Arc<str>>) -> Self {
        let is_native = |name: &str| matches!(name, CPU | MEMORY | EPHEMERAL_STORAGE);
        let is_counted = |name: &str| name != PODS && (is_native(name) || is_scalar(name));
        let counted = |mut amounts: Amounts, is_kept: &dyn Fn(&str, i64) -> bool| {
            amounts.retain(|(name, amount)| is_counted(name) && is_kept(name, *amount));
            amounts.sort_unstable();
            amounts
        };
        let requests = counted(requests, &|name, amount| !is_native(name) || amount > 0);
        let usage = counted(usage, &|_, amount| amount != 0);
        let (mut sums, mut flags) = (sums, flags);
        sums.sort_unstable();
        flags.sort_unstable();
        Self { requests, usage, sums: sums.into(), flags: flags.into(), fault: None }
    }

    /// Whether the component has given the account, now or before.
    pub fn is_given(&self) -> bool {
        self.fault.as_ref().is_none_or(|fault| fault.is_last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::requests::NonZero;
    use crate::metadata::{NonZeroUsage, PodFacts};

    fn amounts(amounts: &[(&str, i64)]) -> Amounts {
        amounts.iter().map(|(name, amount)| (Arc::from(*name), *amount)).collect()
    }

    #[test]
    fn amounts_are_listed_as_those_of_a_pod_without_an_account() {
        let listed = [("pods", 1), ("memory", 0), ("odd", 3), ("example.com/gpu", 0), ("cpu", 2), ("hugepages-2Mi", 4)];
        let flags = || vec![Arc::from("z"), Arc::from("a")];
        let account = Account::new(amounts(&listed), amounts(&listed), amounts(&[("b", 0), ("a", -1)]), flags());
        assert_eq!(account.requests, amounts(&[("cpu", 2), ("example.com/gpu", 0), ("hugepages-2Mi", 4)]));
        assert_eq!(account.usage, amounts(&[("cpu", 2), ("hugepages-2Mi", 4)]));
        assert_eq!(account.sums, amounts(&[("a", -1), ("b", 0)]).into());
        assert_eq!(*account.flags, [Arc::from("a"), Arc::from("z")]);
    }

    #[test]
    fn only_an_account_that_is_given_stands_for_what_containers_do_not_name() {
        let counted = NonZero { cpu: 100, memory: 7 };
        let usage = NonZeroUsage { counted, by_rules: None };
        let facts = PodFacts {
            non_zero_requests: amounts(&[("cpu", 100), ("memory", 7)]),
            non_zero_usage: Some(Arc::new(usage.clone())),
            ..PodFacts::default()
        };
        let given = Account::new(amounts(&[("cpu", 2)]), amounts(&[("cpu", 3)]), Vec::new(), Vec::new());
        let of_component = (amounts(&[("cpu", 2), ("memory", 0)]), NonZero { cpu: 3, memory: 0 });
        let of_api = (facts.non_zero_requests.clone(), counted);
        let unknown = |last| Account::unknown(&facts, last, &Arc::from("trap"));
        for (account, expected) in
            [(&given, &of_component), (&unknown(Some(&given)), &of_component), (&unknown(None), &of_api)]
        {
            let found = (facts.clone().accounted_as(account).non_zero_requests, usage.under(Some(account)));
            assert_eq!(found, *expected);
        }
        assert_eq!(usage.under(None), counted);
        // Where no policy reads them, there are none.
        assert!(PodFacts::default().accounted_as(&given).non_zero_requests.is_empty());
    }
}
