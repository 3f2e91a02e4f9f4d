// A predicate that does what the sandbox lacks, and what goes wrong: one of them, which its argument names.
package main

import (
	"fmt"
	"log"
	"log/slog"
	"math/rand"
	"net"
	"os"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
)

type Args struct {
	Does string `json:"does"`
}

var kept [][]byte

func deep(n int) int { return deep(n+1) + 1 }

func filter(pod *nodesift.Pod, nodes *nodesift.Nodes, args *Args) *nodesift.Failure {
	switch args.Does {
	case "print":
		fmt.Println("printed", pod.Namespace())
	case "log":
		nodesift.LogInfo("logged")
	case "log.Print":
		log.Print("by log")
	case "slog.Info":
		slog.Info("by slog", "pod", pod.Namespace())
	case "clock":
		time.Now()
	case "random":
		rand.Int()
	case "file":
		os.ReadFile("/etc/hostname")
	case "network":
		net.Dial("tcp", "localhost:1")
	case "environment":
		if _, isSet := os.LookupEnv("HOME"); isSet || os.Getenv("HOME") != "" {
			panic("a variable")
		}
	case "exit":
		os.Exit(3)
	case "exception":
		panic("mine")
	case "index":
		var none []int
		none[nodes.Count()]++
	case "loop":
		for {
		}
	case "memory":
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "stack":
		deep(0)
	case "deadlock":
		<-make(chan int)
	}
	return nil
}

// Packages read both in their initialisers: these end no build.
var startedAt, home = time.Now(), os.Getenv("HOME")

func init() {
	if startedAt.Unix() != 1 || home != "" {
		panic("an initialiser sees what a machine has")
	}
	nodesift.Export(nodesift.Predicate[Args]{Name: "Cells", Summary: "does what the sandbox lacks", Filter: filter})
}

func main() {}
