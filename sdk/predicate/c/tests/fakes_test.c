// The functions of tests are all of those of the contract, and say what objects say.
#include <string.h>

#include "nodesift_test.h"
#include "predicate.h"

static const ns_pod_owner_owner web = {NS_STATIC("apps/v1"), NS_STATIC("ReplicaSet"), NS_STATIC("web")};
static ns_test_cluster occupied;

static void evaluate(void (*question)(void)) {
    static ns_test_node nodes[3];
    static ns_test_pod pods[3];
    nodes[0] = (ns_test_node){.name = "a", .allocatable = NS_AMOUNTS({"cpu", 4000}), .requested = NS_AMOUNTS({"cpu", 500})};
    nodes[1] = (ns_test_node){.name = "b", .pods = 2, .sums = NS_AMOUNTS({"watts", 7})};
    nodes[2] = (ns_test_node){.name = "c"};
    pods[0] = (ns_test_pod){.node_name = "a", .labels = NS_PAIRS({"app", "web"}), .requests = NS_AMOUNTS({"cpu", 1000}),
                            .controller = &web, .host_ports = NS_PORTS(80)};
    pods[1] = (ns_test_pod){.node_name = "a", .labels = NS_PAIRS({"app", "db"}), .namespace_name = "prod",
                            .namespace_labels = NS_PAIRS({"app", "x"}), .scheduler_name = "other"};
    pods[2] = (ns_test_pod){.node_name = "c", .labels = NS_PAIRS({"app", "web"}), .requests = NS_AMOUNTS({"cpu", 200}),
                            .controller = &web, .terminating = true};
    occupied = (ns_test_cluster){
        .pod = {.labels = NS_PAIRS({"app", "web"}, {"team", "a"}), .controller = &web, .host_ports = NS_PORTS(80)},
        .nodes = nodes, .count = 3, .pods = pods, .pod_count = 3, .is_cluster_wide = true,
        .device_class_resources = NS_NAMES("example.com/gpu"), .args = "{\"way\": \"asked\"}"};
    ask = question;
    NS_CHECK_REJECTED(occupied, NULL);
}

#define COLUMN(column, a, b, c)                                                                                        \
    NS_CHECK((column).length == 3 && (column).items[0] == (a) && (column).items[1] == (b) && (column).items[2] == (c))

static void columns(void) {
    COLUMN(ns_node_resources_requested(NS("cpu")), 1500, 0, 200);
    COLUMN(ns_node_resources_free(NS("cpu")), 2500, 0, -200);
    COLUMN(ns_node_resources_foreign(NS("cpu")), 0, 0, 0);
    COLUMN(ns_node_resources_pods(), 3, 2, 1);
    COLUMN(ns_node_resources_foreign_pods(), 1, 0, 0);
    COLUMN(ns_node_resources_pod_room(), 107, 108, 109);
    COLUMN(ns_node_sums_column(NS("watts")), 0, 7, 0);
    COLUMN(ns_node_ports_conflicts().value, 1, 0, 0);
    NS_CHECK(ns_node_ports_conflicts().is_some);
    NS_CHECK(ns_node_resources_device_class_serves(NS("example.com/gpu")) && !ns_node_resources_device_class_serves(NS("cpu")));
}

NS_TEST(pods_on_nodes_are_in_the_columns_of_their_nodes) { evaluate(columns); }

static ns_list_cluster_pods_pod_selector in(const char *namespace_name, uint8_t operator_, const char *value) {
    static ns_text namespaces, values;
    static ns_selectors_requirement requirement;
    static ns_cluster_pods_pod_selector selector;
    namespaces = namespace_name == NULL ? NS("") : (ns_text){namespace_name, strlen(namespace_name)};
    values = (ns_text){value, strlen(value)};
    requirement = (ns_selectors_requirement){.key = NS_STATIC("app"), .operator_ = operator_, .values = {&values, 1}};
    selector = (ns_cluster_pods_pod_selector){
        .namespaces = {&namespaces, namespace_name != NULL}, .namespace_requirements.is_some = namespace_name == NULL,
        .requirements = {&requirement, 1}};
    return (ns_list_cluster_pods_pod_selector){&selector, 1};
}

static void counts(void) {
    COLUMN(ns_cluster_pods_matching(in("default", NS_SELECTORS_OPERATOR_IN, "web"), false), 1, 0, 0);
    COLUMN(ns_cluster_pods_matching(in("default", NS_SELECTORS_OPERATOR_IN, "web"), true), 1, 0, 1);
    COLUMN(ns_cluster_pods_matching(in(NULL, NS_SELECTORS_OPERATOR_NOT_IN, "web"), true), 2, 2, 0);
    COLUMN(ns_cluster_pods_matching(in("default", NS_SELECTORS_OPERATOR_DOES_NOT_EXIST, ""), true), 1, 2, 0);
    COLUMN(ns_cluster_pods_requested(in(NULL, NS_SELECTORS_OPERATOR_EXISTS, ""), NS("cpu"), true), 1000, 0, 200);
    NS_CHECK(ns_cluster_pods_matches_this_pod(in("default", NS_SELECTORS_OPERATOR_EXISTS, "")));
    NS_CHECK(!ns_cluster_pods_matches_this_pod(in("prod", NS_SELECTORS_OPERATOR_EXISTS, "")));
    COLUMN(ns_cluster_controllers_same_controller(false).value, 1, 0, 0);
    COLUMN(ns_cluster_controllers_same_controller(true).value, 1, 0, 1);
    NS_CHECK(ns_equal(ns_pod_owner_controller_uid().value, NS("default/ReplicaSet/web")));
}

NS_TEST(pods_are_counted_by_selectors_and_controllers) { evaluate(counts); }

static void nothing(void) {
    COLUMN(ns_cluster_attachments_limit(NS("driver")), INT64_MAX, INT64_MAX, INT64_MAX);
    COLUMN(ns_cluster_attachments_used(NS("driver")), 0, 0, 0);
    ns_node_devices_device_columns devices = ns_node_devices_devices((ns_node_devices_query){0});
    COLUMN(devices.codes, 0, 0, 0);
    NS_CHECK(devices.situations.length == 1 && devices.situations.items[0].tag == NS_NODE_DEVICES_SITUATION_POOLS);
    NS_CHECK(ns_node_features_sets().length == 1 && ns_node_features_sets().items[0].length == 0);
    NS_CHECK(!ns_pod_claims_claims().is_error && !ns_cluster_storage_default_class().is_some);
    NS_CHECK(ns_pod_volumes_volumes().length == 0 && ns_equal(ns_pod_volumes_owner().part_1, NS("pod")));
}

NS_TEST(of_what_objects_do_not_say_there_is_nothing) { evaluate(nothing); }
