// Pods on nodes in tests, and the functions of the contract about them. What a node says is requested on it is that of a first pod without
// labels, as in `cases.yaml`. Start at `sum`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodesift_test_state.h"

#define POD ns_running.cluster.pod
#define COUNT ns_running.count

static const char *or_default(const char *text, const char *otherwise) { return text == NULL ? otherwise : text; }

ns_text ns_test_namespace_of(const ns_test_pod *pod) { return ns_test_text(or_default(pod->namespace_name, "default")); }

bool ns_test_has_text(const ns_list_text *texts, ns_text text) {
    for (size_t index = 0; index < texts->length; index++) {
        if (ns_equal(texts->items[index], text)) return true;
    }
    return false;
}

static bool has_name(const char *const *names, ns_text name) {
    for (; names != NULL && *names != NULL; names++) {
        if (ns_equal(ns_test_text(*names), name)) return true;
    }
    return false;
}

// The labels of a Namespace; NULL where there is no such object.
const ns_pair *ns_test_labels_of_namespace(ns_text name) {
    const ns_test_cluster *cluster = &ns_running.cluster;
    if (POD.namespace_labels != NULL && ns_equal(ns_test_namespace_of(&POD), name)) return POD.namespace_labels;
    for (size_t index = cluster->pod_count; index > 0; index--) {
        const ns_test_pod *pod = &cluster->pods[index - 1];
        if (pod->namespace_labels != NULL && ns_equal(ns_test_namespace_of(pod), name)) return pod->namespace_labels;
    }
    for (const ns_test_namespace *of = cluster->namespaces; of != NULL && of->name != NULL; of++) {
        if (ns_equal(ns_test_text(of->name), name)) return of->labels;
    }
    return NULL;
}

// ---- Selectors

static bool meets_one(const ns_pair *labels, const ns_selectors_requirement *requirement) {
    const char *value = ns_test_named(labels, requirement->key);
    switch (requirement->operator_) {
    case NS_SELECTORS_OPERATOR_IN: return value != NULL && ns_test_has_text(&requirement->values, ns_test_text(value));
    case NS_SELECTORS_OPERATOR_NOT_IN: return value == NULL || !ns_test_has_text(&requirement->values, ns_test_text(value));
    case NS_SELECTORS_OPERATOR_EXISTS: return value != NULL;
    case NS_SELECTORS_OPERATOR_DOES_NOT_EXIST: return value == NULL;
    }
    ns_test_fail("selector", 0, "it has an unknown operator: the host ends the call there");
}

bool ns_test_meets(const ns_pair *labels, const ns_list_selectors_requirement *all) {
    for (size_t index = 0; index < all->length; index++) {
        if (!meets_one(labels, &all->items[index])) return false;
    }
    return true;
}

static bool matches(const ns_test_pod *pod, ns_list_cluster_pods_pod_selector selectors) {
    for (size_t index = 0; index < selectors.length; index++) {
        const ns_cluster_pods_pod_selector *selector = &selectors.items[index];
        const ns_list_selectors_requirement *further = &selector->namespace_requirements.value;
        const ns_pair *labels = ns_test_labels_of_namespace(ns_test_namespace_of(pod));
        bool is_further = selector->namespace_requirements.is_some &&
                          (further->length == 0 || (labels != NULL && ns_test_meets(labels, further)));
        bool is_chosen = is_further || ns_test_has_text(&selector->namespaces, ns_test_namespace_of(pod));
        if (!is_chosen || !ns_test_meets(pod->labels, &selector->requirements)) return false;
    }
    return true;
}

// ---- Sums over the pods of each node

// What a sum is about: pods that match selectors, siblings, foreign pods, or all.
typedef struct question {
    bool (*counts)(const ns_test_pod *pod, const struct question *question);
    ns_list_cluster_pods_pod_selector selectors;
    bool terminating;
    // The resource whose requests are summed; pods are counted where it has no name.
    ns_text resource;
} question;

static int64_t value_of(const ns_test_pod *pod, const void *given) {
    const question *question = given;
    if (!question->counts(pod, question)) return 0;
    return question->resource.data == NULL ? 1 : ns_test_amount(pod->requests, question->resource);
}

