package main

import (
	"testing"

	"github.com/nodesift/nodesift/sdk/predicate/go/nodesifttest"
)

func TestCases(t *testing.T) { nodesifttest.Cases(t, ScoreFacts, nodesifttest.CasesFile) }
