#include "nodesift_test.h"

NS_CASES("cases.yaml")
