// A scorer that gives nodes the amount of free cores, or answers in the way that its argument names.
#include "nodesift.h"

struct args {
    ns_text way;
};

static const ns_field fields[] = {NS_ARG_TEXT(struct args, way), NS_END};
static const struct args defaults = {.way = NS_STATIC("columns")};
static const ns_failure other = NS_UNRESOLVABLE("other");

static const ns_scores *score(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    int64_t *scores = ns_new_scores(nodes);
    if (ns_equal(args->way, NS("skip"))) return ns_skip();
    if (ns_equal(args->way, NS("failed"))) return ns_failed(NS("weight: no integer"));
    if (ns_equal(args->way, NS("nothing"))) return NULL;
    if (ns_equal(args->way, NS("sets"))) ns_label_exists(NS("zone"));
    if (ns_equal(args->way, NS("rejects"))) ns_reject_row(nodes, 0, &other);
    const int64_t *free = ns_free(nodes, NS("cpu"));
    const ns_texts *zones = ns_labels(nodes, NS("zone"));
    for (uint32_t row = 0; row < nodes->count; row++) {
        scores[row] = ns_equal(args->way, NS("depends")) ? nodes->count : zones->codes[row] == 0 ? NS_NO_SCORE : free[row];
    }
    if (ns_equal(args->way, NS("candidates"))) {
        ns_list_u8 fits = ns_cluster_candidates_feasible();
        for (uint32_t row = 0; row < nodes->count; row++) scores[row] = fits.items[row];
    }
    return ns_by_row(nodes, scores);
}

#ifdef AS_PREDICATE
NODESIFT_PREDICATE(
#else
NODESIFT_SCORER(
#endif
    .name = "Free", .version = "1", .summary = "tests",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    .normalization = NS_SCORER_NORMALIZATION_BY_LARGEST, .score = score);
