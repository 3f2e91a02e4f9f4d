// What `nodesift.h` promises: texts, columns, row sets and rejections. `nodesift_args.c` reads arguments, and `nodesift_guest.c` is
// what the host calls.
#include "nodesift.h"

// Different failures in one verdict, three of which are left for those that are left out, one per status. A search among them goes
// through all, so there are not as many as the host would accept.
#define MAX_FAILURES 255
// Bytes of all reasons of one verdict; the host accepts a megabyte, with what it counts for each.
#define MAX_REASON_BYTES (768 * 1024)
// Bytes that the host counts for a reason besides its text, at most.
#define REASON_ENTRY_BYTES 32

bool ns_equal(ns_text a, ns_text b) {
    return a.length == b.length && (a.data == b.data || __builtin_memcmp(a.data, b.data, a.length) == 0);
}

// ---- The pod

static bool some(ns_option_text given, ns_text *value) {
    if (given.is_some) *value = given.value;
    return given.is_some;
}

bool ns_pod_label(ns_text key, ns_text *value) { return some(ns_pod_labels_label(key), value); }

bool ns_pod_annotation(ns_text key, ns_text *value) { return some(ns_pod_annotations_annotation(key), value); }

bool ns_config_entry(ns_text config_map, ns_text key, ns_text *value) {
    return some(ns_config_maps_entry(config_map, key), value);
}

int64_t ns_pod_request(ns_text resource) {
    ns_list_pod_resources_request requests = ns_pod_resources_requests();
    for (size_t index = 0; index < requests.length; index++) {
        if (ns_equal(requests.items[index].resource, resource)) return requests.items[index].amount;
    }
    return 0;
}

// ---- Columns

enum { LABELS, ANNOTATIONS, ALLOCATABLE, REQUESTED, FREE };

// A column that was read in this call.
struct ns_column {
    struct ns_column *next;
    uint8_t kind;
    ns_text key;
    ns_texts texts;
    const int64_t *amounts;
};

static struct ns_column *known(ns_nodes *nodes, uint8_t kind, ns_text key) {
    struct ns_column *column = nodes->columns;
    while (column != NULL && !(column->kind == kind && ns_equal(column->key, key))) column = column->next;
    return column;
}

static struct ns_column *add(ns_nodes *nodes, uint8_t kind, ns_text key) {
    struct ns_column *column = ns_alloc(sizeof *column);
    // The caller may use the memory of the key for something else.
    char *copy = ns_alloc(key.length);
    __builtin_memcpy(copy, key.data, key.length);
    *column = (struct ns_column){.next = nodes->columns, .kind = kind, .key = {copy, key.length}};
    nodes->columns = column;
    return column;
}

ns_texts *ns_labels(ns_nodes *nodes, ns_text key) {
    struct ns_column *column = known(nodes, LABELS, key);
    if (column == NULL) {
        column = add(nodes, LABELS, key);
        column->texts = (ns_texts){
            .codes = ns_node_labels_column(key).items,
            .key = column->key,
            .read_code = ns_node_labels_code,
            .read_dictionary = ns_node_labels_dictionary,
        };
    }
    return &column->texts;
}

ns_texts *ns_annotations(ns_nodes *nodes, ns_text key) {
    struct ns_column *column = known(nodes, ANNOTATIONS, key);
    if (column == NULL) {
        column = add(nodes, ANNOTATIONS, key);
        column->texts = (ns_texts){
            .codes = ns_node_annotations_column(key).items,
            .key = column->key,
            .read_code = ns_node_annotations_code,
            .read_dictionary = ns_node_annotations_dictionary,
        };
    }
    return &column->texts;
}

uint32_t ns_code(const ns_texts *texts, ns_text text) {
    ns_option_u32 code = texts->read_code(texts->key, text);
    return code.is_some ? code.value : NS_NO_CODE;
}

bool ns_text_at(ns_texts *texts, uint32_t row, ns_text *text) {
    uint32_t code = texts->codes[row];
    if (code == 0) return false;
    if (texts->dictionary.items == NULL) texts->dictionary = texts->read_dictionary(texts->key);
    *text = texts->dictionary.items[code];
    return true;
}

static const int64_t *amounts(ns_nodes *nodes, uint8_t kind, ns_text resource, ns_list_s64 (*read)(ns_text)) {
    struct ns_column *column = known(nodes, kind, resource);
    if (column == NULL) {
        column = add(nodes, kind, resource);
        column->amounts = read(resource).items;
    }
    return column->amounts;
}

const int64_t *ns_allocatable(ns_nodes *nodes, ns_text resource) {
    return amounts(nodes, ALLOCATABLE, resource, ns_node_resources_allocatable);
}

const int64_t *ns_requested(ns_nodes *nodes, ns_text resource) {
    return amounts(nodes, REQUESTED, resource, ns_node_resources_requested);
}

const int64_t *ns_free(ns_nodes *nodes, ns_text resource) {
    return amounts(nodes, FREE, resource, ns_node_resources_free);
}

// ---- Row sets

