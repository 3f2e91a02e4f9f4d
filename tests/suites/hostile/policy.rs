//! The same through the real binary: a policy names a hostile module, the answer lists the fault and what the failure
//! policy did.
