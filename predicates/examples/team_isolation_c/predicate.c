// TeamIsolation: a pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod without
// the label runs on every node.
#include "nodesift.h"

// Preempting pods does not change the label of a node.
static const ns_failure other_team = NS_UNRESOLVABLE("node(s) didn't belong to the pod's team");

// What a policy can set. Arguments of another name are refused.
struct args {
    // The key of the label, on pods and on nodes.
    ns_text label;
};

static const ns_field fields[] = {NS_ARG_TEXT(struct args, label, .not_empty = true), NS_END};

static const struct args defaults = {.label = NS_STATIC("example.com/team")};

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text team;
    if (!ns_pod_label(args->label, &team)) return NULL;
    // A column has a code per node, and equal texts have equal codes.
    const ns_texts *labels = ns_labels(nodes, args->label);
    uint32_t wanted = ns_code(labels, team);
    for (uint32_t row = 0; row < nodes->count; row++) {
        if (labels->codes[row] != wanted) ns_reject_row(nodes, row, &other_team);
    }
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "TeamIsolation",
    .version = "0.1.0",
    .summary = "rejects nodes that belong to another team than the pod",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    .filter = filter);
