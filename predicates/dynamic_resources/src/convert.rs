//! From a record of the contract to the fact that the library knows: the same fields, moved. Start at [`IntoFact`].

use nodesift_dynamic_resources::facts::{Amount, NanoUnits};
use nodesift_sdk::columns::pod_claims;

/// A record of the contract.
pub(crate) trait IntoFact {
    /// The library's record with the same fields.
    type Fact;

    /// Moves the fields into the library's record.
    fn into_fact(self) -> Self::Fact;
}

impl<T: IntoFact> IntoFact for Vec<T> {
    type Fact = Vec<T::Fact>;

    fn into_fact(self) -> Self::Fact {
        self.into_iter().map(IntoFact::into_fact).collect()
    }
}

impl<T: IntoFact> IntoFact for Option<T> {
    type Fact = Option<T::Fact>;

    fn into_fact(self) -> Self::Fact {
        self.map(IntoFact::into_fact)
    }
}

impl IntoFact for pod_claims::NanoUnits {
    type Fact = NanoUnits;

    fn into_fact(self) -> NanoUnits {
        NanoUnits { high: self.high, low: self.low }
    }
}

impl IntoFact for pod_claims::Amount {
    type Fact = Amount;

    fn into_fact(self) -> Amount {
        Amount { nano_units: self.nano_units.into_fact(), units: self.units }
    }
}

/// A name or a number with an amount.
impl<T, A: IntoFact> IntoFact for (T, A) {
    type Fact = (T, A::Fact);

    fn into_fact(self) -> Self::Fact {
        (self.0, self.1.into_fact())
    }
}
