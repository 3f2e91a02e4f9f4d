#include <string.h>

#include "nodesift_test.h"

#define DISK "example.com/disk"
#define IO "example.com/disk-io"
#define REASON "node(s) shared a disk with a pod that writes heavily"
#define ON(disk) ((const ns_pair[]){{DISK, disk}, {0}})

static const ns_pair heavy[] = {{IO, "heavy"}, {0}};

static const ns_test_node nodes[] = {
    {.name = "a1", .labels = ON("a")}, {.name = "a2", .labels = ON("a")}, {.name = "b1", .labels = ON("b")},
    {.name = "own"}, {.name = "own-2"},
};

static ns_test_cluster cluster(const ns_test_pod *pods, size_t count) {
    return (ns_test_cluster){
        .pod = {.labels = heavy}, .nodes = nodes, .count = 5, .pods = pods, .pod_count = count, .is_cluster_wide = true};
}

NS_TEST(no_two_heavy_writers_share_a_disk) {
    ns_test_pod pods[] = {{.node_name = "a1", .labels = heavy}};
    NS_CHECK_REJECTED(cluster(pods, 1), "a1: " REASON, "a2: " REASON);
}

NS_TEST(a_node_without_the_label_has_a_disk_of_its_own) {
    ns_test_pod pods[] = {{.node_name = "own", .labels = heavy}};
    NS_CHECK_REJECTED(cluster(pods, 1), "own: " REASON);
}

NS_TEST(pods_of_all_namespaces_and_terminating_ones_count_and_light_ones_do_not) {
    ns_test_pod pods[] = {
        {.node_name = "b1", .namespace_name = "other", .labels = heavy, .terminating = true},
        {.node_name = "a1", .labels = NS_PAIRS({IO, "light"})},
        {.node_name = "a2"},
    };
    NS_CHECK_REJECTED(cluster(pods, 3), "b1: " REASON);
}

NS_TEST(other_pods_run_everywhere) {
    ns_test_pod pods[] = {{.node_name = "a1", .labels = heavy}};
    ns_test_cluster all = cluster(pods, 1);
    all.pod.labels = NS_PAIRS({IO, "light"});
    NS_CHECK_REJECTED(all, NULL);
    all.pod.labels = NULL;
    NS_CHECK_REJECTED(all, NULL);
}

NS_TEST(the_limit_is_an_argument) {
    ns_test_pod pods[] = {
        {.node_name = "a1", .labels = heavy}, {.node_name = "a2", .labels = heavy}, {.node_name = "b1", .labels = heavy}};
    ns_test_cluster two = cluster(pods, 3);
    two.args = "{\"limit\": 2}";
    NS_CHECK_REJECTED(two, "a1: " REASON, "a2: " REASON);
    NS_CHECK(strstr(ns_test_refused("{\"limit\": 0}"), "limit: ") != NULL);
}
