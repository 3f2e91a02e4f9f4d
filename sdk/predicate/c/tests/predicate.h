// The arguments of the predicate under test.
#include "nodesift.h"

struct inside {
    ns_text key;
};

struct args {
    ns_text way, label;
    bool flag;
    int64_t count, any;
    ns_list_text list;
    struct inside inside;
};

// The arguments of the last evaluation.
extern struct args seen;
// What the way `asked` does.
extern void (*ask)(void);
