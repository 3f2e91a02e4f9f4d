// The functions of the host for tests, and the program that runs the tests. Start at `ns_test_rejected` and `main`.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesift_test_state.h"

// Tests of one program.
#define MAX_TESTS 1024
// Row sets of one evaluation, as the host allows them.
#define MAX_SETS 1024

ns_test_state ns_running;

// The same for this file, which asks often.
static ns_test_pod pod;
static const ns_test_node *nodes;
static size_t count;

// ---- Small things

// Memory of tests is not freed: the program ends soon.
void *ns_test_alloc(size_t bytes) {
    void *made = calloc(1, bytes + 1);
    if (made == NULL) abort();
    return made;
}

void *ns_alloc(size_t bytes) { return ns_test_alloc(bytes); }

ns_text ns_test_text(const char *text) { return (ns_text){text == NULL ? "" : text, text == NULL ? 0 : strlen(text)}; }

static ns_text text_of(const char *text) { return ns_test_text(text); }

static ns_option_text option(const char *text) { return (ns_option_text){text != NULL, text_of(text)}; }

const char *ns_test_named(const ns_pair *pairs, ns_text key) {
    for (; pairs != NULL && pairs->key != NULL; pairs++) {
        if (ns_equal(text_of(pairs->key), key)) return pairs->value;
    }
    return NULL;
}

int64_t ns_test_amount(const ns_amount *amounts, ns_text resource) {
    for (; amounts != NULL && amounts->resource != NULL; amounts++) {
        if (ns_equal(text_of(amounts->resource), resource)) return amounts->amount;
    }
    return 0;
}

void ns_test_add(ns_test_buffer *to, const char *format, ...) {
    va_list given, again;
    va_start(given, format);
    va_copy(again, given);
    int bytes = vsnprintf(NULL, 0, format, given);
    to->data = realloc(to->data, to->length + (size_t)bytes + 1);
    if (to->data == NULL) abort();
    vsnprintf(to->data + to->length, (size_t)bytes + 1, format, again);
    to->length += (size_t)bytes;
    va_end(again);
    va_end(given);
}

// ---- The pod

ns_text ns_pod_labels_namespace(void) { return text_of(pod.namespace_name == NULL ? "default" : pod.namespace_name); }
ns_option_text ns_pod_labels_label(ns_text key) { return option(ns_test_named(pod.labels, key)); }
ns_option_text ns_pod_annotations_annotation(ns_text key) { return option(ns_test_named(pod.annotations, key)); }
ns_option_text ns_pod_placement_node_name(void) { return option(pod.node_name); }

ns_list_tuple_text_text ns_pod_placement_node_selector(void) {
    size_t length = 0;
    while (pod.node_selector != NULL && pod.node_selector[length].key != NULL) length++;
    ns_tuple_text_text *items = ns_alloc(length * sizeof *items);
    for (size_t index = 0; index < length; index++) {
        items[index] = (ns_tuple_text_text){text_of(pod.node_selector[index].key), text_of(pod.node_selector[index].value)};
    }
    return (ns_list_tuple_text_text){items, length};
}

ns_list_pod_tolerations_toleration ns_pod_tolerations_tolerations(void) {
    return (ns_list_pod_tolerations_toleration){pod.tolerations, pod.toleration_count};
}

ns_list_pod_resources_request ns_pod_resources_requests(void) {
    size_t length = 0;
    while (pod.requests != NULL && pod.requests[length].resource != NULL) length++;
    ns_pod_resources_request *items = ns_alloc(length * sizeof *items);
    for (size_t index = 0; index < length; index++) {
        items[index] = (ns_pod_resources_request){text_of(pod.requests[index].resource), pod.requests[index].amount};
    }
    return (ns_list_pod_resources_request){items, length};
}

int32_t ns_pod_spec_priority(void) { return pod.priority; }
ns_option_text ns_pod_spec_priority_class(void) { return option(pod.priority_class); }
ns_option_text ns_pod_spec_service_account(void) { return option(pod.service_account); }
ns_option_text ns_pod_spec_runtime_class(void) { return option(pod.runtime_class); }
bool ns_pod_spec_host_network(void) { return pod.host_network; }
ns_text ns_pod_spec_scheduler_name(void) {
    return text_of(pod.scheduler_name == NULL ? "default-scheduler" : pod.scheduler_name);
}

