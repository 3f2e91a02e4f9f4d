// A rule that keeps pods off nodes under maintenance, with the mistake that its argument names.
package main

import (
	"fmt"
	"strings"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
)

type Args struct {
	Mistake string `json:"mistake"`
}

var Mistakes = nodesift.Predicate[Args]{
	Name: "Mistakes", Version: "0.1.0", Summary: "rejects nodes that are under maintenance", Filter: filter,
}

var maintenance = nodesift.Unresolvable("node(s) were under maintenance")

var kept [][]byte

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	key := "example.com/maintenance"
	switch args.Mistake {
	case "misspelt key":
		key = "example.com/maintenence"
	case "clock":
		if time.Now().Hour() < 6 {
			return maintenance
		}
	case "print":
		fmt.Println("looking at", pod.Namespace())
	case "too much memory":
		for row := range nodes.Count() {
			kept = append(kept, make([]byte, 1024+row%2))
		}
	case "nondeterministic order":
		// Whichever node comes first in a map, of which Go chooses the order anew each time.
		first := map[int]bool{}
		for row := range nodes.Count() {
			first[row] = true
		}
		for row := range first {
			nodes.RejectRow(row, maintenance)
			return nil
		}
	}
	windows := nodes.Annotations(key)
	zones := nodes.Labels("zone")
	for row := range nodes.Count() {
		if args.Mistake == "trap on one odd node" {
			if zone, isThere := zones.Text(row); isThere && strings.Split(zone, "-")[1] == "z" {
				nodes.RejectRow(row, maintenance)
			}
		}
		if args.Mistake == "quadratic rule" {
			same := 0
			for other := range nodes.Count() {
				if zones.Codes[other] == zones.Codes[row] {
					same++
				}
			}
			if same == 0 {
				nodes.RejectRow(row, maintenance)
			}
		}
		if text, isThere := windows.Text(row); isThere && text == "now" {
			nodes.RejectRow(row, maintenance)
		}
	}
	return nil
}

func init() { nodesift.Export(Mistakes) }

func main() {}
