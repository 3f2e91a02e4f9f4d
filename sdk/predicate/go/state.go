package nodesift

import "github.com/nodesift/nodesift/sdk/predicate/go/facts"

// Facts that are about neither the pod nor a node.

// Passed says whether a moment, in seconds since 1970, has passed. Reads time.
func Passed(at int64) bool { return facts.TimePassed(at) }

// ConfigEntry gives the value of a key of a ConfigMap, `namespace/name`, that the policy lists. Reads config-maps.
func ConfigEntry(configMap, key string) (string, bool) { return facts.ConfigMapsEntry(configMap, key) }
