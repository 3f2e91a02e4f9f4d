// The evaluation that runs in a test: what `nodesift_test.c` sets and `nodesift_test_pods.c` and
// `nodesift_test_cases.c` read. Not for tests themselves.
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

// A text that grows.
typedef struct ns_test_buffer {
    char *data;
    size_t length;
} ns_test_buffer;
void ns_test_add(ns_test_buffer *to, const char *format, ...);

// The failure of each node, NULL where it fits.
const ns_failure **ns_test_failures(const ns_test_cluster *cluster, const void *args);
// The same; where the predicate panics NULL, and the text of the panic.
const ns_failure **ns_test_try(const ns_test_cluster *cluster, const void *args, const char **panic);

// A line of the log.
typedef struct ns_test_line {
    ns_log_level level;
    const char *text;
} ns_test_line;
// Those of the last evaluation.
const ns_test_line *ns_test_written(size_t *number);
// Names of the levels.
extern const char *const ns_test_levels[];

// Runs the cases of every file that was named with NS_CASES, and returns how many passed.
size_t ns_test_run_cases(void);

#endif
