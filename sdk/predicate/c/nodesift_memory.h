// Memory of a call, and how a call ends early. It knows nothing of predicates. `nodesift.h` includes it.
#ifndef NODESIFT_MEMORY_H
#define NODESIFT_MEMORY_H

#include "nodesift_contract.h"

// Memory until the end of the call, aligned for every type and not cleared.
void *ns_alloc(size_t bytes);

// Ends the call: the text is written in the log of the sidecar, and the policy's `onError` decides.
_Noreturn void ns_panic(ns_text text);

// Of this SDK, in a component: what is taken now stays for all calls; and what was taken since then is free again.
void ns_memory_keep(void);
void ns_memory_reuse(void);

#endif
