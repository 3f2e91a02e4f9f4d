// A predicate with an argument of each kind, which does the same in each way of looking at nodes.
#include "predicate.h"

static const ns_failure other = NS_UNRESOLVABLE("other team");
static const ns_failure none = NS_ERROR("no such way");

struct args seen;
void (*ask)(void);

static const ns_field inside[] = {NS_ARG_TEXT(struct inside, key, .required = true), NS_END};
static const ns_field fields[] = {
    NS_ARG_TEXT(struct args, way),
    NS_ARG_TEXT(struct args, label, .not_empty = true),
    NS_ARG_BOOL(struct args, flag),
    NS_ARG_INTEGER(struct args, count, .min = -3, .max = 100),
    NS_ARG_INTEGER(struct args, any),
    NS_ARG_TEXTS(struct args, list, .not_empty = true),
    NS_ARG_OBJECT(struct args, inside, inside),
    NS_END,
};
static const struct args defaults = {.way = NS_STATIC("columns"), .label = NS_STATIC("team"), .count = 7};

static const char *check(const void *given) {
    const struct args *args = given;
    return args->count == 99 ? "count: 99 is taken" : NULL;
}

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text team;
    seen = *args;
    if (!ns_pod_label(args->label, &team)) return NULL;
    if (ns_equal(args->way, NS("sets"))) {
        ns_rows others = ns_not(ns_label_in(args->label, NS_TEXTS(team)));
        ns_reject(nodes, ns_or(ns_and(others, ns_all()), ns_untolerated()), &other);
        return NULL;
    }
    ns_texts *labels = ns_labels(nodes, args->label);
    if (ns_equal(args->way, NS("texts"))) {
        for (uint32_t row = 0; row < nodes->count; row++) {
            ns_text text;
            if (!ns_text_at(labels, row, &text) || !ns_equal(text, team)) ns_reject_row(nodes, row, &other);
        }
        return NULL;
    }
    if (ns_equal(args->way, NS("state"))) {
        ns_text text;
        bool is_closed = ns_config_entry(NS("ops/teams"), team, &text) && ns_equal(text, NS("closed"));
        return is_closed && ns_time_passed(100) ? &other : NULL;
    }
    if (ns_equal(args->way, NS("asked"))) {
        ask();
        return NULL;
    }
    if (!ns_equal(args->way, NS("columns"))) return &none;
    uint32_t wanted = ns_code(labels, team);
    for (uint32_t row = 0; row < nodes->count; row++) {
        if (labels->codes[row] != wanted) ns_reject_row(nodes, row, &other);
    }
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "Test", .version = "1", .summary = "tests",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults, .check = check,
    .filter = filter);
