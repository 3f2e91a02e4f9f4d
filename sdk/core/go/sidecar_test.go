package nodesift_test

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

// Where the examples and most tests find a sidecar that serves the sample cluster.
var target string

// The binary; empty where there is none.
var binary string

// Where the sidecars of these tests keep compiled predicates: NODESIFT_TEST_CACHE, or a folder of this run.
var cacheFolder string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	binary = os.Getenv("NODESIFT_BINARY")
	if binary == "" {
		binary = filepath.Join("..", "..", "..", "target", "debug", "nodesift")
	}
	path, err := filepath.Abs(binary)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		fmt.Printf("no test against the sidecar was run, nor any example: %v; build it, or name one by NODESIFT_BINARY\n", err)
		binary = ""
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
		return m.Run()
	}
	binary = path
	if cacheFolder = os.Getenv("NODESIFT_TEST_CACHE"); cacheFolder == "" {
		if cacheFolder, err = os.MkdirTemp("", "nodesift"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(cacheFolder)
	}
	sample, err := start("--sample")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer sample.stop()
	target = sample.target()
	return m.Run()
}

type sidecar struct {
	command        *exec.Cmd
	folder, socket string
	arguments      []string
}

// start runs the binary until it is ready.
func start(arguments ...string) (*sidecar, error) {
	folder, err := os.MkdirTemp("", "ns")
	if err != nil {
		return nil, err
	}
	s := &sidecar{folder: folder, socket: filepath.Join(folder, "n.sock"), arguments: arguments}
	if err := s.run(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *sidecar) target() string { return "unix://" + s.socket }

func (s *sidecar) run() error {
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	arguments := append([]string{"serve", "--socket", s.socket}, s.arguments...)
	if slices.Contains(arguments, "--listen") {
		// The explorer has a port of its own, which others may have.
		arguments = append(arguments, "--no-explorer")
	} else {
		arguments = append(arguments, "--no-tcp")
	}
	s.command = exec.Command(binary, arguments...)
	s.command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + cacheFolder, "NO_COLOR=1",
		fmt.Sprintf("NODESIFT_REQUEST_TIMEOUT=%dms", scaled(2*time.Second).Milliseconds()),
	}
	s.command.Stdout, s.command.Stderr = log, log
	if err := s.command.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(scaled(time.Minute))
	for {
		health := exec.Command(binary, "health", "--socket", s.socket)
		if health.Run() == nil {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the sidecar does not become ready:\n%s", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kill ends it as a crash does.
func (s *sidecar) kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

func (s *sidecar) stop() {
	if s.command != nil && s.command.Process != nil {
		s.kill()
	}
	_ = os.RemoveAll(s.folder)
}

// sidecarFor starts a sidecar that ends with the test, which is skipped where there is no binary.
func sidecarFor(t testing.TB, arguments ...string) *sidecar {
	t.Helper()
	needBinary(t)
	s, err := start(arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func needBinary(t testing.TB) {
	t.Helper()
	if binary == "" {
		t.Skip("there is no binary of the sidecar; see the first line")
	}
}

func dial(t testing.TB, target string, options ...nodesift.DialOption) *nodesift.Client {
	t.Helper()
	options = append([]nodesift.DialOption{nodesift.Timeout(scaled(10 * time.Second))}, options...)
	client, err := nodesift.Dial(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// scaled is a timeout on this machine.
func scaled(timeout time.Duration) time.Duration {
	factor, err := strconv.Atoi(os.Getenv("NODESIFT_TIMEOUT_FACTOR"))
	if err != nil || factor < 1 {
		factor = 1
	}
	return timeout * time.Duration(factor)
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(scaled(20 * time.Second)); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// seeded prints the seed, which NODESIFT_SEED repeats.
func seeded(t testing.TB) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// proxy is a Unix socket in front of another one, whose connections can be cut.
type proxy struct {
	socket      string
	mutex       sync.Mutex
	connections map[net.Conn]bool
}

func startProxy(t testing.TB, to string) *proxy {
	folder, err := os.MkdirTemp("", "ns")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{socket: filepath.Join(folder, "p.sock"), connections: map[net.Conn]bool{}}
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		_ = os.RemoveAll(folder)
	})
	go func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("unix", to)
			if err != nil {
				_ = front.Close()
				continue
			}
			p.mutex.Lock()
			p.connections[front], p.connections[back] = true, true
			p.mutex.Unlock()
			go p.copy(front, back)
			go p.copy(back, front)
		}
	}()
	return p
}

func (p *proxy) copy(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	p.mutex.Lock()
	delete(p.connections, from)
	p.mutex.Unlock()
}

func (p *proxy) cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for connection := range p.connections {
		_ = connection.Close()
	}
}
