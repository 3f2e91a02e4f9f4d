package yunikorn_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	yunikorn "github.com/nodesift/nodesift/deploy/yunikorn"
	nodesift "github.com/nodesift/nodesift/sdk/core/go"
	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// sample is the cluster that `nodesift serve --sample` serves.
const sample = "../../host/nodesift/assets/sample-cluster.json.gz"

// process is a sidecar that serves the sample cluster.
type process struct {
	t              testing.TB
	binary, folder string
	command        *exec.Cmd
}

func startProcess(t testing.TB) *process {
	t.Helper()
	binary := os.Getenv("NODESIFT_BINARY")
	if binary == "" {
		binary = filepath.Join("..", "..", "target", "debug", "nodesift")
	}
	if _, err := os.Stat(binary); err != nil {
		missing := fmt.Sprintf("not run against the sidecar: %v; build it, or name one by NODESIFT_BINARY", err)
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	folder, err := os.MkdirTemp("", "ny")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, binary: binary, folder: folder}
	t.Cleanup(func() {
		p.kill()
		_ = os.RemoveAll(folder)
	})
	p.run()
	return p
}

func (p *process) socket() string { return filepath.Join(p.folder, "n.sock") }

// run starts it and waits until it is ready.
func (p *process) run() {
	p.t.Helper()
	log, err := os.Create(filepath.Join(p.folder, "log"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.command = exec.Command(p.binary, "serve", "--sample", "--no-tcp", "--socket", p.socket())
	cache := os.Getenv("NODESIFT_TEST_CACHE")
	if cache == "" {
		cache = p.folder
	}
	p.command.Env = []string{"PATH=" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + cache, "NO_COLOR=1"}
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	for deadline := time.Now().Add(scaled(time.Minute)); exec.Command(p.binary, "health", "--socket", p.socket()).Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			p.t.Fatalf("the sidecar does not become ready:\n%s", text)
		}
	}
}

// kill ends it as a crash does.
func (p *process) kill() {
	if p.command != nil && p.command.Process != nil {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	}
}

// cluster is what the shim would have in its cache.
type cluster struct {
	nodes   []*nodeInfo
	pending []*v1.Pod
	// Bound pods, by node.
	bound map[string][]*v1.Pod
}

func readCluster(t testing.TB) cluster {
	t.Helper()
	file, err := os.Open(sample)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.NewDecoder(text).Decode(&list); err != nil {
		t.Fatal(err)
	}
	of := cluster{bound: map[string][]*v1.Pod{}}
	for _, item := range list.Items {
		var kind struct{ Kind string }
		read(t, item, &kind)
		switch kind.Kind {
		case "Node":
			node := &v1.Node{}
			read(t, item, node)
			of.nodes = append(of.nodes, &nodeInfo{node})
		case "Pod":
			pod := &v1.Pod{}
			read(t, item, pod)
			if pod.Spec.NodeName == "" {
				of.pending = append(of.pending, pod)
			} else {
				of.bound[pod.Spec.NodeName] = append(of.bound[pod.Spec.NodeName], pod)
			}
		}
	}
	if len(of.nodes) < 100 || len(of.pending) < 10 {
		t.Fatalf("%d nodes, %d pending pods", len(of.nodes), len(of.pending))
	}
	return of
}

func read(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// seeded prints the seed, which NODESIFT_SEED repeats.
func seeded(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(seedOf(t), 0)) }

func seedOf(t testing.TB) uint64 {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	return seed
}

