//! Whether a toleration tolerates a taint.

use crate::columns::node_taints::Taint;
use crate::columns::pod_tolerations::{Effect, Operator, Toleration};

impl Toleration {
    /// Whether this tolerates the taint: `ToleratesTaint` in k8s.io/api/core/v1/toleration.go. `tolerationSeconds`
    /// matters for eviction only.
    ///
    /// An empty key matches every key with any operator, although API servers admit it with `Exists` only.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        // The contract does not distinguish unknown effects. No unknown effect prevents scheduling.
        let effect = match self.effect {
            None => true,
            Some(Effect::Other) => false,
            Some(effect) => effect == taint.effect,
        };
        let value = match self.operator {
            Operator::Equal => self.value == taint.value,
            Operator::Exists => true,
            Operator::Other => false,
        };
        effect && value && (self.key.is_empty() || self.key == taint.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerates(key: &str, operator: Operator, value: &str, effect: Option<Effect>) -> bool {
        let taint = Taint { key: "key".into(), value: "value".into(), effect: Effect::NoSchedule };
        Toleration { key: key.into(), operator, value: value.into(), effect }.tolerates(&taint)
    }

    #[test]
    fn equal_compares_key_value_and_effect() {
        assert!(tolerates("key", Operator::Equal, "value", Some(Effect::NoSchedule)));
        assert!(!tolerates("other", Operator::Equal, "value", Some(Effect::NoSchedule)));
        assert!(!tolerates("key", Operator::Equal, "other", Some(Effect::NoSchedule)));
        assert!(!tolerates("key", Operator::Equal, "value", Some(Effect::NoExecute)));
    }

    #[test]
    fn exists_ignores_the_value() {
        assert!(tolerates("key", Operator::Exists, "", None));
        assert!(tolerates("", Operator::Exists, "", None));
        assert!(!tolerates("other", Operator::Exists, "", None));
    }

    #[test]
    fn an_empty_key_matches_every_key_with_equal_too() {
        assert!(tolerates("", Operator::Equal, "value", None));
        assert!(!tolerates("", Operator::Equal, "", None));
    }

    #[test]
    fn unknown_operators_and_effects_tolerate_nothing() {
        assert!(!tolerates("key", Operator::Other, "value", None));
        assert!(!tolerates("key", Operator::Exists, "", Some(Effect::Other)));
    }
}
