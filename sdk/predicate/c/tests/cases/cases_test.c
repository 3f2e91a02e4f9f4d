#include <stdlib.h>

#include "nodesift_test.h"

NS_CASES(getenv("CASES"))
