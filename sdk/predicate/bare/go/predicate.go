// Package export_nodesift_predicate_predicate is TeamIsolation with wit-bindgen, under the name that the generated code imports: a pod with
// the label runs only on nodes that have the same label with the same value.
package export_nodesift_predicate_predicate

import (
	"encoding/json"

	witTypes "go.bytecodealliance.org/pkg/wit/types"

	"wit_component/nodesift_predicate_node_labels"
	"wit_component/nodesift_predicate_pod_labels"
	. "wit_component/nodesift_predicate_predicate"
)

var (
	key       = "example.com/team"
	otherTeam = Failure{Status: StatusUnschedulableAndUnresolvable, Reasons: []string{"node(s) didn't belong to the pod's team"}}
)

func Describe() Descriptor {
	return Descriptor{Name: "TeamIsolation", Version: "0.1.0", Summary: "rejects nodes that belong to another team than the pod"}
}

func Configure(args string) witTypes.Result[witTypes.Unit, string] {
	refused := func(text string) witTypes.Result[witTypes.Unit, string] {
		return witTypes.Err[witTypes.Unit, string](text)
	}
	var given map[string]any
	if err := json.Unmarshal([]byte(args), &given); err != nil {
		return refused(err.Error())
	}
	for name, value := range given {
		if name != "label" {
			return refused(name + ": unknown field")
		}
		label, isText := value.(string)
		if !isText || label == "" {
			return refused("label: must be a text that is not empty")
		}
		key = label
	}
	return witTypes.Ok[witTypes.Unit, string](witTypes.Unit{})
}

func Filter(rows uint32) Verdict {
	team := nodesift_predicate_pod_labels.Label(key)
	if team.IsNone() {
		return MakeVerdictFitsAll()
	}
	// A column has a code per row, and equal texts have equal codes. No code: no node has it.
	wanted := nodesift_predicate_node_labels.Code(key, team.Some())
	codes := make([]uint16, rows)
	for row, code := range nodesift_predicate_node_labels.Column(key) {
		if wanted.IsNone() || code != wanted.Some() {
			codes[row] = 1
		}
	}
	return MakeVerdictByRow(Outcome{Codes: codes, Failures: []Failure{otherTeam}})
}