static ns_list_text names(const char *const *given) {
    size_t length = 0;
    while (given != NULL && given[length] != NULL) length++;
    ns_text *items = ns_alloc(length * sizeof *items);
    for (size_t index = 0; index < length; index++) items[index] = text_of(given[index]);
    return (ns_list_text){items, length};
}

// A pod without images has one container, with this one, as in cases.yaml.
static const char *const *images(void) {
    static const char *const one[] = {"image", NULL};
    return pod.images == NULL || *pod.images == NULL ? one : pod.images;
}

ns_list_text ns_pod_spec_images(void) { return names(images()); }

ns_list_text ns_pod_images_containers(void) {
    ns_list_text used = names(pod.container_images == NULL ? images() : pod.container_images);
    ns_text *items = ns_alloc(used.length * sizeof *items);
    for (size_t index = 0; index < used.length; index++) {
        // As kube-scheduler's ImageLocality compares them: a tag comes after the last slash.
        const char *name = used.items[index].data, *slash = strrchr(name, '/');
        ns_test_buffer whole = {0};
        ns_test_add(&whole, "%s%s", name, strchr(slash == NULL ? name : slash, ':') == NULL ? ":latest" : "");
        items[index] = (ns_text){whole.data, whole.length};
    }
    return (ns_list_text){items, used.length};
}

ns_option_pod_owner_owner ns_pod_owner_controller(void) {
    ns_option_pod_owner_owner owner = {.is_some = pod.controller != NULL};
    if (owner.is_some) owner.value = *pod.controller;
    return owner;
}

// ---- Nodes

ns_list_text ns_node_identity_names(void) {
    ns_text *items = ns_alloc(count * sizeof *items);
    for (size_t row = 0; row < count; row++) items[row] = text_of(nodes[row].name);
    return (ns_list_text){items, count};
}

ns_option_u32 ns_node_identity_row(ns_text name) {
    for (size_t row = 0; row < count; row++) {
        if (ns_equal(text_of(nodes[row].name), name)) return (ns_option_u32){true, (uint32_t)row};
    }
    return (ns_option_u32){0};
}

// A text of a node by a key, or by a number.
typedef const char *(*text_at)(const ns_test_node *node, ns_text key, size_t number);

static const char *label_at(const ns_test_node *node, ns_text key, size_t number) {
    (void)number;
    return ns_test_named(node->labels, key);
}

static const char *annotation_at(const ns_test_node *node, ns_text key, size_t number) {
    (void)number;
    return ns_test_named(node->annotations, key);
}

static const char *info_at(const ns_test_node *node, ns_text key, size_t number) {
    (void)key;
    return node->info[number];
}

// Codes and texts in the order of rows.
static ns_list_u32 codes_of(text_at read, ns_text key, size_t number, ns_list_text *dictionary) {
    uint32_t *codes = ns_alloc(count * sizeof *codes);
    ns_text *texts = ns_alloc((count + 1) * sizeof *texts);
    size_t length = 1;
    texts[0] = text_of("");
    for (size_t row = 0; row < count; row++) {
        const char *text = read(&nodes[row], key, number);
        if (text == NULL) continue;
        size_t code = 1;
        while (code < length && !ns_equal(texts[code], text_of(text))) code++;
        if (code == length) texts[length++] = text_of(text);
        codes[row] = (uint32_t)code;
    }
    *dictionary = (ns_list_text){texts, length};
    return (ns_list_u32){codes, count};
}

static ns_list_u32 column(text_at read, ns_text key, size_t number) {
    ns_list_text dictionary;
    return codes_of(read, key, number, &dictionary);
}

static ns_list_text dictionary(text_at read, ns_text key, size_t number) {
    ns_list_text dictionary;
    codes_of(read, key, number, &dictionary);
    return dictionary;
}

