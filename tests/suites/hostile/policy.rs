//! The same through the real binary: a policy names a hostile module, and the answer lists the fault and the effect of the
//! failure policy.
