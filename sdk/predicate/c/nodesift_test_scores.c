// Scores in tests, raw and from 0 to 100. Start at `ns_test_scores`.
#include <inttypes.h>
#include <string.h>

#include "nodesift_test_state.h"

// What is said of a row, in words.
static const char *at(const ns_scores *scores, size_t row) {
    ns_test_buffer text = {0};
    if (scores->tag == NS_SCORER_SCORES_SKIP) return "skipped";
    if (scores->tag == NS_SCORER_SCORES_FAILED) {
        ns_test_add(&text, "failed: %.*s", (int)scores->failed.length, scores->failed.data);
        return text.data;
    }
    int64_t score = scores->by_row.items[row];
    if (score == NS_NO_SCORE) return "none";
    ns_test_add(&text, "%" PRId64, score);
    return text.data;
}

// Sums and products of these wrap, as in the host.
static int64_t plus(int64_t one, int64_t other) { return (int64_t)((uint64_t)one + (uint64_t)other); }
static int64_t minus(int64_t one, int64_t other) { return (int64_t)((uint64_t)one - (uint64_t)other); }
static int64_t times(int64_t one, int64_t other) { return (int64_t)((uint64_t)one * (uint64_t)other); }

#define MAX_SCORE 100

// The score of a raw one, where the smallest and the largest are these.
static int64_t score_of(ns_scorer_normalization normalization, int64_t lowest, int64_t highest, int64_t raw) {
    switch (normalization) {
    case NS_SCORER_NORMALIZATION_BY_LARGEST: return highest <= 0 ? raw : times(MAX_SCORE, raw) / highest;
    case NS_SCORER_NORMALIZATION_BY_LARGEST_REVERSED:
        return highest <= 0 ? MAX_SCORE : minus(MAX_SCORE, times(MAX_SCORE, raw) / highest);
    case NS_SCORER_NORMALIZATION_BY_RANGE: {
        int64_t range = minus(highest, lowest);
        // In this order: 29 of 100 is 28, which exact arithmetic would make 29.
        return range <= 0 ? 0 : (int64_t)(MAX_SCORE * ((double)minus(raw, lowest) / (double)range));
    }
    case NS_SCORER_NORMALIZATION_BY_DISTANCE:
        return highest <= 0 ? MAX_SCORE : times(MAX_SCORE, minus(plus(highest, lowest), raw)) / highest;
    default: return raw;
    }
}

void ns_test_normalize(ns_scorer_normalization normalization, int64_t *scores, size_t length) {
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (size_t row = 0; row < length; row++) {
        if (scores[row] == NS_NO_SCORE) continue;
        if (scores[row] < lowest) lowest = scores[row];
        if (scores[row] > highest) highest = scores[row];
    }
    for (size_t row = 0; row < length; row++) {
        scores[row] = scores[row] == NS_NO_SCORE ? 0 : score_of(normalization, lowest, highest, scores[row]);
    }
}

const char *ns_test_normalized(ns_test_cluster cluster) {
    const char *raw = ns_test_scores(cluster);
    const ns_scores *said = ns_score(&nodesift_predicate, ns_test_args(&cluster), (uint32_t)cluster.count);
    if (said->tag != NS_SCORER_SCORES_BY_ROW) return raw;
    int64_t *scores = ns_alloc(cluster.count * sizeof *scores);
    size_t length = 0;
    for (size_t row = 0; row < cluster.count; row++) {
        if (!cluster.nodes[row].infeasible) scores[length++] = said->by_row.items[row];
    }
    ns_test_normalize(nodesift_predicate.normalization, scores, length);
    ns_test_buffer text = {0};
    ns_test_add(&text, "%s", "");
    length = 0;
    for (size_t row = 0; row < cluster.count; row++) {
        if (cluster.nodes[row].infeasible) continue;
        int64_t score = scores[length++];
        if (score < 0 || score > MAX_SCORE) {
            ns_test_buffer why = {0};
            ns_test_add(&why, "the node %s has the score %" PRId64 " once it is normalized: the host takes 0 to 100",
                cluster.nodes[row].name, score);
            ns_test_fail("scores", 0, why.data);
        }
        ns_test_add(&text, "%s%s: %" PRId64, length == 1 ? "" : "\n", cluster.nodes[row].name, score);
    }
    return text.data;
}

const char *ns_test_scores(ns_test_cluster cluster) {
    const void *args = ns_test_args(&cluster);
    for (size_t row = 0; row < cluster.count && !cluster.is_cluster_wide; row++) {
        ns_test_begin(&cluster, cluster.nodes, cluster.count, true);
        const char *all = at(ns_score(&nodesift_predicate, args, (uint32_t)cluster.count), row);
        // The host may score any node again, alone: the score must be the same.
        ns_test_begin(&cluster, &cluster.nodes[row], 1, true);
        const char *alone = at(ns_score(&nodesift_predicate, args, 1), 0);
        if (strcmp(all, alone) == 0) continue;
        ns_test_buffer why = {0};
        ns_test_add(&why, "the score of the node %s depends on the other nodes: %s; without them, %s", cluster.nodes[row].name, all,
            alone);
        ns_test_fail("scores", 0, why.data);
    }
    // Last, so that the lines of the log are those of this call.
    ns_test_begin(&cluster, cluster.nodes, cluster.count, true);
    const ns_scores *scores = ns_score(&nodesift_predicate, args, (uint32_t)cluster.count);
    if (scores->tag != NS_SCORER_SCORES_BY_ROW) return at(scores, 0);
    ns_test_buffer text = {0};
    ns_test_add(&text, "%s", "");
    for (size_t row = 0; row < cluster.count; row++) {
        ns_test_add(&text, "%s%s: %s", row == 0 ? "" : "\n", cluster.nodes[row].name, at(scores, row));
    }
    return text.data;
}
