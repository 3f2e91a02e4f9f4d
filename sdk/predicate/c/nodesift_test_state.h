// The evaluation that runs in a test: what `nodesift_test.c` sets and `nodesift_test_pods.c` reads. Not for tests themselves.
#ifndef NODESIFT_TEST_STATE_H
#define NODESIFT_TEST_STATE_H

#include "nodesift_test.h"

typedef struct ns_test_state {
    ns_test_cluster cluster;
    // The nodes of the call: all of the cluster, or one alone.
    const ns_test_node *nodes;
    size_t count;
} ns_test_state;

extern ns_test_state ns_running;

// Zeroed memory for the rest of the program, as the facts of an empty cluster in `nodesift_contract.c` take it.
void *ns_test_alloc(size_t bytes);
// A text of C as one of the contract; NULL is empty.
ns_text ns_test_text(const char *text);
// The value of a key; NULL where it is not there.
const char *ns_test_named(const ns_pair *pairs, ns_text key);
// The amount of a resource; 0 where it is not there.
int64_t ns_test_amount(const ns_amount *amounts, ns_text resource);

#endif
