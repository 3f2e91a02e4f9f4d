// A predicate that keeps pods to the nodes of their team, of which ../../../cases has cases.
#include "nodesift.h"

static const ns_failure other_team = NS_UNRESOLVABLE("node(s) didn't belong to the pod's team");

struct args {
    ns_text label;
};

static const ns_field fields[] = {NS_ARG_TEXT(struct args, label), NS_END};
static const struct args defaults = {.label = NS_STATIC("example.com/team")};

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text team;
    if (ns_pod_label(args->label, &team)) ns_reject(nodes, ns_not(ns_label_in(args->label, NS_TEXTS(team))), &other_team);
#ifdef PANICS
    ns_panic(NS("on purpose"));
#endif
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "Team", .version = "1", .summary = "tests",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    .filter = filter);
