#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nodesift_test.h"
#include "predicate.h"

#define REFUSED(args, reason)                                                                                      \
    do {                                                                                                           \
        const char *refused = ns_test_refused(args);                                                               \
        if (refused == NULL || strncmp(refused, reason, strlen(reason)) != 0) {                                    \
            printf("%s: %s\n", args, refused == NULL ? "accepted" : refused);                                      \
            NS_CHECK(!"refused with " reason);                                                                     \
        }                                                                                                          \
    } while (0)

NS_TEST(arguments_are_refused_with_their_path) {
    REFUSED("{\"lable\": 1}", "lable: unknown field `lable`, expected `way`, `label`, `flag`");
    REFUSED("{\"label\": 3}", "label: expected a string, not 3");
    REFUSED("{\"label\": \"\"}", "label: must not be empty");
    REFUSED("{\"flag\": 0}", "flag: expected true or false, not 0");
    REFUSED("{\"count\": 1.5}", "count: expected an integer, not 1.5");
    REFUSED("{\"count\": 101}", "count: must be at most 100, not 101");
    REFUSED("{\"count\": -4}", "count: must be at least -3, not -4");
    REFUSED("{\"count\": 99}", "count: 99 is taken");
    REFUSED("{\"any\": 9223372036854775808}", "any: expected an integer, not 9223372036854775808");
    REFUSED("{\"list\": \"a\"}", "list: expected a list, not \"a\"");
    REFUSED("{\"list\": [ ]}", "list: must not be empty");
    REFUSED("{\"list\": [\"a\", {\"b\": [null]}]}", "list[1]: expected a string, not {\"b\": [null]}");
    REFUSED("{\"inside\": {}}", "inside.key: missing");
    REFUSED("{\"inside\": {\"key\": null}}", "inside.key: missing");
    REFUSED("{\"inside\": {\"key\": \"a\", \"b\": 1}}", "inside.b: unknown field `b`, expected `key`");
    REFUSED("{\"flag\": \"éééééééééééééééééééééééééé\"}", "flag: expected true or false, not \"ééééééééééééééééééé…");
    REFUSED("[]", "expected an object, not []");
    REFUSED("", "the arguments are not JSON");
    REFUSED("{", "the arguments are not JSON");
    REFUSED("{} x", "the arguments are not JSON");
    REFUSED("{\"label\": \"a}", "the arguments are not JSON");
    REFUSED("{\"label\": \"\\ud800\"}", "the arguments are not JSON");
    REFUSED("{\"label\": \"\\ud83d \\ude00\"}", "the arguments are not JSON");
    REFUSED("{\"label\": \"\\ud83d\\n\"}", "the arguments are not JSON");
    REFUSED("{\"label\": \"\\ud83d\\u0041\"}", "the arguments are not JSON");
}

static void see(const char *args) {
    ns_test_cluster cluster = {.args = args};
    ns_test_rejected(cluster);
}

NS_TEST(arguments_are_read_over_their_defaults) {
    see("{\"label\": null}");
    NS_CHECK(ns_equal(seen.label, NS("team")) && seen.count == 7 && !seen.flag && seen.list.length == 0);
    see(" { \"label\" : \"a\\n\\u00e9\\ud83d\\ude00\\/\" , \"flag\":true,\"count\":-3, \"any\": -9223372036854775808,"
        "\"list\":[\"a\",\"\"],\"inside\":{\"key\":\"k\"}}");
    NS_CHECK(ns_equal(seen.label, NS("a\né😀/")) && seen.flag && seen.count == -3 && seen.any == INT64_MIN);
    NS_CHECK(seen.list.length == 2 && ns_equal(seen.list.items[0], NS("a")) && ns_equal(seen.inside.key, NS("k")));
}

// Numbers from a seed, which is printed.
static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

static void seed(void) {
    const char *given = getenv("NODESIFT_SEED");
    state = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    printf("NODESIFT_SEED=%llu ", (unsigned long long)state);
}

NS_TEST(of_broken_arguments_no_byte_beyond_their_end_is_read) {
    seed();
    const char whole[] = "{\"label\": \"a\\u00e9\", \"flag\": true, \"count\": 3, \"list\": [\"a\"], \"inside\": {\"key\": \"k\"}}";
    for (int round = 0; round < 20000; round++) {
        size_t length = below(sizeof whole);
        // A copy of its size and without a zero: the checks of memory find a read beyond its end.
        char *exact = malloc(length);
        memcpy(exact, whole, length);
        if (length > 0) {
            for (uint32_t changes = below(4); changes > 0; changes--) {
                exact[below((uint32_t)length)] = "\"\\{}[],:x0-u\xc3"[below(13)];
            }
        }
        const void *ignored;
        ns_configure(&nodesift_predicate, (ns_text){exact, length}, &ignored);
        free(exact);
    }
}

