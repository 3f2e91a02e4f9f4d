// The SDK for predicates and scorers in C: functions of a pod and nodes that say which nodes cannot run the pod, and why; and functions that
// say how good nodes are for it.
//
// A predicate is a constant, which NODESIFT_PREDICATE defines. `nodesift-dev module build` makes a component of it, which imports what the
// code calls and nothing else; so a policy can allow no more than that. `nodesift_test.h` runs it on plain pods and nodes.
//
// There is no C library in a component. Memory comes from `ns_alloc`, and is gone with the call; texts have a length and no zero at
// their end. Functions that are not here are in `nodesift_contract.h`, as the contract has them; `ns_alloc` and `ns_panic` are in
// `nodesift_memory.h`. Start at `ns_predicate`; for scorers at `ns_scores`.
#ifndef NODESIFT_H
#define NODESIFT_H

#include "nodesift_contract.h"
#include "nodesift_memory.h"

// ---- Texts

// A text from a literal, inside of functions.
#define NS(literal) ((ns_text){"" literal, sizeof(literal) - 1})
// The same as an initialiser of a constant.
#define NS_STATIC(literal) {"" literal, sizeof(literal) - 1}
// A list of texts, inside of functions: NS_TEXTS(NS("a"), team).
#define NS_TEXTS(...)                                                                                              \
    ((ns_list_text){(const ns_text[]){__VA_ARGS__}, sizeof((const ns_text[]){__VA_ARGS__}) / sizeof(ns_text)})

bool ns_equal(ns_text a, ns_text b);

// ---- Failures

// Why a node cannot run the pod: a status and its reasons. Make those of a predicate once, as constants. Nodes are grouped by
// reasons, so none may contain the name of a node. Different failures in one verdict: 255; what is beyond keeps its status alone.
typedef ns_predicate_failure ns_failure;

#define NS_FAILURE(status, reason) {status, {(const ns_text[]){NS_STATIC(reason)}, 1}}
// A rejection that preempting pods does not resolve.
#define NS_UNRESOLVABLE(reason) NS_FAILURE(NS_PREDICATE_STATUS_UNSCHEDULABLE_AND_UNRESOLVABLE, reason)
// A rejection that preempting pods may resolve.
#define NS_UNSCHEDULABLE(reason) NS_FAILURE(NS_PREDICATE_STATUS_UNSCHEDULABLE, reason)
// The node cannot be evaluated because an object that is needed is missing or invalid. The reason names the object.
#define NS_ERROR(reason) NS_FAILURE(NS_PREDICATE_STATUS_ERROR, reason)

// ---- Arguments

// One argument that a policy can set. An argument of another name is refused. Null, and one that is left out, stand for the default.
typedef struct ns_field {
    const char *name;
    enum { NS_KIND_TEXT, NS_KIND_INTEGER, NS_KIND_BOOL, NS_KIND_TEXTS, NS_KIND_OBJECT } kind;
    // Where it is in the structure of the arguments.
    size_t offset;
    // It has to be given.
    bool required;
    // Of a text or a list: it has at least one character or item.
    bool not_empty;
    // Of an integer: the least and the greatest. Both 0: any.
    int64_t min, max;
    // Of an object: what is in it, up to NS_END.
    const struct ns_field *fields;
} ns_field;