// The sidecar's own calls for YuniKorn evaluate each pod and node anew; what the manager looks up must be the same, in the same
// words, whatever was placed, forgotten and restarted before. An answer never ages here, so none is right by having expired.
func TestTheManagerSaysWhatTheSidecarSaysOfOnePodAndOneNode(t *testing.T) {
	p := startProcess(t)
	of := readCluster(t)
	random := seeded(t)
	client, err := nodesift.Dial("unix://"+p.socket(), nodesift.Timeout(scaled(10*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: aLongTime, Unavailable: yunikorn.Reject})
	pods := of.pending[:10]
	placed := map[int]string{}
	var verdicts, rejections, preemptions, placements, restarts int
	for step := range 6000 {
		at := random.IntN(len(pods))
		pod, node := pods[at], of.nodes[random.IntN(len(of.nodes))]
		switch kind := random.IntN(1000); {
		case step%2000 == 1000:
			restarts++
			p.kill()
			// No answer is kept about this version.
			unseen := pod.DeepCopy()
			unseen.ResourceVersion = ""
			_, err := m.Predicates(unseen, node, true)
			expect(t, "without a sidecar", fmt.Sprint(err), noAnswer)
			p.run()
			until(t, "the restarted sidecar is asked", func() bool {
				plugin, _ := m.Predicates(unseen, node, true)
				return plugin != "nodesift"
			})
		case kind < 20 && placed[at] == "":
			placements++
			placed[at] = node.node.Name
			m.AssumePod(pod, placed[at])
		case kind < 40 && placed[at] != "":
			placements++
			delete(placed, at)
			m.ForgetPod(string(pod.UID))
		case kind < 200:
			preemptions++
			victims := append([]*v1.Pod{nil}, of.bound[node.node.Name]...)
			start := random.IntN(len(victims) + 1)
			request := &nodesiftv1.PreemptionPredicatesRequest{AllocationKey: string(pod.UID), NodeId: node.node.Name, StartIndex: int32(start)}
			for _, victim := range victims {
				uid := "no-such-pod"
				if victim != nil {
					uid = string(victim.UID)
				}
				request.PreemptAllocationKeys = append(request.PreemptAllocationKeys, uid)
			}
			index := m.PreemptionPredicates(pod, node, victims, start)
			truth, err := client.Stub().PreemptionPredicates(t.Context(), request)
			if err != nil || truth.GetError() != "" {
				t.Fatal(err, truth)
			}
			expect(t, fmt.Sprintf("step %d: %s on %s from %d", step, pod.Name, node.node.Name, start), index, int(truth.GetIndex()))
		default:
			verdicts++
			allocate := random.IntN(2) == 0
			plugin, err := m.Predicates(pod, node, allocate)
			text := ""
			if err != nil {
				rejections++
				// As the shim joins them.
				text = fmt.Sprintf("failed plugin: '%s'\n%s", plugin, err)
			}
			truth, err := client.Stub().Predicates(t.Context(), &nodesiftv1.PredicatesRequest{
				AllocationKey: string(pod.UID), NodeId: node.node.Name, Allocate: allocate,
			})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, fmt.Sprintf("step %d: %s on %s", step, pod.Name, node.node.Name), text, truth.GetError())
		}
	}
	counts := m.Counts()
	fmt.Printf("%d verdicts (%d rejections) and %d preemptions compared, %d placements, %d restarts, %d questions\n",
		verdicts, rejections, preemptions, placements, restarts, counts.Asked)
	if rejections == 0 || rejections == verdicts || placements < 20 || restarts != 3 || counts.Asked > uint64(verdicts)/2 {
		t.Fatal("that is not what this test is about")
	}
}

func TestAPodThatTheSidecarHasNotSeenIsJudgedAndPlacedAsTheShimHasIt(t *testing.T) {
	p := startProcess(t)
	of := readCluster(t)
	client, err := nodesift.Dial("unix://" + p.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	asked := &own{}
	m := newManager(client, asked, yunikorn.Options{MaxAge: aLongTime})
	small, large := pod("small", ""), pod("large", "")
	for of, cpu := range map[*v1.Pod]string{small: "1m", large: "100000"} {
		requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		of.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: requests}}}
	}
	var node *nodeInfo
	for _, node = range of.nodes {
		if plugin, _ := m.Predicates(small, node, true); plugin == "" {
			break
		}
	}
	plugin, err := m.Predicates(large, node, true)
	if plugin != "NodeResourcesFit" || err == nil || err.Error() != "Insufficient cpu" {
		t.Fatal(plugin, err)
	}
	// A core is taken at its word. Then the node has no room for anybody.
	m.AssumePod(large, node.node.Name)
	plugin, err = m.Predicates(small, node, true)
	if plugin != "NodeResourcesFit" || err == nil || err.Error() != "Insufficient cpu" {
		t.Fatal(plugin, err)
	}
	expectCalls(t, asked)
}

func BenchmarkTheFirstQuestion(b *testing.B) {
	p := startProcess(b)
	of := readCluster(b)
	client, err := nodesift.Dial("unix://" + p.socket())
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	m := newManager(client, &own{}, yunikorn.Options{MaxAge: -1})
	for b.Loop() {
		_, _ = m.Predicates(of.pending[0], of.nodes[0], true)
	}
	if counts := m.Counts(); counts.Own > 0 {
		b.Fatal(counts)
	}
}
