// Migrations moves virtual machines off nodes that are above a watermark of the accounting component, one at a time per node:
// migrations [-kubeconfig FILE] SOCKET. SOCKET is that of the sidecar, or its address: http://127.0.0.1:10270.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// retry is the pause before the state is read anew, and between looks at nodes that are above.
	retry = 5 * time.Second
	// requestsPerSecond to the API server. A look takes two per machine of a node before one leaves; with client-go's 5 a second it would take
	// longer than the pause on the first node.
	requestsPerSecond = 50
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "`FILE` with the cluster; without it, the one in which this runs")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: migrations [-kubeconfig FILE] SOCKET")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst = requestsPerSecond, 2*requestsPerSecond
	cluster, err := dynamic.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	recorder, events := newRecorder(cluster)
	defer events.Shutdown()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c := &controller{sidecar: reach(flag.Arg(0)), cluster: cluster, recorder: recorder, pause: func() <-chan time.Time { return time.After(retry) }}
	for ctx.Err() == nil {
		log.Print("reading the state anew: ", c.follow(ctx))
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// reach has a way to the sidecar at a socket or an address.
func reach(where string) sidecar {
	if strings.HasPrefix(where, "http") {
		return sidecar{address: where, client: &http.Client{}}
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", where)
	}
	return sidecar{address: "http://localhost", client: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}
