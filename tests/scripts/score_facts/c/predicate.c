// ScoreFacts rejects every node with what the functions say that came with scores: unit tests and the built module must answer alike.
#include "nodesift.h"

// Bytes of a reason.
#define REASON 512

typedef struct reason {
    char *data;
    size_t length;
} reason;

static void text(reason *to, ns_text from) {
    NS_ASSERT(from.length <= REASON - to->length);
    __builtin_memcpy(to->data + to->length, from.data, from.length);
    to->length += from.length;
}

static void number(reason *to, int64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    if (value < 0) text(to, NS("-"));
    do {
        digits[--at] = (char)('0' + (value < 0 ? -(value % 10) : value % 10));
        value /= 10;
    } while (value != 0);
    text(to, (ns_text){digits + at, sizeof digits - at});
}

static void numbers(reason *to, const int64_t *values, size_t count) {
    for (size_t index = 0; index < count; index++) {
        if (index > 0) text(to, NS("/"));
        number(to, values[index]);
    }
}

static const ns_failure *filter(ns_nodes *nodes, const void *args) {
    (void)args;
    reason pod = {ns_alloc(REASON), 0};
    ns_list_pod_resources_request requests = ns_pod_non_zero_requests_requests();
    for (size_t index = 0; index < requests.length; index++) {
        text(&pod, requests.items[index].resource);
        text(&pod, NS("="));
        number(&pod, requests.items[index].amount);
        text(&pod, NS(" "));
    }
    ns_list_text images = ns_pod_images_containers();
    for (size_t index = 0; index < images.length; index++) {
        text(&pod, images.items[index]);
        text(&pod, NS(":"));
        number(&pod, ns_cluster_images_size(images.items[index]));
        text(&pod, NS(" "));
    }
    text(&pod, ns_pod_placement_preferred_terms().is_some ? NS("true/") : NS("false/"));
    const int64_t lengths[] = {
        (int64_t)ns_pod_images_volumes().length, (int64_t)ns_pod_preferred_affinity_affinity().length,
        (int64_t)ns_pod_preferred_affinity_anti_affinity().length, (int64_t)ns_cluster_preferences_topology_keys().length};
    numbers(&pod, lengths, 4);
    ns_list_s64 cpu = ns_node_non_zero_requests_requested(NS("cpu")), memory = ns_node_non_zero_requests_requested(NS("memory"));
    ns_list_s64 other = ns_node_non_zero_requests_requested(NS("example.com/gpu")), weights = ns_cluster_preferences_weights(NS("zone"));
    ns_list_u8 fits = ns_cluster_candidates_feasible();
    ns_list_u32 terms = ns_cluster_preferences_preferred_terms(NS("zone")), required = ns_cluster_preferences_required_terms(NS("zone"));
    for (uint32_t row = 0; row < nodes->count; row++) {
        reason made = {ns_alloc(REASON), 0};
        text(&made, (ns_text){pod.data, pod.length});
        text(&made, NS(" on node "));
        numbers(&made, (int64_t[]){cpu.items[row], memory.items[row], other.items[row]}, 3);
        text(&made, NS(" "));
        number(&made, fits.items[row]);
        text(&made, NS(" "));
        numbers(&made, (int64_t[]){terms.items[row], weights.items[row], required.items[row]}, 3);
        ns_text *kept = ns_alloc(sizeof *kept);
        *kept = (ns_text){made.data, made.length};
        ns_failure *failure = ns_alloc(sizeof *failure);
        *failure = (ns_failure){NS_PREDICATE_STATUS_UNSCHEDULABLE, {kept, 1}};
        ns_reject_row(nodes, row, failure);
    }
    return NULL;
}

NODESIFT_PREDICATE(.name = "ScoreFacts", .version = "0.1.0", .summary = "rejects every node with facts", .filter = filter);
