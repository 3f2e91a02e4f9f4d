#include <string.h>

#include "nodesift_test.h"

static const ns_test_node nodes[] = {
    {.name = "red", .labels = NS_PAIRS({"example.com/team", "red"})},
    {.name = "blue", .labels = NS_PAIRS({"example.com/team", "blue"}, {"owner", "red"})},
    {.name = "unlabelled"},
};

NS_TEST(a_pod_prefers_the_nodes_of_its_team) {
    ns_test_cluster cluster = {.pod = {.labels = NS_PAIRS({"example.com/team", "red"})}, .nodes = nodes, .count = 3};
    NS_CHECK_SCORES(cluster, "red: 100", "blue: 0", "unlabelled: 0");
    // No node is rejected.
    NS_CHECK_REJECTED(cluster, NULL);
}

NS_TEST(nothing_is_said_of_a_pod_without_a_team) {
    ns_test_cluster cluster = {.nodes = nodes, .count = 3};
    NS_CHECK_SCORES(cluster, "skipped");
}

NS_TEST(the_label_key_is_an_argument) {
    ns_test_cluster cluster = {
        .pod = {.labels = NS_PAIRS({"owner", "red"})}, .nodes = nodes, .count = 3, .args = "{\"label\": \"owner\"}"};
    NS_CHECK_SCORES(cluster, "red: 0", "blue: 100", "unlabelled: 0");
}

NS_TEST(a_mistyped_argument_is_refused) {
    const char *refused = ns_test_refused("{\"lable\": \"owner\"}");
    NS_CHECK(refused != NULL && strstr(refused, "lable: unknown field") == refused);
}

// The cases of `nodesift-dev module test`, without the sandbox; those about scores are left to it.
NS_CASES("cases.yaml")