static int64_t sum(const ns_test_node *node, ns_test_value value, const void *question) {
    const ns_test_cluster *cluster = &ns_running.cluster;
    bool has_requested = node->requested != NULL && node->requested->resource != NULL;
    int64_t counted = node->pods == 0 && has_requested ? 1 : node->pods, total = 0;
    for (int64_t index = 0; index < counted; index++) {
        ns_test_pod pod = {.requests = index == 0 ? node->requested : NULL};
        total += value(&pod, question);
    }
    for (size_t index = 0; index < cluster->pod_count; index++) {
        const ns_test_pod *pod = &cluster->pods[index];
        if (pod->node_name != NULL && strcmp(pod->node_name, node->name) == 0) total += value(pod, question);
    }
    return total;
}

int64_t *ns_test_sums(ns_test_value value, const void *question) {
    int64_t *items = ns_alloc(COUNT * sizeof *items);
    for (size_t row = 0; row < COUNT; row++) items[row] = sum(&ns_running.nodes[row], value, question);
    return items;
}

ns_list_u32 ns_test_numbers(ns_test_value value, const void *question) {
    const int64_t *wide = ns_test_sums(value, question);
    uint32_t *items = ns_alloc(COUNT * sizeof *items);
    for (size_t row = 0; row < COUNT; row++) items[row] = (uint32_t)wide[row];
    return (ns_list_u32){items, COUNT};
}

static int64_t *sums(const question *question) { return ns_test_sums(value_of, question); }

static ns_list_u32 numbers(const question *question) { return ns_test_numbers(value_of, question); }

static bool is_any(const ns_test_pod *pod, const question *question) { return (void)pod, (void)question, true; }

static bool is_foreign(const ns_test_pod *pod, const question *question) {
    (void)question;
    static const char *const default_names[] = {"default-scheduler", NULL};
    const char *const *own = ns_running.cluster.scheduler_names;
    return !has_name(own == NULL ? default_names : own, ns_test_text(or_default(pod->scheduler_name, "default-scheduler")));
}

static bool is_matched(const ns_test_pod *pod, const question *question) {
    return (question->terminating || !pod->terminating) && matches(pod, question->selectors);
}

// The UID of the controller: without one in the pod, one for each namespace, kind and name.
static ns_option_text controller_uid(const ns_test_pod *pod) {
    if (pod->controller == NULL) return (ns_option_text){0};
    if (pod->controller_uid != NULL) return (ns_option_text){true, ns_test_text(pod->controller_uid)};
    ns_text of = ns_test_namespace_of(pod), kind = pod->controller->kind, name = pod->controller->name;
    size_t bytes = of.length + kind.length + name.length + 2;
    char *uid = ns_alloc(bytes);
    snprintf(uid, bytes + 1, "%.*s/%.*s/%.*s", (int)of.length, of.data, (int)kind.length, kind.data, (int)name.length, name.data);
    return (ns_option_text){true, {uid, bytes}};
}

static bool is_sibling(const ns_test_pod *pod, const question *question) {
    ns_option_text mine = controller_uid(&POD), other = controller_uid(pod);
    return (question->terminating || !pod->terminating) && ns_equal(ns_test_namespace_of(pod), ns_test_namespace_of(&POD)) && other.is_some &&
           ns_equal(mine.value, other.value);
}

// ---- Functions of the contract

ns_option_text ns_namespace_labels_label(ns_text key) {
    const char *value = ns_test_named(ns_test_labels_of_namespace(ns_test_namespace_of(&POD)), key);
    return (ns_option_text){value != NULL, ns_test_text(value)};
}

ns_option_text ns_pod_owner_controller_uid(void) { return controller_uid(&POD); }

ns_tuple_text_text_text ns_pod_volumes_owner(void) {
    return (ns_tuple_text_text_text){ns_test_namespace_of(&POD), ns_test_text(or_default(POD.name, "pod")), ns_test_text("")};
}

ns_list_s64 ns_node_resources_requested(ns_text resource) {
    return (ns_list_s64){sums(&(question){.counts = is_any, .resource = resource}), COUNT};
}

ns_list_s64 ns_node_resources_foreign(ns_text resource) {
    return (ns_list_s64){sums(&(question){.counts = is_foreign, .resource = resource}), COUNT};
}

ns_list_s64 ns_node_resources_pods(void) { return (ns_list_s64){sums(&(question){.counts = is_any}), COUNT}; }
ns_list_s64 ns_node_resources_foreign_pods(void) { return (ns_list_s64){sums(&(question){.counts = is_foreign}), COUNT}; }

// What a container counts for that names no `cpu`, in thousandths of a core, or no `memory`, in bytes: as in kube-scheduler.
static const struct {
    const char *resource;
    int64_t amount;
} unnamed[] = {{"cpu", 100}, {"memory", 200 << 20}};
#define UNNAMED (sizeof unnamed / sizeof *unnamed)