static ns_option_u32 code(text_at read, ns_text key, size_t number, ns_text text) {
    ns_list_text texts = dictionary(read, key, number);
    for (size_t code = 1; code < texts.length; code++) {
        if (ns_equal(texts.items[code], text)) return (ns_option_u32){true, (uint32_t)code};
    }
    return (ns_option_u32){0};
}

static ns_list_s64 integers(text_at read, ns_text key) {
    ns_list_text texts = dictionary(read, key, 0);
    int64_t *items = ns_alloc(texts.length * sizeof *items);
    for (size_t code = 0; code < texts.length; code++) {
        char *end;
        const char *text = texts.items[code].data;
        long long value = strtoll(text, &end, 10);
        items[code] = *text == 0 || *end != 0 ? INT64_MIN : value;
    }
    return (ns_list_s64){items, texts.length};
}

ns_list_u32 ns_node_labels_column(ns_text key) { return column(label_at, key, 0); }
ns_option_u32 ns_node_labels_code(ns_text key, ns_text text) { return code(label_at, key, 0, text); }
ns_list_text ns_node_labels_dictionary(ns_text key) { return dictionary(label_at, key, 0); }
ns_list_s64 ns_node_labels_integers(ns_text key) { return integers(label_at, key); }
ns_list_u32 ns_node_annotations_column(ns_text key) { return column(annotation_at, key, 0); }
ns_option_u32 ns_node_annotations_code(ns_text key, ns_text text) { return code(annotation_at, key, 0, text); }
ns_list_text ns_node_annotations_dictionary(ns_text key) { return dictionary(annotation_at, key, 0); }
ns_list_s64 ns_node_annotations_integers(ns_text key) { return integers(annotation_at, key); }
ns_list_u32 ns_node_info_column(ns_node_info_field field) { return column(info_at, NS(""), field); }
ns_option_u32 ns_node_info_code(ns_node_info_field field, ns_text text) { return code(info_at, NS(""), field, text); }
ns_list_text ns_node_info_dictionary(ns_node_info_field field) { return dictionary(info_at, NS(""), field); }

// A number of a node, for a resource where it is about one.
typedef int64_t (*number_at)(const ns_test_node *node, ns_text resource);

static int64_t allocatable_at(const ns_test_node *node, ns_text resource) { return ns_test_amount(node->allocatable, resource); }
static int64_t limit_at(const ns_test_node *node, ns_text resource) {
    return (void)resource, node->pod_limit == 0 ? 110 : node->pod_limit;
}
static int64_t sum_at(const ns_test_node *node, ns_text name) { return ns_test_amount(node->sums, name); }

static ns_list_s64 numbers(number_at read, ns_text resource) {
    int64_t *items = ns_alloc(count * sizeof *items);
    for (size_t row = 0; row < count; row++) items[row] = read(&nodes[row], resource);
    return (ns_list_s64){items, count};
}

ns_list_s64 ns_node_resources_allocatable(ns_text resource) { return numbers(allocatable_at, resource); }
ns_list_s64 ns_node_resources_pod_limit(void) { return numbers(limit_at, NS("")); }
ns_list_s64 ns_node_sums_column(ns_text name) { return numbers(sum_at, name); }

static ns_list_s64 minus(ns_list_s64 amounts, ns_list_s64 taken) {
    int64_t *items = ns_alloc(count * sizeof *items);
    for (size_t row = 0; row < count; row++) items[row] = amounts.items[row] - taken.items[row];
    return (ns_list_s64){items, count};
}

ns_list_s64 ns_node_resources_free(ns_text resource) {
    return minus(ns_node_resources_allocatable(resource), ns_node_resources_requested(resource));
}
ns_list_s64 ns_node_resources_pod_room(void) { return minus(ns_node_resources_pod_limit(), ns_node_resources_pods()); }

// contract: functions, made by `make contract`
static int64_t created_at(const ns_test_node *node, ns_text resource) {
    return (void)resource, node->created == 0 ? INT64_MIN : node->created;
}

ns_list_s64 ns_node_age_created(void) { return numbers(created_at, NS("")); }
// contract: end

