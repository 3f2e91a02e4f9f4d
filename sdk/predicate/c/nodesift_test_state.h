// The evaluation that runs in a test: what `nodesift_test.c` sets and the other files of tests
// read. Not for tests themselves.
#ifndef NODESIFT_TEST_STATE_H
#define NODESIFT_TEST_STATE_H

#include "nodesift_test.h"

typedef struct ns_test_state {
    ns_test_cluster cluster;
    // The nodes of the call: all of the cluster, or one alone.
    const ns_test_node *nodes;
    size_t count;
    // The call is one that scores.
    bool is_scoring;
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

// Begins a call for these nodes of the cluster. Pods are on nodes of the cluster, else the test fails.
void ns_test_begin(const ns_test_cluster *cluster, const ns_test_node *nodes, size_t count, bool is_scoring);
// The arguments of the cluster, which are not refused, else the test fails.
const void *ns_test_args(const ns_test_cluster *cluster);

// The namespace of a pod, and the labels of a Namespace; NULL where there is no such object.
ns_text ns_test_namespace_of(const ns_test_pod *pod);
const ns_pair *ns_test_labels_of_namespace(ns_text name);
// Whether labels meet all requirements.
bool ns_test_meets(const ns_pair *labels, const ns_list_selectors_requirement *all);
// Whether a text is one of these.
bool ns_test_has_text(const ns_list_text *texts, ns_text text);
// Adds up a value of the pods on each node of the call.
typedef int64_t (*ns_test_value)(const ns_test_pod *pod, const void *question);
int64_t *ns_test_sums(ns_test_value value, const void *question);
// The same as an unsigned column.
ns_list_u32 ns_test_numbers(ns_test_value value, const void *question);

// Makes scores of raw scores as the host does over the nodes on which the pod fits; 0 of one that is none.
void ns_test_normalize(ns_scorer_normalization normalization, int64_t *scores, size_t length);

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