// A field of the structure, with further properties: NS_ARG_TEXT(struct args, label, .not_empty = true).
#define NS_ARG(structure, member, of, ...)                                                                         \
    {.name = #member, .kind = of, .offset = offsetof(structure, member), ##__VA_ARGS__}
#define NS_ARG_TEXT(structure, member, ...) NS_ARG(structure, member, NS_KIND_TEXT, ##__VA_ARGS__)       // ns_text
#define NS_ARG_INTEGER(structure, member, ...) NS_ARG(structure, member, NS_KIND_INTEGER, ##__VA_ARGS__) // int64_t
#define NS_ARG_BOOL(structure, member, ...) NS_ARG(structure, member, NS_KIND_BOOL, ##__VA_ARGS__)       // bool
#define NS_ARG_TEXTS(structure, member, ...) NS_ARG(structure, member, NS_KIND_TEXTS, ##__VA_ARGS__)     // ns_list_text
#define NS_ARG_OBJECT(structure, member, inside, ...)                                                              \
    NS_ARG(structure, member, NS_KIND_OBJECT, .fields = inside, ##__VA_ARGS__)
// Ends a list of fields.
#define NS_END {.name = NULL}

// ---- The predicate

typedef struct ns_nodes ns_nodes;

// What a scorer says of a pod: ns_by_row, ns_skip or ns_failed.
typedef ns_scorer_scores ns_scores;

// A predicate, or a scorer: what only scores needs no filter, and fits every node.
typedef struct ns_predicate {
    // The name as used in policies, the version in any scheme, and one line: which nodes it rejects.
    const char *name, *version, *summary;
    // The arguments: their fields, up to NS_END, the size of the structure, and its defaults. Without these there are none.
    const ns_field *args;
    size_t args_size;
    const void *defaults;
    // Optional: checks the arguments against each other. A text refuses the policy; it should begin with the path of the argument.
    const char *(*check)(const void *args);
    // One of the two. `filter` rejects nodes and returns NULL; or it returns a failure where the pod fits no node, whatever the nodes
    // are. `filter_node` returns why the node in the row cannot run the pod, or NULL where it can.
    const ns_failure *(*filter)(ns_nodes *nodes, const void *args);
    const ns_failure *(*filter_node)(ns_nodes *nodes, uint32_t row, const void *args);
    // Of a scorer: how the host makes scores from 0 to 100 of raw scores, one of NS_SCORER_NORMALIZATION_….
    ns_scorer_normalization normalization;
    // Of a scorer, one of the two. `score` says how good every node is. `score_node` gives the raw score of the node in the row, or
    // NS_NO_SCORE; higher is better, unless the normalization says otherwise. There are no row sets.
    const ns_scores *(*score)(ns_nodes *nodes, const void *args);
    int64_t (*score_node)(ns_nodes *nodes, uint32_t row, const void *args);
    // Optional, before `score_node`: NULL goes on with the nodes; ns_skip and ns_failed are said in their place.
    const ns_scores *(*pre_score)(const void *args);
    // For this SDK: NODESIFT_SCORER has defined it.
    bool is_scorer;
} ns_predicate;

// Defines the predicate of the module: NODESIFT_PREDICATE(.name = "TeamIsolation", .version = "0.1.0", …);
#define NODESIFT_PREDICATE(...) const ns_predicate nodesift_predicate = {__VA_ARGS__}
extern const ns_predicate nodesift_predicate;

// ---- The scorer

// A raw score that stands for none: the node counts for no smallest or largest score, and its score is 0.
#define NS_NO_SCORE INT64_MIN

// A score per row, of which each is 0.
int64_t *ns_new_scores(ns_nodes *nodes);
// These raw scores, one per row. The scores must live as long as the call, as those of ns_new_scores do.
const ns_scores *ns_by_row(ns_nodes *nodes, const int64_t *scores);
// Nothing: the scorer adds nothing on any node. Zeros are not the same, since a reversed normalization makes 100 of them.
const ns_scores *ns_skip(void);
// The pod cannot be scored, and why.
const ns_scores *ns_failed(ns_text reason);

// Defines the scorer of the module, which rejects nodes as well where it has a filter: NODESIFT_SCORER(.name = "SpotLast", …);
// It exports what scores: the component of a module with NODESIFT_PREDICATE does not say that it scores.
#define NODESIFT_SCORER(...)                                                                                       \
    NS_SCORER_EXPORTS                                                                                              \
    NODESIFT_PREDICATE(.is_scorer = true, __VA_ARGS__)
#ifdef __wasm__
#define NS_SCORER_EXPORT(name) __attribute__((export_name("nodesift:predicate/scorer@" NS_CONTRACT_VERSION "#" name)))
#define NS_SCORER_EXPORTS                                                                                          \
    NS_SCORER_EXPORT("normalize-by") uint32_t ns_export_normalize_by(void) { return nodesift_predicate.normalization; } \
    NS_SCORER_EXPORT("score") const ns_scores *ns_export_score(uint32_t rows) { return ns_guest_score(rows); }
#else
#define NS_SCORER_EXPORTS
#endif

// ---- The pod; more is in `nodesift_contract.h`, as `ns_pod_spec_priority()`

// Whether the pod has the label, and its value. Reads pod-labels.
bool ns_pod_label(ns_text key, ns_text *value);
// The same for an annotation that the policy lists. Reads pod-annotations.
bool ns_pod_annotation(ns_text key, ns_text *value);
// The requested amount of a resource: `cpu` in thousandths of a core, `memory` in bytes; 0 where the pod requests none. Reads
// pod-resources.
int64_t ns_pod_request(ns_text resource);
// Whether there is an entry of a ConfigMap, `namespace/name`, that the policy lists, and its value. Reads config-maps. Whether a moment
// has passed tells `ns_time_passed(at)`.
bool ns_config_entry(ns_text config_map, ns_text key, ns_text *value);

// ---- Columns: an entry per row. Each is read from the host once a call

// A column of labels or annotations: a code per row, and the texts behind the codes. Code 0 is an absent one.
typedef struct ns_texts {
    const uint32_t *codes;
    // For the functions below.
    ns_text key;
    ns_list_text dictionary;
    ns_option_u32 (*read_code)(ns_text key, ns_text text);
    ns_list_text (*read_dictionary)(ns_text key);
} ns_texts;

// The code of a text that no node has: no row has it.
#define NS_NO_CODE UINT32_MAX

// The column of a label. Reads node-labels.
ns_texts *ns_labels(ns_nodes *nodes, ns_text key);
// The column of an annotation that the policy lists. Reads node-annotations.
ns_texts *ns_annotations(ns_nodes *nodes, ns_text key);
// The code of a text, or NS_NO_CODE.
uint32_t ns_code(const ns_texts *texts, ns_text text);
// Whether the row has a text, and which.
bool ns_text_at(ns_texts *texts, uint32_t row, ns_text *text);

// Amounts by row: what a node offers, what its pods request, and the difference. Read node-resources.
const int64_t *ns_allocatable(ns_nodes *nodes, ns_text resource);
const int64_t *ns_requested(ns_nodes *nodes, ns_text resource);
const int64_t *ns_free(ns_nodes *nodes, ns_text resource);

// ---- Rejections

// What a call knows of its nodes. Rows are numbered from 0 to `count`.
struct ns_nodes {
    uint32_t count;
    // The rest is for this SDK.
    uint16_t last_code;
    bool uses_sets;
    const ns_failure *last;
    uint16_t *codes;
    struct ns_column *columns;
};

// Of this SDK: makes `failure` the one that `ns_reject_row` gives next.
void ns_take(ns_nodes *nodes, const ns_failure *failure);
#define NS_STRINGIFY_(line) #line
#define NS_STRINGIFY(line) NS_STRINGIFY_(line)
// Ends the call where a condition does not hold.
#define NS_ASSERT(condition)                                                                                       \
    ((condition) ? (void)0 : ns_panic(NS(__FILE__ ":" NS_STRINGIFY(__LINE__) ": " #condition " does not hold")))

// Rejects a row. A row that was rejected before keeps its failure. One call rejects row sets, or rows by number, not both.
static inline void ns_reject_row(ns_nodes *nodes, uint32_t row, const ns_failure *failure) {
    if (row >= nodes->count) ns_panic(NS("a row is rejected that the call does not have"));
    if (nodes->codes[row] != 0) return;
    if (failure != nodes->last) ns_take(nodes, failure);
    nodes->codes[row] = nodes->last_code;
}

// ---- Row sets: the host holds them, and an operation costs about a microsecond, however many nodes there are

typedef struct ns_rows {
    uint32_t handle;
} ns_rows;

// Every row; the rows in both, in either, and the others; and the number of rows, on which the verdict for a row must not depend.
ns_rows ns_all(void);
ns_rows ns_and(ns_rows a, ns_rows b);
ns_rows ns_or(ns_rows a, ns_rows b);
ns_rows ns_not(ns_rows a);
uint32_t ns_count(ns_rows a);
// The rows whose label has one of these values, or has any. Read node-labels.
ns_rows ns_label_in(ns_text key, ns_list_text values);
ns_rows ns_label_exists(ns_text key);
// The same for an annotation that the policy lists. Read node-annotations.
ns_rows ns_annotation_in(ns_text key, ns_list_text values);
ns_rows ns_annotation_exists(ns_text key);
// The rows on which at least this amount of the resource is free. Reads node-resources.
ns_rows ns_free_at_least(ns_text resource, int64_t amount);
// The rows with a taint NoSchedule or NoExecute that the pod does not tolerate, and those with `spec.unschedulable`. Read node-taints.
ns_rows ns_untolerated(void);
ns_rows ns_unschedulable(void);
// Rejects the rows of a set. A row that was rejected before keeps its failure.
void ns_reject(ns_nodes *nodes, ns_rows rows, const ns_failure *failure);

// ---- Lines for operators, in the log of the sidecar: at most 10 a second, of 1,024 bytes

void ns_log_debug(ns_text text);
void ns_log_info(ns_text text);
void ns_log_warn(ns_text text);
void ns_log_error(ns_text text);

// ---- For the component and for tests, which run a predicate in the same way

// Reads the arguments of a policy. NULL and the arguments; or why they are refused.
const char *ns_configure(const ns_predicate *predicate, ns_text json, const void **args);
// Evaluates a predicate for the pod of the call.
ns_predicate_verdict ns_run(const ns_predicate *predicate, const void *args, uint32_t rows);
// Scores nodes for the pod of the call.
const ns_scores *ns_score(const ns_predicate *scorer, const void *args, uint32_t rows);
// In a component: the same for the scorer of the module, with its arguments.
const ns_scores *ns_guest_score(uint32_t rows);

#endif
