#include <stdio.h>
#include <stdlib.h>

#include "nodesift_test_state.h"

static const ns_test_node nodes[] = {
    {.name = "a", .labels = NS_PAIRS({"zone", "x"}), .allocatable = NS_AMOUNTS({"cpu", 400}), .infeasible = true},
    {.name = "b", .labels = NS_PAIRS({"zone", "y"}), .requested = NS_AMOUNTS({"cpu", 30})},
    {.name = "c"},
};

static ns_test_cluster cluster(const char *args) { return (ns_test_cluster){.nodes = nodes, .count = 3, .args = args}; }

NS_TEST(every_node_has_a_score_or_none) { NS_CHECK_SCORES(cluster("{}"), "a: 400", "b: -30", "c: none"); }

NS_TEST(a_scorer_can_say_nothing_and_that_a_pod_cannot_be_scored) {
    NS_CHECK_SCORES(cluster("{\"way\": \"skip\"}"), "skipped");
    NS_CHECK_SCORES(cluster("{\"way\": \"failed\"}"), "failed: weight: no integer");
}

NS_TEST(what_only_scores_rejects_no_node) { NS_CHECK_REJECTED(cluster("{}"), NULL); }

NS_TEST(candidates_are_the_nodes_on_which_the_pod_fits) {
    ns_test_cluster of = cluster("{\"way\": \"candidates\"}");
    of.is_cluster_wide = true;
    NS_CHECK_SCORES(of, "a: 0", "b: 1", "c: 1");
}

NS_TEST(scores_from_0_to_100_are_over_the_nodes_on_which_the_pod_fits) {
    ns_test_cluster of = cluster("{\"way\": \"candidates\"}");
    of.is_cluster_wide = true;
    NS_CHECK_NORMALIZED(of, "b: 100", "c: 100");
    NS_CHECK_NORMALIZED(cluster("{\"way\": \"skip\"}"), "skipped");
}

NS_TEST(scores_are_normalized_as_by_the_host) {
    static const struct {
        ns_scorer_normalization by;
        int64_t expected[4], of_zeros;
    } all[] = {
        {NS_SCORER_NORMALIZATION_NONE, {4, 0, 1, 2}, 0},
        {NS_SCORER_NORMALIZATION_BY_LARGEST, {100, 0, 25, 50}, 0},
        {NS_SCORER_NORMALIZATION_BY_LARGEST_REVERSED, {0, 0, 75, 50}, 100},
        {NS_SCORER_NORMALIZATION_BY_RANGE, {100, 0, 0, 33}, 0},
        {NS_SCORER_NORMALIZATION_BY_DISTANCE, {25, 0, 100, 75}, 100},
    };
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        int64_t scores[] = {4, NS_NO_SCORE, 1, 2}, zeros[] = {0, 0}, extreme[] = {INT64_MAX, INT64_MIN + 1};
        ns_test_normalize(all[at].by, scores, 4);
        for (size_t row = 0; row < 4; row++) NS_CHECK(scores[row] == all[at].expected[row]);
        ns_test_normalize(all[at].by, zeros, 2);
        NS_CHECK(zeros[0] == all[at].of_zeros && zeros[1] == all[at].of_zeros);
        // It wraps.
        ns_test_normalize(all[at].by, extreme, 2);
    }
}

// The same in the form per node.
static int64_t score_node(ns_nodes *nodes, uint32_t row, const void *args) {
    (void)args;
    return ns_labels(nodes, NS("zone"))->codes[row] == 0 ? NS_NO_SCORE : ns_free(nodes, NS("cpu"))[row];
}

static const ns_scores *said;

static const ns_scores *pre_score(const void *args) { return (void)args, said; }

NS_TEST(the_form_per_node_gives_the_same_scores) {
    const ns_predicate scorer = {.name = "Free", .score_node = score_node, .pre_score = pre_score, .is_scorer = true};
    NS_CHECK_SCORES(cluster("{}"), "a: 400", "b: -30", "c: none");
    // The functions of the host are those of that call still.
    const ns_scores *scores = ns_score(&scorer, NULL, 3);
    NS_CHECK(scores->tag == NS_SCORER_SCORES_BY_ROW && scores->by_row.length == 3 && scores->by_row.items[0] == 400);
    NS_CHECK(scores->by_row.items[1] == -30 && scores->by_row.items[2] == NS_NO_SCORE);
    said = ns_skip();
    NS_CHECK(ns_score(&scorer, NULL, 3)->tag == NS_SCORER_SCORES_SKIP);
}

// One that fails on purpose, in the way that WAY names.
NS_TEST(what_the_host_refuses_fails_a_test) {
    const char *way = getenv("WAY");
    if (way == NULL) return;
    char args[64];
    snprintf(args, sizeof args, "{\"way\": \"%s\"}", way);
    ns_test_scores(cluster(args));
    ns_test_normalized(cluster(args));
}