// The request of a resource, in which every container counts that does not name it: an index of `unnamed`.
static int64_t non_zero(const ns_test_pod *pod, size_t which) {
    int64_t containers = 0, named = 0;
    if (pod->non_zero_requests != NULL) return ns_test_amount(pod->non_zero_requests, ns_test_text(unnamed[which].resource));
    while (pod->images != NULL && pod->images[containers] != NULL) containers++;
    if (containers == 0) containers = 1;
    for (const ns_amount *of = pod->requests; of != NULL && of->resource != NULL; of++) {
        if (strcmp(of->resource, unnamed[which].resource) != 0) continue;
        named = of->amount;
        containers--;
        break;
    }
    return named + containers * unnamed[which].amount;
}

static int64_t non_zero_of(const ns_test_pod *pod, const void *which) { return non_zero(pod, *(const size_t *)which); }

ns_list_s64 ns_node_non_zero_requests_requested(ns_text resource) {
    for (size_t which = 0; which < UNNAMED; which++) {
        if (ns_equal(ns_test_text(unnamed[which].resource), resource)) return (ns_list_s64){ns_test_sums(non_zero_of, &which), COUNT};
    }
    return (ns_list_s64){ns_alloc(COUNT * sizeof(int64_t)), COUNT};
}

static int by_resource(const void *a, const void *b) {
    const ns_pod_resources_request *left = a, *right = b;
    // Names of these requests end with a zero.
    return strcmp(left->resource.data, right->resource.data);
}

ns_list_pod_resources_request ns_pod_non_zero_requests_requests(void) {
    const ns_amount *given = POD.non_zero_requests == NULL ? POD.requests : POD.non_zero_requests;
    size_t length = 0;
    while (given != NULL && given[length].resource != NULL) length++;
    ns_pod_resources_request *items = ns_alloc((length + UNNAMED) * sizeof *items);
    size_t at = 0;
    for (size_t which = 0; which < UNNAMED; which++) {
        items[at++] = (ns_pod_resources_request){ns_test_text(unnamed[which].resource), non_zero(&POD, which)};
    }
    for (size_t index = 0; index < length; index++) {
        const char *resource = given[index].resource;
        bool is_there = strcmp(resource, unnamed[0].resource) == 0 || strcmp(resource, unnamed[1].resource) == 0;
        if (!is_there) items[at++] = (ns_pod_resources_request){ns_test_text(resource), given[index].amount};
    }
    qsort(items, at, sizeof *items, by_resource);
    return (ns_list_pod_resources_request){items, at};
}

bool ns_node_resources_device_class_serves(ns_text resource) {
    return has_name(ns_running.cluster.device_class_resources, resource);
}

static bool has_port(const ns_test_pod *pod, int port) {
    for (const int *of = pod->host_ports; of != NULL && *of != 0; of++) {
        if (*of == port) return true;
    }
    return false;
}

static bool shares_a_port(const ns_test_pod *pod, const question *question) {
    (void)question;
    for (const int *port = POD.host_ports; port != NULL && *port != 0; port++) {
        if (has_port(pod, *port)) return true;
    }
    return false;
}

ns_option_list_u8 ns_node_ports_conflicts(void) {
    uint8_t *items = ns_alloc(COUNT);
    for (size_t row = 0; row < COUNT; row++) {
        items[row] = sum(&ns_running.nodes[row], value_of, &(question){.counts = shares_a_port}) > 0;
    }
    return (ns_option_list_u8){POD.host_ports != NULL && *POD.host_ports != 0, {items, COUNT}};
}

ns_list_u32 ns_cluster_pods_matching(ns_list_cluster_pods_pod_selector selectors, bool terminating) {
    return numbers(&(question){.counts = is_matched, .selectors = selectors, .terminating = terminating});
}

bool ns_cluster_pods_matches_this_pod(ns_list_cluster_pods_pod_selector selectors) { return matches(&POD, selectors); }

ns_list_s64 ns_cluster_pods_requested(ns_list_cluster_pods_pod_selector selectors, ns_text resource, bool terminating) {
    question of = {.counts = is_matched, .selectors = selectors, .terminating = terminating, .resource = resource};
    return (ns_list_s64){sums(&of), COUNT};
}

ns_option_list_u32 ns_cluster_controllers_same_controller(bool terminating) {
    question siblings = {.counts = is_sibling, .terminating = terminating};
    return (ns_option_list_u32){POD.controller != NULL, numbers(&siblings)};
}
