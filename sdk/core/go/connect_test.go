package nodesift_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	nodesift "github.com/nodesift/nodesift/sdk/core/go"
)

func TestTCPIsReachedByNameWithTLSAndWithout(t *testing.T) {
	needBinary(t)
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	plain := sidecarOn(t, "127.0.0.1:"+port)
	client := dial(t, "dns:///localhost:"+port, nodesift.WaitForReady())
	if nodes, err := client.Index().Wait(t.Context()); err != nil || nodes.Len() != 298 {
		t.Fatalf("%d nodes over TCP: %v", nodes.Len(), err)
	}
	plain.stop()

	folder := t.TempDir()
	authority := certify(t, nil, "authority")
	authority.write(t, folder, "ca")
	certify(t, authority, "localhost").write(t, folder, "tls")
	in := func(name string) string { return filepath.Join(folder, name) }
	sidecarOn(t, "127.0.0.1:"+port, "--tls-cert", in("tls.crt"), "--tls-key", in("tls.key"), "--tls-client-ca", in("ca.crt"))
	roots := x509.NewCertPool()
	roots.AddCert(authority.certificate)
	core := certify(t, authority, "core")
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{core.certificate.Raw}, PrivateKey: core.key}}}
	secure := dial(t, "dns:///localhost:"+port, nodesift.WaitForReady(), nodesift.TLS(config))
	if nodes, err := secure.Index().Wait(t.Context()); err != nil || nodes.Len() != 298 {
		t.Fatalf("%d nodes over TLS: %v", nodes.Len(), err)
	}
	if set, err := secure.Feasible(t.Context(), web); err != nil || set.Evaluated() != 298 {
		t.Errorf("%d nodes over TLS: %v", set.Evaluated(), err)
	}
	for what, config := range map[string]*tls.Config{
		"a client without a certificate":      {RootCAs: roots},
		"a sidecar that is not to be trusted": {},
	} {
		stranger := dial(t, "dns:///localhost:"+port, nodesift.TLS(config))
		if _, err := stranger.Feasible(t.Context(), web); !errors.Is(err, nodesift.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCallsOfASidecarThatHangsEndInTheirTime(t *testing.T) {
	sidecar := smallCluster(t)
	const timeout = 300 * time.Millisecond
	client := dial(t, sidecar.target(), nodesift.Timeout(timeout))
	pod := nodesift.PodUID("uid-web")
	// The sidecar may carry out what nobody waits for any more, so this one is to take nothing from the pod above.
	other := nodesift.PodJSON([]byte(`{"metadata":{"namespace":"default","name":"other","uid":"uid-other"}}`))
	if _, err := client.Index().Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	signal := func(signal syscall.Signal) {
		if err := sidecar.command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	until(t, "all its threads stand still", func() bool {
		running, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", sidecar.command.Process.Pid))
		return err == nil && len(running) > 0 && !slices.ContainsFunc(running, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && !strings.Contains(string(text), "State:\tT")
		})
	})
	started := time.Now()
	for what, call := range map[string]func() error{
		"Feasible": func() error { _, err := client.Feasible(t.Context(), pod); return err },
		"Assume":   func() error { _, err := client.Assume(t.Context(), other, "full"); return err },
		"Forget":   func() error { _, err := client.Forget(t.Context(), other); return err },
		"PreemptionPredicates": func() error {
			_, err := client.PreemptionPredicates(t.Context(), "uid-web", "full", []string{"uid-victim-0"}, 0)
			return err
		},
	} {
		if err := call(); !errors.Is(err, nodesift.ErrDeadline) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A deadline is a promise in seconds; what it excludes, a call that waits for the sidecar, takes longer than any slack.
	if took := time.Since(started); took < 4*timeout || took > scaled(4*timeout+2*time.Second) {
		t.Errorf("four calls took %s", took)
	}
	signal(syscall.SIGCONT)
	until(t, "it answers again", func() bool {
		set, err := client.Feasible(t.Context(), pod)
		return err == nil && set.Fits("empty")
	})
}

func TestAClosedClientAnswersNothingAndAConnectedOneComesBack(t *testing.T) {
	sidecar := smallCluster(t)
	client := dial(t, sidecar.target())
	pod := nodesift.PodUID("uid-web")
	before, err := client.Index().Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old, err := client.Feasible(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	changed := client.Index().Changed()
	sidecar.kill()
	until(t, "the index says that it is not followed", func() bool { return client.Index().Err() != nil })
	if _, err := client.Feasible(t.Context(), pod); !errors.Is(err, nodesift.ErrUnavailable) {
		t.Errorf("without a sidecar: %v", err)
	}
	if client.Index().Names() != before || !old.Fits("empty") || old.Fits("full") {
		t.Error("an answer does not outlive the sidecar")
	}
	if err := sidecar.run(); err != nil {
		t.Fatal(err)
	}
	<-changed
	if now := client.Index().Names(); now.Known().GetEpoch() == before.Known().GetEpoch() || client.Index().Err() != nil {
		t.Errorf("another process has another epoch; %v", client.Index().Err())
	}
	set, err := client.Feasible(t.Context(), pod)
	if err != nil || !set.Fits("empty") {
		t.Errorf("after the restart: %v", err)
	}
	if old.Epoch() != before.Known().GetEpoch() || set.Epoch() != client.Index().Names().Known().GetEpoch() {
		t.Errorf("answers of the epochs %d and %d", old.Epoch(), set.Epoch())
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Feasible(t.Context(), pod); err == nil {
		t.Error("a closed client answers")
	}
}

// sidecarOn serves the sample cluster on a TCP address too.
func sidecarOn(t *testing.T, address string, arguments ...string) *sidecar {
	t.Helper()
	return sidecarFor(t, append([]string{"--sample", "--listen", address}, arguments...)...)
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

type certified struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certify makes a certificate for a name, signed by an authority, or by itself where there is none.
func certify(t *testing.T, by *certified, name string) *certified {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: by == nil,
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &certified{certificate, key}
}

func (c *certified) write(t *testing.T, folder, name string) {
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".crt": {Type: "CERTIFICATE", Bytes: c.certificate.Raw}, name + ".key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