NS_TEST(the_ways_of_looking_at_nodes_say_the_same) {
    seed();
    const char *const teams[] = {"red", "blue", "green"};
    size_t rejections = 0;
    for (int round = 0; round < 200; round++) {
        ns_test_node nodes[12] = {0};
        char names[12][24];
        size_t count = below(12);
        const char *team = teams[below(3)];
        char expected[600] = "";
        for (size_t row = 0; row < count; row++) {
            snprintf(names[row], sizeof names[row], "n%zu", row);
            uint32_t own = below(4);
            ns_pair *labels = calloc(2, sizeof *labels);
            if (own < 3) labels[0] = (ns_pair){"team", teams[own]};
            nodes[row] = (ns_test_node){.name = names[row], .labels = labels};
            if (own < 3 && strcmp(teams[own], team) == 0) continue;
            rejections++;
            snprintf(expected + strlen(expected), 40, "%s%s: other team", *expected ? "\n" : "", names[row]);
        }
        const char *const ways[] = {"{\"way\": \"columns\"}", "{\"way\": \"sets\"}", "{\"way\": \"texts\"}"};
        for (int way = 0; way < 3; way++) {
            ns_test_cluster cluster = {.pod = {.labels = NS_PAIRS({"team", team})}, .nodes = nodes, .count = count, .args = ways[way]};
            NS_CHECK_REJECTED(cluster, *expected ? expected : NULL);
        }
    }
    NS_CHECK(rejections > 0);
}

NS_TEST(a_pod_can_fit_no_node) {
    ns_test_node nodes[] = {{.name = "a"}, {.name = "b"}};
    ns_test_cluster cluster = {.pod = {.labels = NS_PAIRS({"team", "x"})}, .nodes = nodes, .count = 2, .args = "{\"way\": \"?\"}"};
    NS_CHECK_REJECTED(cluster, "a: no such way", "b: no such way");
}

NS_TEST(moments_and_config_maps_are_those_of_the_test) {
    ns_test_node nodes[] = {{.name = "a"}};
    ns_test_cluster cluster = {
        .pod = {.labels = NS_PAIRS({"team", "red"})}, .nodes = nodes, .count = 1, .args = "{\"way\": \"state\"}",
        .now = 100, .entries = NS_ENTRIES({"ops/teams", "red", "closed"})};
    NS_CHECK_REJECTED(cluster, "a: other team");
    cluster.now = 99;
    NS_CHECK_REJECTED(cluster, NULL);
    cluster.now = 100;
    cluster.entries = NS_ENTRIES({"ops/teams", "blue", "closed"}, {"ops/other", "red", "closed"});
    NS_CHECK_REJECTED(cluster, NULL);
}

// Another predicate: as many failures as rows, in the form per node.
static const ns_failure *many(ns_nodes *nodes, uint32_t row, const void *args) {
    (void)args, (void)nodes;
    char *reason = ns_alloc(16);
    ns_text *text = ns_alloc(sizeof *text);
    *text = (ns_text){reason, (size_t)snprintf(reason, 16, "reason %u", row)};
    ns_failure *made = ns_alloc(sizeof *made);
    *made = (ns_failure){NS_PREDICATE_STATUS_UNSCHEDULABLE, {text, 1}};
    return made;
}

NS_TEST(failures_beyond_the_limit_keep_their_status) {
    const ns_predicate predicate = {.name = "Many", .filter_node = many};
    for (int round = 0; round < 2; round++) {
        ns_predicate_verdict verdict = ns_run(&predicate, NULL, 1000);
        NS_CHECK(verdict.tag == NS_PREDICATE_VERDICT_BY_ROW && verdict.by_row.failures.length == 256);
        uint16_t last = verdict.by_row.codes.items[999];
        const ns_failure *failure = &verdict.by_row.failures.items[last - 1];
        NS_CHECK(last == 256 && failure->status == NS_PREDICATE_STATUS_UNSCHEDULABLE);
        NS_CHECK(strncmp(failure->reasons.items[0].data, "reasons left out", 16) == 0);
    }
}
