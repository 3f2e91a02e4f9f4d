#include <string.h>

#include "nodesift_test.h"

#define OLD "node(s) had an older kernel than the pod needs"
#define UNREADABLE "node(s) had a kernel version that cannot be read"
#define NOT_A_VERSION "the pod's kernel version is not like 6, 6.6 or 6.6.12"
#define NODE(text) {.name = text, .info = {[NS_NODE_INFO_FIELD_KERNEL_VERSION] = text}}

static const ns_test_node nodes[] = {NODE("5.15.0-1051-aws"), NODE("6.6"), NODE("6.6.12-1-amd64"), NODE("6.12.0.el10")};

static ns_test_cluster cluster(const char *kernel) {
    static ns_pair annotations[2];
    annotations[0] = (ns_pair){"example.com/kernel", kernel};
    return (ns_test_cluster){.pod = {.annotations = annotations}, .nodes = nodes, .count = 4};
}

NS_TEST(numbers_are_compared_and_not_texts) {
    NS_CHECK_REJECTED(cluster("6.6"), "5.15.0-1051-aws: " OLD);
    NS_CHECK_REJECTED(cluster("6.6.3"), "5.15.0-1051-aws: " OLD, "6.6: " OLD);
    NS_CHECK_REJECTED(cluster("6.9"), "5.15.0-1051-aws: " OLD, "6.6: " OLD, "6.6.12-1-amd64: " OLD);
    NS_CHECK_REJECTED(cluster("5"), NULL);
}

NS_TEST(a_pod_without_the_annotation_fits_everywhere) {
    ns_test_cluster all = {.nodes = nodes, .count = 4};
    NS_CHECK_REJECTED(all, NULL);
}

NS_TEST(a_version_of_a_pod_that_cannot_be_read_is_said) {
    static const char *const texts[] = {"", "six", "6.", "6.6-rc1", "6.6.6.6", ".6", "99999999999"};
    for (size_t text = 0; text < sizeof(texts) / sizeof(*texts); text++) {
        const char *rejected = ns_test_rejected(cluster(texts[text]));
        NS_CHECK(strstr(rejected, "6.6: " NOT_A_VERSION) != NULL);
    }
}

NS_TEST(a_node_whose_kernel_cannot_be_read_is_rejected) {
    static const ns_test_node odd[] = {NODE("custom"), {.name = "none"}, NODE("6.12")};
    ns_test_cluster all = {.pod = {.annotations = NS_PAIRS({"example.com/kernel", "6"})}, .nodes = odd, .count = 3};
    NS_CHECK_REJECTED(all, "custom: " UNREADABLE, "none: " UNREADABLE);
}

NS_TEST(the_annotation_is_an_argument) {
    ns_test_cluster other = {.pod = {.annotations = NS_PAIRS({"kernel", "6.7"})}, .nodes = nodes, .count = 2,
                             .args = "{\"annotation\": \"kernel\"}"};
    NS_CHECK_REJECTED(other, "5.15.0-1051-aws: " OLD, "6.6: " OLD);
    NS_CHECK(strstr(ns_test_refused("{\"annotation\": \"\"}"), "annotation: ") != NULL);
}
