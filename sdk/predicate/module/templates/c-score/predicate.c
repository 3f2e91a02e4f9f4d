// {{type}}: a pod with the label `example.com/team` prefers nodes that have the same label with the same value. Of a pod without the label
// it says nothing. No node is rejected.
#include "nodesift.h"

// What a policy can set. Arguments of another name are refused.
struct args {
    // The key of the label, on pods and on nodes.
    ns_text label;
};

static const ns_field fields[] = {NS_ARG_TEXT(struct args, label, .not_empty = true), NS_END};

static const struct args defaults = {.label = NS_STATIC("example.com/team")};

static const ns_scores *score(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text team;
    if (!ns_pod_label(args->label, &team)) return ns_skip();
    // A column has a code per node, and equal texts have equal codes.
    const ns_texts *labels = ns_labels(nodes, args->label);
    uint32_t wanted = ns_code(labels, team);
    int64_t *scores = ns_new_scores(nodes);
    for (uint32_t row = 0; row < nodes->count; row++) {
        if (labels->codes[row] == wanted) scores[row] = 100;
    }
    return ns_by_row(nodes, scores);
}

NODESIFT_SCORER(
    .name = "{{type}}",
    .version = "0.1.0",
    .summary = "prefers nodes that belong to the pod's team",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    // Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
    .normalization = NS_SCORER_NORMALIZATION_NONE,
    .score = score);
