#include <string.h>

#include "nodesift_test.h"

#define TEAM "example.com/team"
#define REASON "node(s) didn't belong to the pod's team"

static const ns_test_node nodes[] = {
    {.name = "red", .labels = (const ns_pair[]){{TEAM, "red"}, {0}}},
    {.name = "blue", .labels = (const ns_pair[]){{TEAM, "blue"}, {"owner", "red"}, {0}}},
    {.name = "unlabelled"},
};

NS_TEST(a_pod_fits_the_nodes_of_its_team_only) {
    ns_test_cluster cluster = {.pod = {.labels = NS_PAIRS({TEAM, "red"})}, .nodes = nodes, .count = 3};
    NS_CHECK_REJECTED(cluster, "blue: " REASON, "unlabelled: " REASON);
}

NS_TEST(a_pod_without_a_team_fits_everywhere) {
    ns_test_cluster cluster = {.nodes = nodes, .count = 3};
    NS_CHECK_REJECTED(cluster, NULL);
}

NS_TEST(the_label_key_is_an_argument) {
    ns_test_cluster cluster = {
        .pod = {.labels = NS_PAIRS({"owner", "red"})}, .nodes = nodes, .count = 3, .args = "{\"label\": \"owner\"}"};
    NS_CHECK_REJECTED(cluster, "red: " REASON, "unlabelled: " REASON);
}

NS_TEST(a_mistyped_argument_is_refused) {
    const char *refused = ns_test_refused("{\"lable\": \"owner\"}");
    NS_CHECK(refused != NULL && strstr(refused, "lable: unknown field") == refused);
}

// The cases of `nodesift-dev module test`, without the sandbox.
NS_CASES("cases.yaml")
