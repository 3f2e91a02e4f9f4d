package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	sdk "github.com/nodesift/nodesift/sdk/core/go"
)

// program is a process that a test started. It ends with the test.
type program struct {
	path      string
	arguments []string
	log       string
	command   *exec.Cmd
	ended     chan struct{}
}

// startProgram runs a program; its output is appended to a file in the folder.
func startProgram(t testing.TB, folder, name, path string, arguments ...string) *program {
	t.Helper()
	p := &program{path: path, arguments: arguments, log: filepath.Join(folder, name+".log")}
	p.start(t)
	t.Cleanup(p.kill)
	return p
}

func (p *program) start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(t, err)
	defer log.Close()
	p.command = exec.Command(p.path, p.arguments...)
	p.command.Env = append(os.Environ(), "XDG_CACHE_HOME="+cacheFolder, "NO_COLOR=1")
	p.command.Stdout, p.command.Stderr = log, log
	// Where the test itself is killed, nothing is left behind.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, p.command.Start())
	ended, command := make(chan struct{}), p.command
	p.ended = ended
	go func() {
		_ = command.Wait()
		close(ended)
	}()
}

func (p *program) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends it as a crash does, and waits until it has ended.
func (p *program) kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// text is what it has written.
func (p *program) text() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// await waits for a condition that a program brings about.
func (p *program) await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	until(t, what+"; see its log:\n"+p.path, func() bool {
		if !p.running() {
			t.Fatalf("%s ended:\n%s", p.path, tail(p.text()))
		}
		return condition()
	})
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// sidecar is nodesift as a process.
type sidecar struct {
	*program
	socket string
	client *sdk.Client
}

// startSidecar runs the binary that NODESIFT_BINARY names. It watches the cluster of a kubeconfig.
func startSidecar(t testing.TB, kubeconfig string, arguments ...string) *sidecar {
	t.Helper()
	binary := os.Getenv("NODESIFT_BINARY")
	if binary == "" {
		t.Skip("NODESIFT_BINARY names no binary of the sidecar")
	}
	folder, err := os.MkdirTemp("", "ns")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &sidecar{socket: filepath.Join(folder, "n.sock")}
	arguments = append([]string{"serve", "--no-tcp", "--socket", s.socket, "--kubeconfig", kubeconfig}, arguments...)
	s.program = startProgram(t, folder, "nodesift", binary, arguments...)
	s.ready(t)
	s.client, err = sdk.Dial("unix://"+s.socket, sdk.Timeout(scaled(10*time.Second)))
	check(t, err)
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

func (s *sidecar) ready(t testing.TB) {
	t.Helper()
	s.await(t, "the sidecar is ready", func() bool {
		return exec.Command(s.path, "health", "--socket", s.socket).Run() == nil
	})
}

func (s *sidecar) pause(t testing.TB)  { check(t, s.command.Process.Signal(syscall.SIGSTOP)) }
func (s *sidecar) resume(t testing.TB) { check(t, s.command.Process.Signal(syscall.SIGCONT)) }

// longestPatience is the longest that a request may wait for a version, whatever the machine.
const longestPatience = 30 * time.Second

// settle waits until it has nodes and pods at a version of the API server.
func (s *sidecar) settle(t testing.TB, version string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), scaled(time.Minute))
	defer cancel()
	pod := sdk.PodJSON([]byte(`{"metadata":{"name":"settled","namespace":"default","uid":"settled"},"spec":{"containers":[{"name":"c"}]}}`))
	if _, err := s.client.Feasible(ctx, pod, sdk.AtLeast(version, version), sdk.Patience(longestPatience), sdk.WithoutReasons()); err != nil {
		t.Fatalf("the sidecar is not at version %s: %v", version, err)
	}
}

// cacheFolder is where sidecars keep compiled predicates between tests.
var cacheFolder string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if cacheFolder, err = os.MkdirTemp("", "nodesift"); err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(cacheFolder)
		return m.Run()
	}())
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
	for deadline := time.Now().Add(scaled(time.Minute)); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
