package perf

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

const (
	// schedulerName is that of scheduler_perf's pods.
	schedulerName = "default-scheduler"
	// kubernetesVersion is the minor version of the scheduler measured. The API server of scheduler_perf tells none that is of use.
	kubernetesVersion = "1.36"
	// callTimeout is long, so that every verdict is the sidecar's: with onUnavailable: Fail, a call that took longer would be seen as
	// an attempt with an error, and not as one in tree that is counted for the sidecar.
	callTimeout = "4s"
	// longestStart bounds how long a sidecar may take until it answers: without kept code it compiles all predicates.
	longestStart = 2 * time.Minute
)

// sidecar is nodesift beside the scheduler of one run.
type sidecar struct {
	folder, policy, cache string
	command               *exec.Cmd
	ended                 chan struct{}
	kill                  func()
}

// newSidecar prepares a sidecar in a folder of its own. What it compiles is kept in another one, for later runs.
func newSidecar(b *testing.B, cache string) *sidecar {
	b.Helper()
	// The path of a socket must be short.
	folder, err := os.MkdirTemp("", "ns")
	check(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(folder) })
	s := &sidecar{folder: folder, cache: cache, policy: filepath.Join(folder, "policy.yaml")}
	policy := readYAML(b, *policyFlag)
	policy["spec"].(map[string]any)["schedulerNames"] = []string{schedulerName}
	writeYAML(b, s.policy, policy)
	s.kill = sync.OnceFunc(func() {
		if s.command != nil {
			_ = s.command.Process.Kill()
			<-s.ended
		}
	})
	return s
}

func (s *sidecar) socket() string { return filepath.Join(s.folder, "n.sock") }

// config writes the configuration of a scheduler that asks this sidecar.
func (s *sidecar) config(b *testing.B) string {
	b.Helper()
	config := readYAML(b, *configFlag)
	profiles, _ := config["profiles"].([]any)
	if len(profiles) != 1 {
		b.Fatalf("%s has %d profiles instead of one", *configFlag, len(profiles))
	}
	profile := profiles[0].(map[string]any)
	profile["schedulerName"] = schedulerName
	found := false
	for _, one := range profile["pluginConfig"].([]any) {
		of := one.(map[string]any)
		if of["name"] != plugin.Name {
			continue
		}
		found = true
		args := of["args"].(map[string]any)
		args["address"] = "unix://" + s.socket()
		args["onUnavailable"], args["callTimeout"], args["consistencyTimeout"] = "Fail", callTimeout, callTimeout
		if *argsFlag != "" {
			further := map[string]any{}
			check(b, json.Unmarshal([]byte(*argsFlag), &further))
			maps.Copy(args, further)
		}
	}
	if !found {
		b.Fatalf("%s has no arguments of %s", *configFlag, plugin.Name)
	}
	path := filepath.Join(s.folder, "config.yaml")
	writeYAML(b, path, config)
	return path
}

// registry has the plugins as scheduler_perf takes them. A scheduler is made once its API server answers, and so the sidecar is started
// with the plugin, and is ready when scheduling begins.
func (s *sidecar) registry() frameworkruntime.Registry {
	return frameworkruntime.Registry{
		plugin.Name: func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			if err := s.start(handle.KubeConfig()); err != nil {
				return nil, err
			}
			return plugin.New(ctx, args, handle)
		},
		// For a configuration with scores.
		plugin.HundredsName: plugin.NewHundreds,
	}
}

func (s *sidecar) start(server *rest.Config) error {
	kubeconfig := filepath.Join(s.folder, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, server); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(*intoFlag, "nodesift.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	binary := os.Getenv("NODESIFT_BINARY")
	arguments := append([]string{
		"serve", "--no-tcp", "--socket", s.socket(), "--kubeconfig", kubeconfig, "--policy", s.policy, "--kubernetes", kubernetesVersion,
	}, strings.Fields(*sidecarFlag)...)
	s.command = exec.Command(binary, arguments...)
	s.command.Env = append(os.Environ(), "XDG_CACHE_HOME="+s.cache, "NO_COLOR=1")
	s.command.Stdout, s.command.Stderr = log, log
	// Where this process is killed, nothing is left behind.
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.command.Start(); err != nil {
		s.command = nil
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.command.Wait()
		close(s.ended)
	}()
	for deadline := time.Now().Add(longestStart); ; {
		if exec.Command(binary, "health", "--socket", s.socket()).Run() == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the sidecar has ended; see %s", log.Name())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the sidecar is not ready after %s; see %s", longestStart, log.Name())
		}
	}
}

// writeKubeconfig names a server by the configuration of one of its clients.
func writeKubeconfig(path string, server *rest.Config) error {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: server.Host, TLSServerName: server.ServerName, InsecureSkipTLSVerify: server.Insecure,
		CertificateAuthority: server.CAFile, CertificateAuthorityData: server.CAData,
	}
	config.AuthInfos["c"] = &clientcmdapi.AuthInfo{
		Token: server.BearerToken, ClientCertificate: server.CertFile, ClientCertificateData: server.CertData,
		ClientKey: server.KeyFile, ClientKeyData: server.KeyData,
	}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	return clientcmd.WriteToFile(*config, path)
}

func readYAML(t testing.TB, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	object := map[string]any{}
	check(t, yaml.Unmarshal(text, &object))
	return object
}

func writeYAML(t testing.TB, path string, object any) {
	t.Helper()
	text, err := yaml.Marshal(object)
	check(t, err)
	check(t, os.WriteFile(path, text, 0o600))
}