// A small number of a node.
typedef uint8_t (*byte_at)(const ns_test_node *node, ns_text key);

static uint8_t unschedulable_at(const ns_test_node *node, ns_text key) { return (void)key, node->unschedulable; }

static uint8_t condition_at(const ns_test_node *node, ns_text key) {
    const char *status = ns_test_named(node->conditions, key);
    if (status == NULL) return 0;
    return strcmp(status, "True") == 0 ? 1 : strcmp(status, "False") == 0 ? 2 : 3;
}

static bool has_image(const ns_test_node *node, ns_text key, int64_t *size) {
    *size = 0;
    for (const ns_amount *image = node->image_sizes; image != NULL && image->resource != NULL; image++) {
        if (!ns_equal(text_of(image->resource), key)) continue;
        *size = image->amount;
        return true;
    }
    for (const char *const *image = node->images; image != NULL && *image != NULL; image++) {
        if (ns_equal(text_of(*image), key)) return true;
    }
    return false;
}

static uint8_t image_at(const ns_test_node *node, ns_text key) {
    int64_t size;
    return has_image(node, key, &size);
}

// In other calls nothing is known of other predicates.
static uint8_t feasible_at(const ns_test_node *node, ns_text key) { return (void)key, !node->infeasible || !ns_running.is_scoring; }

static ns_list_u8 bytes(byte_at read, ns_text key) {
    uint8_t *items = ns_alloc(count);
    for (size_t row = 0; row < count; row++) items[row] = read(&nodes[row], key);
    return (ns_list_u8){items, count};
}

ns_list_u8 ns_node_taints_unschedulable(void) { return bytes(unschedulable_at, NS("")); }
ns_list_u8 ns_node_conditions_column(ns_text type) { return bytes(condition_at, type); }
ns_list_u8 ns_node_images_present(ns_text image) { return bytes(image_at, image); }
ns_list_u8 ns_cluster_candidates_feasible(void) { return bytes(feasible_at, NS("")); }

int64_t ns_cluster_images_size(ns_text image) {
    int64_t size;
    for (size_t row = 0; row < count; row++) {
        if (has_image(&nodes[row], image, &size)) return size;
    }
    return 0;
}

// A set per node, after the empty one.
ns_list_list_node_taints_taint ns_node_taints_sets(void) {
    ns_list_node_taints_taint *sets = ns_alloc((count + 1) * sizeof *sets);
    for (size_t row = 0; row < count; row++) {
        const ns_test_taint *given = nodes[row].taints;
        size_t length = 0;
        while (given != NULL && given[length].key != NULL) length++;
        ns_node_taints_taint *taints = ns_alloc(length * sizeof *taints);
        for (size_t index = 0; index < length; index++) {
            taints[index] = (ns_node_taints_taint){text_of(given[index].key), text_of(given[index].value), given[index].effect};
        }
        sets[row + 1] = (ns_list_node_taints_taint){taints, length};
    }
    return (ns_list_list_node_taints_taint){sets, count + 1};
}

ns_list_u32 ns_node_taints_column(void) {
    uint32_t *items = ns_alloc(count * sizeof *items);
    for (size_t row = 0; row < count; row++) items[row] = (uint32_t)row + 1;
    return (ns_list_u32){items, count};
}

// ---- Moments and ConfigMaps

bool ns_time_passed(int64_t at) { return ns_running.cluster.now >= at; }

ns_option_text ns_config_maps_entry(ns_text config_map, ns_text key) {
    for (const ns_test_entry *entry = ns_running.cluster.entries; entry != NULL && entry->config_map != NULL; entry++) {
        if (ns_equal(text_of(entry->config_map), config_map) && ns_equal(text_of(entry->key), key)) return option(entry->value);
    }
    return (ns_option_text){0};
}

// ---- Row sets: a flag per row

static bool *sets[MAX_SETS];
static uint32_t set_count;
static const ns_failure **rejected;

