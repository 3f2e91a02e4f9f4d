// A predicate that does what goes wrong: one of these, which its argument names. What the sandbox lacks does not compile: there is no C library.
#include "nodesift.h"

struct args {
    ns_text does;
};
static const ns_field fields[] = {NS_ARG_TEXT(struct args, does), NS_END};
static const struct args defaults = {.does = NS_STATIC("")};

// With a frame that is read after the call, which no compiler turns into a loop.
__attribute__((noinline)) static int deep(int n) {
    volatile int frame[16] = {0};
    frame[n & 15] = n;
    return deep(n + 1) + frame[n & 15];
}

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    volatile int kept = 0;
    if (ns_equal(args->does, NS("log"))) ns_log_info(NS("logged"));
    if (ns_equal(args->does, NS("exit"))) ns_panic(NS("the end"));
    if (ns_equal(args->does, NS("exception"))) NS_ASSERT(nodes->count > 1000);
    if (ns_equal(args->does, NS("index"))) kept = *(volatile int *)0x7fffff00;
    while (ns_equal(args->does, NS("loop"))) kept = kept + 1;
    while (ns_equal(args->does, NS("memory"))) ns_alloc(1 << 20);
    if (ns_equal(args->does, NS("stack"))) kept = deep(0);
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "Cells", .version = "1", .summary = "does what goes wrong",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults, .filter = filter);
