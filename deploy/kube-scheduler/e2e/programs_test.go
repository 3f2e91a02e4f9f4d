package e2e

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

// Environment variables that name the folder of etcd and kube-apiserver, and kube-scheduler. run.sh sets them.
const (
	programsVariable  = "NODESIFT_E2E"
	schedulerVariable = "NODESIFT_SCHEDULER"
)

// runCallTimeout is longer than the plugin's own: five programs share the processors of a test machine, often with others.
const runCallTimeout = 200 * time.Millisecond

// administrator is the token with which everything is done in the run.
const administrator = "administrator"

// controlPlane is etcd and kube-apiserver.
type controlPlane struct {
	folder, url, authority, kubeconfig string
	client                             kubernetes.Interface
}

func freePort(t testing.TB) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startControlPlane starts both with the flags of Kubernetes' own integration tests, without fsync and without the admission plugins
// that need controllers.
func startControlPlane(t testing.TB) *controlPlane {
	t.Helper()
	programs := os.Getenv(programsVariable)
	if programs == "" {
		t.Skipf("%s names no folder with etcd and kube-apiserver", programsVariable)
	}
	p := &controlPlane{folder: t.TempDir()}
	clients, peers := fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	startProgram(t, p.folder, "etcd", cmp.Or(os.Getenv("TEST_ASSET_ETCD"), filepath.Join(programs, "etcd")),
		"--data-dir="+filepath.Join(p.folder, "etcd"), "--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers, "--unsafe-no-fsync", "--log-level=warn")
	tokens := filepath.Join(p.folder, "tokens.csv")
	check(t, os.WriteFile(tokens, []byte(administrator+`,administrator,administrator,"system:masters"`+"\n"), 0o600))
	certificates, port := filepath.Join(p.folder, "certificates"), freePort(t)
	p.url, p.authority = fmt.Sprintf("https://127.0.0.1:%d", port), filepath.Join(certificates, "apiserver.crt")
	key := filepath.Join(certificates, "apiserver.key")
	server := startProgram(t, p.folder, "kube-apiserver", cmp.Or(os.Getenv("TEST_ASSET_KUBE_APISERVER"), filepath.Join(programs, "kube-apiserver")),
		"--etcd-servers="+clients, "--cert-dir="+certificates, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--service-account-issuer="+p.url, "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key, "--token-auth-file="+tokens, "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/16", "--max-mutating-requests-inflight=1000", "--max-requests-inflight=2000",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection")
	server.await(t, "kube-apiserver has certificates", func() bool {
		_, err := os.Stat(p.authority)
		return err == nil
	})
	var err error
	p.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: p.url, BearerToken: administrator, TLSClientConfig: rest.TLSClientConfig{CAFile: p.authority}, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	})
	check(t, err)
	server.await(t, "kube-apiserver is ready", func() bool {
		return p.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(context.Background()).Error() == nil
	})
	p.kubeconfig = writeKubeconfig(t, p.url, administrator, p.authority)
	return p
}

// schedulerProcess is kube-scheduler with the plugin, as a process.
type schedulerProcess struct {
	*program
	port int
}

// startScheduler runs the built kube-scheduler: with the shipped configuration where there is a socket, else as the stock one, under
// the same name. Each of change may change the configuration, and in it the arguments of the plugin.
func (p *controlPlane) startScheduler(t testing.TB, name, socket string, change ...func(settings, args map[string]any)) *schedulerProcess {
	t.Helper()
	binary := os.Getenv(schedulerVariable)
	if binary == "" {
		t.Skipf("%s names no kube-scheduler", schedulerVariable)
	}
	settings := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{map[string]any{"schedulerName": nodesift}},
	}
	if socket != "" {
		shipped, err := os.ReadFile(shippedConfig)
		check(t, err)
		check(t, yaml.Unmarshal(shipped, &settings))
		profile := settings["profiles"].([]any)[0].(map[string]any)
		for _, of := range profile["pluginConfig"].([]any) {
			if of := of.(map[string]any); of["name"] == plugin.Name {
				args := of["args"].(map[string]any)
				args["address"], args["callTimeout"] = "unix://"+socket, runCallTimeout.String()
				for _, change := range change {
					change(settings, args)
				}
			}
		}
	}
	settings["leaderElection"] = map[string]any{"leaderElect": false}
	settings["clientConnection"] = map[string]any{"kubeconfig": p.kubeconfig, "qps": 5000, "burst": 5000}
	text, err := yaml.Marshal(settings)
	check(t, err)
	file := filepath.Join(p.folder, name+".yaml")
	check(t, os.WriteFile(file, text, 0o600))
	s := &schedulerProcess{port: freePort(t)}
	s.program = startProgram(t, p.folder, name, binary, "--config="+file, fmt.Sprintf("--secure-port=%d", s.port), "--bind-address=127.0.0.1",
		"--authentication-skip-lookup", "--authorization-always-allow-paths=/healthz,/readyz,/metrics")
	s.ready(t)
	return s
}

func (s *schedulerProcess) ready(t testing.TB) {
	s.await(t, "kube-scheduler is ready", func() bool {
		answer, err := s.get("/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func (s *schedulerProcess) get(path string) (*http.Response, error) {
	// Its certificate is one that it has signed itself.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	return client.Get(fmt.Sprintf("https://127.0.0.1:%d%s", s.port, path))
}

// metric is the sum of the samples of a metric that have these label values; of a histogram, the sum of what was observed.
func (s *schedulerProcess) metric(t testing.TB, name string, values ...string) float64 {
	t.Helper()
	answer, err := s.get("/metrics")
	check(t, err)
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	check(t, err)
	total := 0.0
	family := families[name]
	if family == nil {
		return 0
	}
	for _, sample := range family.Metric {
		var has []string
		for _, label := range sample.Label {
			has = append(has, label.GetValue())
		}
		missing := false
		for _, value := range values {
			missing = missing || !strings.Contains(","+strings.Join(has, ",")+",", ","+value+",")
		}
		if !missing {
			total += sample.GetCounter().GetValue() + sample.GetGauge().GetValue() + sample.GetHistogram().GetSampleSum()
		}
	}
	return total
}