static bool *new_set(void) {
    if (ns_running.is_scoring) ns_test_fail("row sets", 0, "a scorer makes one: the host ends the call there");
    if (set_count == MAX_SETS) ns_test_fail("row sets", 0, "at most 1,024 sets are made in a call");
    return sets[set_count++] = ns_alloc(count * sizeof(bool));
}

static bool *set(uint32_t handle) {
    if (handle >= set_count) ns_test_fail("row sets", 0, "the handle is one of this call");
    return sets[handle];
}

// Makes a set of the rows for which the expression holds.
#define SET(expression)                                                                                            \
    do {                                                                                                           \
        bool *made = new_set();                                                                                    \
        for (size_t row = 0; row < count; row++) made[row] = expression;                                           \
        return set_count - 1;                                                                                      \
    } while (0)

uint32_t ns_row_sets_all(void) { SET(true); }
uint32_t ns_row_sets_and(uint32_t a, uint32_t b) { SET(set(a)[row] && set(b)[row]); }
uint32_t ns_row_sets_or(uint32_t a, uint32_t b) { SET(set(a)[row] || set(b)[row]); }
uint32_t ns_row_sets_not(uint32_t a) { SET(!set(a)[row]); }

uint32_t ns_row_sets_count(uint32_t a) {
    uint32_t sum = 0;
    for (size_t row = 0; row < count; row++) sum += set(a)[row];
    return sum;
}

void ns_row_sets_reject(uint32_t a, ns_row_sets_failure failure) {
    ns_failure *kept = ns_alloc(sizeof *kept);
    *kept = (ns_failure){failure.status, failure.reasons};
    for (size_t row = 0; row < count; row++) {
        if (set(a)[row] && rejected[row] == NULL) rejected[row] = kept;
    }
}

static bool is_in(const char *text, ns_list_text values) {
    for (size_t index = 0; text != NULL && index < values.length; index++) {
        if (ns_equal(text_of(text), values.items[index])) return true;
    }
    return false;
}

static bool tolerates(const ns_test_taint *taint) {
    for (size_t index = 0; index < pod.toleration_count; index++) {
        const ns_pod_tolerations_toleration *given = &pod.tolerations[index];
        if (given->effect.is_some && given->effect.value != taint->effect) continue;
        if (given->key.length > 0 && !ns_equal(given->key, text_of(taint->key))) continue;
        if (given->operator_ == NS_POD_TOLERATIONS_OPERATOR_EXISTS) return true;
        bool is_equal = given->operator_ == NS_POD_TOLERATIONS_OPERATOR_EQUAL && given->key.length > 0;
        if (is_equal && ns_equal(given->value, text_of(taint->value))) return true;
    }
    return false;
}

static bool is_untolerated(const ns_test_node *node) {
    for (const ns_test_taint *taint = node->taints; taint != NULL && taint->key != NULL; taint++) {
        bool repels =
            taint->effect == NS_POD_TOLERATIONS_EFFECT_NO_SCHEDULE || taint->effect == NS_POD_TOLERATIONS_EFFECT_NO_EXECUTE;
        if (repels && !tolerates(taint)) return true;
    }
    return false;
}

uint32_t ns_node_labels_rows_in(ns_text key, ns_list_text values) { SET(is_in(ns_test_named(nodes[row].labels, key), values)); }
uint32_t ns_node_labels_rows_with(ns_text key) { SET(ns_test_named(nodes[row].labels, key) != NULL); }
uint32_t ns_node_annotations_rows_in(ns_text key, ns_list_text values) {
    SET(is_in(ns_test_named(nodes[row].annotations, key), values));
}
uint32_t ns_node_annotations_rows_with(ns_text key) { SET(ns_test_named(nodes[row].annotations, key) != NULL); }
uint32_t ns_node_resources_rows_with_free(ns_text resource, int64_t amount) {
    ns_list_s64 left = ns_node_resources_free(resource);
    SET(left.items[row] >= amount);
}
uint32_t ns_node_taints_rows_unschedulable(void) { SET(nodes[row].unschedulable); }
uint32_t ns_node_taints_rows_untolerated(void) { SET(is_untolerated(&nodes[row])); }

// ---- Evaluation

static ns_test_line *lines;
static size_t line_count;