ns_rows ns_all(void) { return (ns_rows){ns_row_sets_all()}; }
ns_rows ns_and(ns_rows a, ns_rows b) { return (ns_rows){ns_row_sets_and(a.handle, b.handle)}; }
ns_rows ns_or(ns_rows a, ns_rows b) { return (ns_rows){ns_row_sets_or(a.handle, b.handle)}; }
ns_rows ns_not(ns_rows a) { return (ns_rows){ns_row_sets_not(a.handle)}; }
uint32_t ns_count(ns_rows a) { return ns_row_sets_count(a.handle); }
ns_rows ns_label_in(ns_text key, ns_list_text values) { return (ns_rows){ns_node_labels_rows_in(key, values)}; }
ns_rows ns_label_exists(ns_text key) { return (ns_rows){ns_node_labels_rows_with(key)}; }
ns_rows ns_annotation_in(ns_text key, ns_list_text values) { return (ns_rows){ns_node_annotations_rows_in(key, values)}; }
ns_rows ns_annotation_exists(ns_text key) { return (ns_rows){ns_node_annotations_rows_with(key)}; }
ns_rows ns_free_at_least(ns_text resource, int64_t amount) {
    return (ns_rows){ns_node_resources_rows_with_free(resource, amount)};
}
ns_rows ns_untolerated(void) { return (ns_rows){ns_node_taints_rows_untolerated()}; }
ns_rows ns_unschedulable(void) { return (ns_rows){ns_node_taints_rows_unschedulable()}; }

void ns_reject(ns_nodes *nodes, ns_rows rows, const ns_failure *failure) {
    nodes->uses_sets = true;
    ns_row_sets_reject(rows.handle, (ns_row_sets_failure){failure->status, failure->reasons});
}

// ---- Lines

void ns_log_debug(ns_text text) { ns_log_write(NS_LOG_LEVEL_DEBUG, text); }
void ns_log_info(ns_text text) { ns_log_write(NS_LOG_LEVEL_INFO, text); }
void ns_log_warn(ns_text text) { ns_log_write(NS_LOG_LEVEL_WARN, text); }
void ns_log_error(ns_text text) { ns_log_write(NS_LOG_LEVEL_ERROR, text); }

// ---- The verdict

static const ns_failure left_out[] = {
    NS_UNSCHEDULABLE("reasons left out: the verdict has too many different ones"),
    NS_UNRESOLVABLE("reasons left out: the verdict has too many different ones"),
    NS_ERROR("reasons left out: the verdict has too many different ones"),
};

// The failures of the running call, and the bytes of their reasons.
static ns_failure failures[MAX_FAILURES + 3];
static uint16_t failure_count;
static size_t reason_bytes;

static bool same(const ns_failure *a, const ns_failure *b) {
    if (a->status != b->status || a->reasons.length != b->reasons.length) return false;
    for (size_t index = 0; index < a->reasons.length; index++) {
        if (!ns_equal(a->reasons.items[index], b->reasons.items[index])) return false;
    }
    return true;
}

static uint16_t code_of(const ns_failure *failure, bool is_left_out) {
    for (uint16_t index = 0; index < failure_count; index++) {
        if (same(&failures[index], failure)) return (uint16_t)(index + 1);
    }
    size_t bytes = 0;
    for (size_t index = 0; index < failure->reasons.length; index++) {
        bytes += failure->reasons.items[index].length + REASON_ENTRY_BYTES;
    }
    if (!is_left_out && (failure_count >= MAX_FAILURES || bytes > MAX_REASON_BYTES - reason_bytes)) {
        return code_of(&left_out[failure->status], true);
    }
    if (!is_left_out) reason_bytes += bytes;
    failures[failure_count++] = *failure;
    return failure_count;
}

void ns_take(ns_nodes *nodes, const ns_failure *failure) {
    if (failure == NULL || failure->status > NS_PREDICATE_STATUS_ERROR) ns_panic(NS("a row is rejected without a failure"));
    nodes->last_code = code_of(failure, false);
    nodes->last = failure;
}

ns_predicate_verdict ns_run(const ns_predicate *predicate, const void *args, uint32_t rows) {
    ns_nodes nodes = {.count = rows};
    nodes.codes = ns_alloc(rows * sizeof *nodes.codes);
    __builtin_memset(nodes.codes, 0, rows * sizeof *nodes.codes);
    failure_count = 0;
    reason_bytes = 0;
    if (predicate->filter_node != NULL) {
        for (uint32_t row = 0; row < rows; row++) {
            const ns_failure *failure = predicate->filter_node(&nodes, row, args);
            if (failure != NULL) ns_reject_row(&nodes, row, failure);
        }
    } else if (predicate->filter != NULL) {
        const ns_failure *failure = predicate->filter(&nodes, args);
        if (failure != NULL) return (ns_predicate_verdict){.tag = NS_PREDICATE_VERDICT_FITS_NONE, .fits_none = *failure};
    } else if (!predicate->is_scorer) {
        ns_panic(NS("the predicate has neither filter nor filter_node"));
    }
    if (failure_count == 0) return (ns_predicate_verdict){.tag = NS_PREDICATE_VERDICT_FITS_ALL};
    if (nodes.uses_sets) ns_panic(NS("reject row sets, or reject rows by number: not both in one call"));
    return (ns_predicate_verdict){
        .tag = NS_PREDICATE_VERDICT_BY_ROW,
        .by_row = {.codes = {nodes.codes, rows}, .failures = {failures, failure_count}},
    };
}
