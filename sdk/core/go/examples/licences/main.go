// Licences is a licence server with a number of seats: licences SOCKET SEATS FILE.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strconv"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// server knows which call has which seat, by the id of the call: what was allocated is asked for, and given back, by that.
type server struct {
	seats int
	file  string
	taken map[uint64]string
}

// keep writes the seats down before anybody is told: a server that forgets one has sold it twice.
func (s *server) keep(what string) {
	text, err := json.Marshal(s.taken)
	if err == nil {
		err = os.WriteFile(s.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(s.file+".new", s.file)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d of %d seats are taken\n", what, len(s.taken), s.seats)
}

// Ask names the nodes that do not suit. A seat is good on every node.
func (s *server) Ask(to *nodesift.Attendance, ask *nodesiftv1.Ask) {
	answer := &nodesiftv1.Answer{Id: ask.GetId()}
	if len(s.taken) >= s.seats {
		for _, node := range append(ask.GetNodes(), ask.GetRecheck()...) {
			answer.Nodes = append(answer.Nodes, &nodesiftv1.Unsuitable{Node: node, Reason: "no free seat"})
		}
	}
	_ = to.Answer(answer) // Where it fails, the stream has ended, and the question comes again.
}

// Allocate gives the pod a seat, unless the call has one already.
func (s *server) Allocate(to *nodesift.Attendance, call *nodesiftv1.Allocate) {
	if _, has := s.taken[call.GetId()]; !has {
		if len(s.taken) >= s.seats {
			_ = to.Failed(call, "no free seat", call.GetNodes()...)
			return
		}
		s.taken[call.GetId()] = call.GetPod().GetNamespace() + "/" + call.GetPod().GetName()
		s.keep(s.taken[call.GetId()] + " takes a seat")
	}
	_ = to.Allocated(call, call.GetNodes()...)
}

// Deallocate takes a seat back, and whoever was told that none is free is told otherwise.
func (s *server) Deallocate(to *nodesift.Attendance, call *nodesiftv1.Deallocate) {
	if pod, has := s.taken[call.GetId()]; has {
		delete(s.taken, call.GetId())
		s.keep(pod + " gives its seat back")
		_ = to.Invalidate("")
	}
	_ = to.Deallocated(call.GetId())
}

// Withdraw needs nothing: every call is answered before the next one is read.
func (s *server) Withdraw(*nodesift.Attendance, uint64) {}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: licences SOCKET SEATS FILE")
	}
	seats, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	s := &server{seats: seats, file: os.Args[3], taken: map[uint64]string{}}
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = json.Unmarshal(text, &s.taken)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Fatal(err)
	}
	client, err := nodesift.Dial("unix://" + os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for {
		fmt.Println("not attending:", client.Attend(context.Background(), "licences", s))
		time.Sleep(time.Second) // What was asked meanwhile is asked again.
	}
}
