// Scores in tests. Start at `ns_test_scores`.
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
