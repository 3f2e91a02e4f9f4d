// Affinity terms of pods in tests, and the functions of the contract about them. Match label keys are not looked at: the API server has put
// them into the selector. Start at `is_about`.
#include <stdlib.h>
#include <string.h>

#include "nodesift_test_state.h"

#define POD ns_running.cluster.pod

// ---- Terms of the pod

ns_option_list_pod_placement_preferred_term ns_pod_placement_preferred_terms(void) { return POD.preferred_nodes; }
ns_list_pod_affinity_term ns_pod_affinity_affinity(void) { return POD.affinity; }
ns_list_pod_affinity_term ns_pod_affinity_anti_affinity(void) { return POD.anti_affinity; }
ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_affinity(void) { return POD.preferred_affinity; }
ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_anti_affinity(void) { return POD.preferred_anti_affinity; }

// ---- Terms of pods on nodes

static bool selects(const ns_selectors_label_selector *selector, const ns_pair *labels) {
    for (size_t index = 0; index < selector->match_labels.length; index++) {
        const char *value = ns_test_named(labels, selector->match_labels.items[index].part_0);
        if (value == NULL || !ns_equal(ns_test_text(value), selector->match_labels.items[index].part_1)) return false;
    }
    return ns_test_meets(labels, &selector->match_expressions);
}

// Whether a term of a pod on a node is about the pod that is asked about.
static bool is_about(const ns_test_pod *owner, const ns_pod_affinity_term *term) {
    if (!term->selector.is_some) return false;
    ns_text asked = ns_test_namespace_of(&POD);
    bool is_own = term->namespaces.length == 0 && !term->namespace_selector.is_some && ns_equal(ns_test_namespace_of(owner), asked);
    // A namespace without an object is one without labels here.
    bool is_in = is_own || ns_test_has_text(&term->namespaces, asked) ||
                 (term->namespace_selector.is_some &&
                  selects(&term->namespace_selector.value, ns_test_labels_of_namespace(asked)));
    return is_in && selects(&term->selector.value, POD.labels);
}

// What is done with each term that matches.
typedef struct walk {
    void (*seen)(struct walk *walk, ns_text topology_key, int64_t weight);
    // Which terms are walked through.
    enum { ANTI_AFFINITY, AFFINITY, PREFERRED } which;
    ns_text topology_key;
    // The number of terms with the topology key, and their weights, those of the anti-affinity as negative numbers.
    int64_t count, weight;
    // All topology keys.
    ns_text *keys;
    size_t key_count;
} walk;

static void weighted(walk *walk, const ns_test_pod *owner, const ns_list_tuple_s32_pod_affinity_term *terms, int64_t sign) {
    for (size_t index = 0; index < terms->length; index++) {
        const ns_pod_affinity_term *term = &terms->items[index].part_1;
        if (is_about(owner, term)) walk->seen(walk, term->topology_key, sign * terms->items[index].part_0);
    }
}

static void each_term(walk *walk, const ns_test_pod *owner) {
    if (walk->which == PREFERRED) {
        weighted(walk, owner, &owner->preferred_affinity, 1);
        weighted(walk, owner, &owner->preferred_anti_affinity, -1);
        return;
    }
    const ns_list_pod_affinity_term *terms = walk->which == AFFINITY ? &owner->affinity : &owner->anti_affinity;
    for (size_t index = 0; index < terms->length; index++) {
        if (is_about(owner, &terms->items[index])) walk->seen(walk, terms->items[index].topology_key, 0);
    }
}

static void add(walk *walk, ns_text topology_key, int64_t weight) {
    if (!ns_equal(topology_key, walk->topology_key)) return;
    walk->count++;
    walk->weight += weight;
}

static int64_t count_of(const ns_test_pod *pod, const void *given) {
    walk of = *(const walk *)given;
    each_term(&of, pod);
    return of.count;
}

static int64_t weight_of(const ns_test_pod *pod, const void *given) {
    walk of = *(const walk *)given;
    each_term(&of, pod);
    return of.weight;
}

static void note(walk *walk, ns_text topology_key, int64_t weight) {
    (void)weight;
    size_t at = 0;
    while (at < walk->key_count && !ns_equal(walk->keys[at], topology_key)) at++;
    if (at < walk->key_count) return;
    walk->keys = realloc(walk->keys, (at + 1) * sizeof *walk->keys);
    if (walk->keys == NULL) abort();
    walk->keys[walk->key_count++] = topology_key;
}

static int64_t keys_of(const ns_test_pod *pod, const void *given) {
    each_term(*(walk *const *)given, pod);
    return 0;
}

static int by_text(const void *a, const void *b) {
    const ns_text *left = a, *right = b;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->data, right->data, shorter);
    return order != 0 ? order : (left->length > right->length) - (left->length < right->length);
}

// The topology keys of terms of pods on nodes, sorted and each once.
static ns_list_text keys(walk *of) {
    qsort(of->keys, of->key_count, sizeof *of->keys, by_text);
    return (ns_list_text){of->keys, of->key_count};
}

ns_list_text ns_cluster_affinity_topology_keys(void) {
    walk terms = {.seen = note, .which = ANTI_AFFINITY}, *to = &terms;
    ns_test_sums(keys_of, &to);
    return keys(to);
}

ns_list_u32 ns_cluster_affinity_anti_affinity_terms(ns_text topology_key) {
    return ns_test_numbers(count_of, &(walk){.seen = add, .which = ANTI_AFFINITY, .topology_key = topology_key});
}

ns_list_text ns_cluster_preferences_topology_keys(void) {
    walk terms = {.seen = note, .which = PREFERRED}, *to = &terms;
    ns_test_sums(keys_of, &to);
    terms.which = AFFINITY;
    ns_test_sums(keys_of, &to);
    return keys(to);
}

ns_list_u32 ns_cluster_preferences_preferred_terms(ns_text topology_key) {
    return ns_test_numbers(count_of, &(walk){.seen = add, .which = PREFERRED, .topology_key = topology_key});
}

ns_list_s64 ns_cluster_preferences_weights(ns_text topology_key) {
    walk terms = {.seen = add, .which = PREFERRED, .topology_key = topology_key};
    return (ns_list_s64){ns_test_sums(weight_of, &terms), ns_running.count};
}

ns_list_u32 ns_cluster_preferences_required_terms(ns_text topology_key) {
    return ns_test_numbers(count_of, &(walk){.seen = add, .which = AFFINITY, .topology_key = topology_key});
}
