// The functions of tests are all of those of the contract, and say what objects say.
#include <stdio.h>
#include <string.h>

#include "nodesift_test_state.h"
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

static bool requests(const char *expected) {
    char text[200] = "";
    ns_list_pod_resources_request all = ns_pod_non_zero_requests_requests();
    for (size_t index = 0; index < all.length; index++) {
        ns_pod_resources_request one = all.items[index];
        snprintf(text + strlen(text), 60, "%.*s %lld;", (int)one.resource.length, one.resource.data, (long long)one.amount);
    }
    return strcmp(text, expected) == 0;
}

static void non_zero(void) {
    NS_CHECK(requests("cpu 100;memory 209715200;"));
    COLUMN(ns_node_non_zero_requests_requested(NS("cpu")), 1600, 200, 200);
    COLUMN(ns_node_non_zero_requests_requested(NS("memory")), 3 * 209715200LL, 2 * 209715200LL, 209715200);
    COLUMN(ns_node_non_zero_requests_requested(NS("example.com/gpu")), 0, 0, 0);
    // Those of other pods are the same.
    ns_running.cluster.pod.images = NS_NAMES("b", "registry:5000/a", "c:v1", "d@sha256:1");
    ns_running.cluster.pod.requests = NS_AMOUNTS({"cpu", 0}, {"example.com/gpu", 1});
    NS_CHECK(requests("cpu 300;example.com/gpu 1;memory 838860800;"));
}

NS_TEST(requests_count_with_those_of_containers_that_name_none) { evaluate(non_zero); }

static void image_of_none(void) {
    ns_list_text used = ns_pod_images_containers(), named = ns_pod_spec_images();
    NS_CHECK(used.length == 1 && ns_equal(used.items[0], NS("image:latest")));
    NS_CHECK(named.length == 1 && ns_equal(named.items[0], NS("image")));
}

NS_TEST(a_pod_without_images_has_one_container) { evaluate(image_of_none); }

static void images(void) {
    ns_list_text all = ns_pod_images_containers();
    NS_CHECK(all.length == 4 && ns_equal(all.items[0], NS("b:latest")) && ns_equal(all.items[1], NS("registry:5000/a:latest")));
    NS_CHECK(ns_equal(all.items[2], NS("c:v1")) && ns_equal(all.items[3], NS("d@sha256:1")));
    NS_CHECK(ns_cluster_images_size(NS("x")) == 0 && ns_cluster_images_size(NS("y")) == 7 && ns_cluster_images_size(NS("z")) == 0);
    NS_CHECK(ns_node_images_present(NS("y")).items[0] == 0 && ns_node_images_present(NS("y")).items[1] == 1);
    NS_CHECK(ns_cluster_candidates_feasible().items[0] == 1);
}

NS_TEST(images_have_tags_and_the_size_of_the_first_node) {
    ask = images;
    ns_test_node nodes[] = {{.name = "a", .images = NS_NAMES("x"), .infeasible = true}, {.name = "b", .image_sizes = NS_AMOUNTS({"x", 5}, {"y", 7})}};
    ns_test_cluster cluster = {
        .pod = {.labels = NS_PAIRS({"team", "a"}), .images = NS_NAMES("b", "registry:5000/a", "c:v1", "d@sha256:1")},
        .nodes = nodes, .count = 2, .is_cluster_wide = true, .args = "{\"way\": \"asked\"}"};
    NS_CHECK_REJECTED(cluster, NULL);
}

#define TERM(key) {.selector = {true, is_web}, .topology_key = NS_STATIC(key)}
#define IS(list, a, b) ((list).length == 2 && (list).items[0] == (a) && (list).items[1] == (b))

static void terms(void) {
    ns_list_text keys = ns_cluster_preferences_topology_keys();
    NS_CHECK(keys.length == 2 && ns_equal(keys.items[0], NS("host")) && ns_equal(keys.items[1], NS("zone")));
    NS_CHECK(IS(ns_cluster_preferences_weights(NS("zone")), -2, -2));
    NS_CHECK(IS(ns_cluster_preferences_preferred_terms(NS("zone")), 2, 1));
    NS_CHECK(IS(ns_cluster_preferences_required_terms(NS("host")), 1, 0));
    NS_CHECK(IS(ns_cluster_preferences_required_terms(NS("zone")), 0, 0));
    NS_CHECK(IS(ns_cluster_affinity_anti_affinity_terms(NS("zone")), 0, 1));
    NS_CHECK(ns_cluster_affinity_topology_keys().length == 1);
    NS_CHECK(ns_pod_affinity_affinity().length == 1 && ns_pod_preferred_affinity_affinity().items[0].part_0 == 9);
    NS_CHECK(ns_pod_placement_preferred_terms().value.items[0].weight == 3);
}

NS_TEST(terms_of_pods_on_nodes_count_where_they_are_about_the_pod) {
    ask = terms;
    ns_tuple_text_text label = {NS_STATIC("app"), NS_STATIC("web")};
    ns_text db = NS_STATIC("db");
    ns_selectors_requirement requirement = {.key = NS_STATIC("app"), .operator_ = NS_SELECTORS_OPERATOR_IN, .values = {&db, 1}};
    ns_selectors_label_selector is_web = {.match_labels = {&label, 1}}, is_db = {.match_expressions = {&requirement, 1}};
    ns_pod_affinity_term host[] = {TERM("host"), {.topology_key = NS_STATIC("zone")}};
    ns_pod_affinity_term anti[] = {TERM("host"), TERM("zone")};
    anti[1].namespace_selector = (ns_option_selectors_label_selector){true, is_db};
    ns_tuple_s32_pod_affinity_term own = {9, TERM("own")}, preferred[] = {{5, TERM("zone")}, {40, TERM("zone")}};
    preferred[1].part_1.selector.value = is_db;
    ns_tuple_s32_pod_affinity_term away = {7, TERM("zone")}, far[] = {{60, TERM("zone")}, {2, TERM("zone")}};
    far[1].part_1.namespace_selector = anti[1].namespace_selector;
    ns_pod_placement_preferred_term node = {.weight = 3};
    ns_test_node nodes[] = {{.name = "a"}, {.name = "b"}};
    ns_test_pod pods[] = {
        {.node_name = "a", .affinity = {host, 2}, .preferred_affinity = {preferred, 2}, .preferred_anti_affinity = {&away, 1}},
        // It is in another namespace, which its first terms are about.
        {.node_name = "b", .namespace_name = "prod", .anti_affinity = {anti, 2}, .preferred_anti_affinity = {far, 2}},
    };
    ns_test_cluster cluster = {
        .pod = {.labels = NS_PAIRS({"app", "web"}, {"team", "a"}), .namespace_labels = NS_PAIRS({"app", "db"}), .affinity = {host, 1},
                .preferred_affinity = {&own, 1}, .preferred_nodes = {true, {&node, 1}}},
        .nodes = nodes, .count = 2, .pods = pods, .pod_count = 2, .is_cluster_wide = true, .args = "{\"way\": \"asked\"}"};
    NS_CHECK_REJECTED(cluster, NULL);
}

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
