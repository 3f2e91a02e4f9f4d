package nodesift_test

import (
	"errors"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func TestHeadroomIsWhatNoPodTakesOfTheNode(t *testing.T) {
	client := dial(t, smallCluster(t).target())
	room, err := client.Headroom(t.Context(), nodesift.PodUID("uid-victim-1"), map[string]int64{"cpu": 400, "memory": 1})
	if err != nil {
		t.Fatal(err)
	}
	if cpu := room.Resources["cpu"]; room.Node != "full" || cpu != (nodesift.Room{Allocatable: 2000, Taken: 500, Free: 250, Fits: 250}) {
		t.Errorf("%+v", room)
	}
	if memory := room.Resources["memory"]; memory.Fits != 1 || memory.Free != memory.Allocatable {
		t.Errorf("%+v", memory)
	}
	if _, err := client.Assume(t.Context(), nodesift.PodUID("uid-web"), "full"); err != nil {
		t.Fatal(err)
	}
	room, err = client.Headroom(t.Context(), nodesift.PodName("default", "victim-1"), map[string]int64{"cpu": 400})
	if cpu := room.Resources["cpu"]; err != nil || cpu.Free != -1250 || cpu.Fits != 0 {
		t.Errorf("%+v, %v", room, err)
	}
	if _, err := client.Headroom(t.Context(), nodesift.PodUID("nobody"), nil); !errors.Is(err, nodesift.ErrNotFound) {
		t.Errorf("a pod that is not there: %v", err)
	}
	if _, err := client.Headroom(t.Context(), nodesift.PodUID("uid-web"), map[string]int64{"cpu": -1}); !errors.Is(err, nodesift.ErrInvalid) {
		t.Errorf("a decrease: %v", err)
	}
}
