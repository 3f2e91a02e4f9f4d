// Scores. Start at `ns_score`.
#include "nodesift.h"

int64_t *ns_new_scores(ns_nodes *nodes) {
    int64_t *scores = ns_alloc(nodes->count * sizeof *scores);
    __builtin_memset(scores, 0, nodes->count * sizeof *scores);
    return scores;
}

static const ns_scores *kept(ns_scores scores) {
    ns_scores *kept = ns_alloc(sizeof *kept);
    *kept = scores;
    return kept;
}

const ns_scores *ns_by_row(ns_nodes *nodes, const int64_t *scores) {
    return kept((ns_scores){.tag = NS_SCORER_SCORES_BY_ROW, .by_row = {scores, nodes->count}});
}

const ns_scores *ns_skip(void) { return kept((ns_scores){.tag = NS_SCORER_SCORES_SKIP}); }

const ns_scores *ns_failed(ns_text reason) { return kept((ns_scores){.tag = NS_SCORER_SCORES_FAILED, .failed = reason}); }

static const ns_scores *score_nodes(const ns_predicate *scorer, const void *args, ns_nodes *nodes) {
    if (scorer->pre_score != NULL) {
        const ns_scores *said = scorer->pre_score(args);
        if (said != NULL && said->tag == NS_SCORER_SCORES_BY_ROW) {
            ns_panic(NS("pre_score gives NULL, ns_skip or ns_failed: nodes are scored one at a time"));
        }
        if (said != NULL) return said;
    }
    int64_t *scores = ns_new_scores(nodes);
    for (uint32_t row = 0; row < nodes->count; row++) scores[row] = scorer->score_node(nodes, row, args);
    return ns_by_row(nodes, scores);
}

const ns_scores *ns_score(const ns_predicate *scorer, const void *args, uint32_t rows) {
    if (scorer->score == NULL && scorer->score_node == NULL) ns_panic(NS("the predicate is no scorer"));
    ns_nodes nodes = {.count = rows};
    // Rejections are found below; they must not be written elsewhere meanwhile.
    nodes.codes = ns_alloc(rows * sizeof *nodes.codes);
    __builtin_memset(nodes.codes, 0, rows * sizeof *nodes.codes);
    const ns_scores *scores = scorer->score != NULL ? scorer->score(&nodes, args) : score_nodes(scorer, args, &nodes);
    if (scores == NULL) ns_panic(NS("score gives ns_by_row, ns_skip or ns_failed, not NULL"));
    if (nodes.last != NULL || nodes.uses_sets) ns_panic(NS("a scorer rejects nodes in its filter, not while it scores"));
    if (scores->tag == NS_SCORER_SCORES_BY_ROW && scores->by_row.length != rows) ns_panic(NS("there is one score per row"));
    return scores;
}