void ns_log_write(ns_log_level level, ns_text text) {
    ns_test_buffer copy = {0};
    ns_test_add(&copy, "%.*s", (int)text.length, text.data);
    lines = realloc(lines, (line_count + 1) * sizeof *lines);
    if (lines == NULL) abort();
    lines[line_count++] = (ns_test_line){level, copy.data};
}

const ns_test_line *ns_test_written(size_t *number) {
    *number = line_count;
    return lines;
}

const char *const ns_test_levels[] = {"debug", "info", "warn", "error"};

const char *ns_test_lines(void) {
    ns_test_buffer text = {0};
    ns_test_add(&text, "%s", "");
    for (size_t index = 0; index < line_count; index++) {
        ns_test_add(&text, "%s%s: %s", index == 0 ? "" : "\n", ns_test_levels[lines[index].level], lines[index].text);
    }
    return text.data;
}

// Pods are on nodes of the cluster.
static void check_pods(const ns_test_cluster *cluster) {
    for (size_t index = 0; index < cluster->pod_count; index++) {
        const char *wanted = cluster->pods[index].node_name;
        size_t row = 0;
        while (wanted != NULL && row < cluster->count && strcmp(cluster->nodes[row].name, wanted) != 0) row++;
        if (wanted == NULL || row == cluster->count) ns_test_fail("pods", 0, "the node_name of a pod names no node of the cluster");
    }
}

void ns_test_begin(const ns_test_cluster *cluster, const ns_test_node *of, size_t number, bool is_scoring) {
    check_pods(cluster);
    pod = cluster->pod;
    nodes = of;
    count = number;
    ns_running = (ns_test_state){.cluster = *cluster, .nodes = of, .count = number, .is_scoring = is_scoring};
    set_count = 0;
    lines = NULL;
    line_count = 0;
}

const void *ns_test_args(const ns_test_cluster *cluster) {
    const void *args;
    const char *refused = ns_configure(&nodesift_predicate, text_of(cluster->args == NULL ? "{}" : cluster->args), &args);
    if (refused != NULL) ns_test_fail("arguments", 0, refused);
    return args;
}

// The failures by row.
static const ns_failure **evaluate(const ns_test_cluster *cluster, const ns_test_node *of, size_t number, const void *args) {
    ns_test_begin(cluster, of, number, false);
    rejected = ns_alloc(number * sizeof *rejected);
    ns_predicate_verdict verdict = ns_run(&nodesift_predicate, args, (uint32_t)number);
    for (size_t row = 0; row < number; row++) {
        ns_failure *kept = ns_alloc(sizeof *kept);
        if (verdict.tag == NS_PREDICATE_VERDICT_FITS_NONE) *kept = verdict.fits_none;
        if (verdict.tag == NS_PREDICATE_VERDICT_BY_ROW) {
            uint16_t code = verdict.by_row.codes.items[row];
            if (code == 0) continue;
            *kept = verdict.by_row.failures.items[code - 1];
        }
        if (verdict.tag != NS_PREDICATE_VERDICT_FITS_ALL && rejected[row] == NULL) rejected[row] = kept;
    }
    return rejected;
}

static const char *said(const ns_failure *failure) {
    ns_test_buffer text = {0};
    for (size_t index = 0; failure != NULL && index < failure->reasons.length; index++) {
        ns_text reason = failure->reasons.items[index];
        ns_test_add(&text, "%s%.*s", index == 0 ? "" : "; ", (int)reason.length, reason.data);
    }
    return text.data == NULL ? "it fits" : text.data;
}

const ns_failure **ns_test_failures(const ns_test_cluster *cluster, const void *args) {
    return evaluate(cluster, cluster->nodes, cluster->count, args);
}

