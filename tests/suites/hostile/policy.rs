//! Hostile modules with the real binary: a policy has a hostile module, and the answer lists the fault and the effect of the failure
//! policy.
