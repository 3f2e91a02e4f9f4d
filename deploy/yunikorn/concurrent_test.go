package yunikorn_test

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
)

// The core calls Predicates from one goroutine and PreemptionPredicates from ten; placements come between them.
func TestManyGoroutinesCanCall(t *testing.T) {
	f, client := startFake(t, 30)
	m := newManager(client, &own{}, yunikorn.Options{})
	var group sync.WaitGroup
	failed := make(chan string, 100)
	for worker := range 10 {
		group.Go(func() {
			of := pod(fmt.Sprint("p", worker), "5")
			for turn := range 50 {
				row := (worker + turn) % 10 * 3
				switch turn % 5 {
				case 0:
					m.AssumePod(of, f.nodes[row])
				case 1:
					m.ForgetPod(string(of.UID))
				case 2:
					if index := m.PreemptionPredicates(of, info(f.nodes[row], "900"), []*v1.Pod{of, of}, 0); index != 1 {
						failed <- fmt.Sprint("index ", index)
					}
				default:
					// Only what no placement changes.
					if plugin, err := m.Predicates(of, info(f.nodes[row+1], "900"), true); plugin != "NodeResourcesFit" || err == nil {
						failed <- fmt.Sprint(plugin, err)
					}
				}
			}
		})
	}
	group.Wait()
	close(failed)
	for text := range failed {
		t.Error(text)
	}
	untilDelivered(t, m)
	expect(t, "placed at the end", len(f.placements()), 0)
	expect(t, "answered by the own manager", m.Counts().Own, 0)
}

func TestALookupAllocatesNothing(t *testing.T) {
	_, client := startFake(t, 30)
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: aLongTime})
	web, fits, rejects := pod("web", "5"), info("node-0000", "900"), info("node-0001", "900")
	ask(t, m, web, fits, true, 0)
	for _, node := range []*nodeInfo{fits, rejects} {
		if allocations := testing.AllocsPerRun(1000, func() { _, _ = m.Predicates(web, node, true) }); allocations != 0 {
			t.Fatalf("%v allocations for %s", allocations, node.node.Name)
		}
	}
	expect(t, "questions", m.Counts().Asked, 1)
}

// go test -run - -bench .
func BenchmarkPredicatesAfterTheFirst(b *testing.B) {
	for _, nodes := range []int{1000, 5000} {
		f, client := startFake(b, nodes)
		m := newManager(client, &own{}, yunikorn.Options{MaxAge: aLongTime})
		web := pod("web", "5")
		infos := make([]*nodeInfo, nodes)
		for at, node := range f.nodes {
			infos[at] = info(node, "900")
		}
		ask(b, m, web, infos[0], true, 0)
		b.Run(fmt.Sprintf("%d nodes", nodes), func(b *testing.B) {
			b.ReportAllocs()
			for at := 0; b.Loop(); at++ {
				_, _ = m.Predicates(web, infos[at%nodes], true)
			}
		})
	}
}