const char *ns_test_rejected(ns_test_cluster cluster) {
    const void *args = ns_test_args(&cluster);
    const ns_failure **failures = ns_test_failures(&cluster, args);
    ns_test_line *written = lines;
    size_t written_count = line_count;
    ns_test_buffer text = {0};
    ns_test_add(&text, "%s", "");
    for (size_t row = 0; row < cluster.count; row++) {
        if (failures[row] == NULL) continue;
        ns_test_add(&text, "%s%s: %s", text.length == 0 ? "" : "\n", cluster.nodes[row].name, said(failures[row]));
    }
    for (size_t row = 0; row < cluster.count && !cluster.is_cluster_wide; row++) {
        // The host may evaluate any node again, alone: the verdict must be the same.
        const ns_failure *alone = evaluate(&cluster, &cluster.nodes[row], 1, args)[0], *all = failures[row];
        bool is_same = (alone == NULL) == (all == NULL) && (all == NULL || alone->status == all->status);
        if (is_same && strcmp(said(alone), said(all)) == 0) continue;
        ns_test_buffer why = {0};
        ns_test_add(&why, "the verdict for the node %s depends on the other nodes: %s; without them, %s", cluster.nodes[row].name,
            said(all), said(alone));
        ns_test_fail("verdict", 0, why.data);
    }
    lines = written;
    line_count = written_count;
    return text.data;
}

const char *ns_test_refused(const char *args) {
    const void *ignored;
    return ns_configure(&nodesift_predicate, text_of(args), &ignored);
}

// ---- The program

static struct {
    const char *name;
    void (*run)(void);
} tests[MAX_TESTS];
static size_t test_count;

void ns_test_register(const char *name, void (*run)(void)) {
    if (test_count == MAX_TESTS) abort();
    tests[test_count].name = name;
    tests[test_count++].run = run;
}

_Noreturn void ns_test_fail(const char *file, int line, const char *what) {
    fflush(stdout);
    fprintf(stderr, "FAILED\n%s:%d: %s\n", file, line, what);
    exit(1);
}

// What catches a panic, while a case is evaluated.
static jmp_buf *catching;
static const char *caught;

const ns_failure **ns_test_try(const ns_test_cluster *cluster, const void *args, const char **panic) {
    jmp_buf here;
    catching = &here;
    caught = NULL;
    const ns_failure **failures = NULL;
    if (setjmp(here) == 0) failures = ns_test_failures(cluster, args);
    catching = NULL;
    *panic = caught;
    return caught == NULL ? failures : NULL;
}

_Noreturn void ns_panic(ns_text text) {
    ns_test_buffer copy = {0};
    ns_test_add(&copy, "%.*s", (int)text.length, text.data);
    if (catching != NULL) {
        caught = copy.data;
        longjmp(*catching, 1);
    }
    ns_test_fail("panic", 0, copy.data);
}

size_t ns_test_rows(void);
const int64_t *ns_test_maxima(void);
_Noreturn void ns_missing(const char *interface, const char *function);

size_t ns_test_rows(void) { return count; }

const int64_t *ns_test_maxima(void) {
    int64_t *items = ns_alloc(count * sizeof *items);
    for (size_t row = 0; row < count; row++) items[row] = INT64_MAX;
    return items;
}

_Noreturn void ns_missing(const char *interface, const char *function) {
    ns_test_buffer why = {0};
    ns_test_add(&why, "the test has no function %s of the interface %s: define it, as nodesift_contract.h declares it", function, interface);
    ns_test_fail("facts", 0, why.data);
}

void ns_test_compare(const char *file, int line, const char *found, const char *const *expected) {
    ns_test_buffer lines = {0};
    ns_test_add(&lines, "%s", "");
    for (; *expected != NULL; expected++) ns_test_add(&lines, "%s%s", lines.length == 0 ? "" : "\n", *expected);
    if (strcmp(found, lines.data) == 0) return;
    ns_test_buffer why = {0};
    ns_test_add(&why, "found are\n%s\nexpected are\n%s", found, lines.data);
    ns_test_fail(file, line, why.data);
}

int main(void) {
    for (size_t index = 0; index < test_count; index++) {
        printf("test %s ... ", tests[index].name);
        fflush(stdout);
        tests[index].run();
        puts("ok");
    }
    size_t case_count = ns_test_run_cases();
    printf("%zu tests pass\n", test_count + case_count);
    return test_count + case_count == 0;
}
