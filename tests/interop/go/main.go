// grpc-go against a running sidecar: every call once over each transport, health, and /metrics.
//
// Arguments: the Unix socket, the TCP address. It has no generated code: it reads the proto by server reflection, as grpcurl
// does, and writes its messages as JSON. It exits with 1 and the reason where anything is not as a client expects.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/structpb"
)

const (
	service = "nodesift.v1.Nodesift"
	// Calls whose latency is measured, after as many that are not.
	measured = 2000
	// How much longer a call over TCP may take at the median. A delayed acknowledgement takes 40 ms.
	tcpMore = 20 * time.Millisecond
	// For everything over one transport.
	timeout = 2 * time.Minute
)

func check(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: grpc-go: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func require(condition bool, what string) {
	if !condition {
		check(errors.New("not so"), what)
	}
}

// describe reads the service by reflection.
func describe(ctx context.Context, conn *grpc.ClientConn) protoreflect.ServiceDescriptor {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	check(err, "reflection")
	check(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
	}), "reflection")
	answer, err := stream.Recv()
	check(err, "reflection")
	check(stream.CloseSend(), "reflection")
	files := answer.GetFileDescriptorResponse().GetFileDescriptorProto()
	require(len(files) == 1, "reflection answers with the file of the service")
	var file descriptorpb.FileDescriptorProto
	check(proto.Unmarshal(files[0], &file), "reflection")
	described, err := protodesc.NewFile(&file, protoregistry.GlobalFiles)
	check(err, "the file that reflection sends")
	found := described.Services().ByName(protoreflect.FullName(service).Name())
	require(found != nil, "reflection knows the service")
	return found
}

type client struct {
	conn    *grpc.ClientConn
	service protoreflect.ServiceDescriptor
	made    []string
}

func (c *client) method(name string) (string, protoreflect.MethodDescriptor) {
	c.made = append(c.made, name)
	method := c.service.Methods().ByName(protoreflect.Name(name))
	require(method != nil, "there is a call "+name)
	return "/" + service + "/" + name, method
}

func message(kind protoreflect.MessageDescriptor, json string) *dynamicpb.Message {
	message := dynamicpb.NewMessage(kind)
	check(protojson.Unmarshal([]byte(json), message), json)
	return message
}

// call makes a call with one answer.
func (c *client) call(ctx context.Context, name, request string) *dynamicpb.Message {
	path, method := c.method(name)
	answer := dynamicpb.NewMessage(method.Output())
	check(c.conn.Invoke(ctx, path, message(method.Input(), request), answer), name+" "+request)
	return answer
}

// stream makes a call with several answers, and reads them until `last` is satisfied.
func (c *client) stream(ctx context.Context, name string, requests []string, last func(protoreflect.Message) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, method := c.method(name)
	described := &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: true}
	stream, err := c.conn.NewStream(ctx, described, path)
	check(err, name)
	for _, request := range requests {
		check(stream.SendMsg(message(method.Input(), request)), name)
	}
	check(stream.CloseSend(), name)
	for {
		answer := dynamicpb.NewMessage(method.Output())
		check(stream.RecvMsg(answer), name)
		if last(answer) {
			return
		}
	}
}

func field(message protoreflect.Message, name string) protoreflect.Value {
	return message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// everyCall calls everything once, and returns the median of a cached answer.
func everyCall(ctx context.Context, c *client) time.Duration {
	pending := field(c.call(ctx, "Filter", `{"pending": true}`), "pods").List()
	var pod, node string
	var feasible []string
	for at := 0; at < pending.Len() && node == ""; at++ {
		each := pending.Get(at).Message()
		for names, at := field(each, "feasible").List(), 0; at < names.Len(); at++ {
			feasible = append(feasible, names.Get(at).String())
		}
		if len(feasible) > 0 {
			pod, node = field(each, "pod").String(), feasible[0]
		}
	}
	require(node != "", "a pending pod fits a node")
	namespace, name, _ := strings.Cut(pod, "/")
	named := fmt.Sprintf(`{"name": {"namespace": %q, "name": %q}}`, namespace, name)

	ids := []uint64{}
	c.stream(ctx, "FilterStream", []string{
		fmt.Sprintf(`{"id": 7, "filter": {"pods": [%s]}}`, named),
		fmt.Sprintf(`{"id": 8, "filter": {"pods": [%s]}}`, named),
	}, func(answer protoreflect.Message) bool {
		ids = append(ids, field(answer, "id").Uint())
		require(field(answer, "answer").Message().IsValid(), "FilterStream answers")
		return len(ids) == 2
	})
	require(slices.Equal(ids, []uint64{7, 8}), "FilterStream answers in order")

	explained := field(c.call(ctx, "Explain", fmt.Sprintf(`{"pods": [%s]}`, named)), "pods").List()
	require(field(explained.Get(0).Message(), "predicates").List().Len() > 5, "Explain names the predicates")

	nodes := 0
	c.stream(ctx, "NodeIndex", []string{`{}`}, func(answer protoreflect.Message) bool {
		nodes += field(field(answer, "rows").Message(), "changes").List().Len()
		return field(answer, "complete").Bool()
	})
	require(nodes >= len(feasible), "NodeIndex has the nodes")

	assumed := c.call(ctx, "Assume", fmt.Sprintf(`{"pod": %s, "node": %q, "ttlMs": 60000}`, named, node))
	uid := field(assumed, "uid").String()
	room := c.call(ctx, "Headroom", fmt.Sprintf(`{"pod": {"uid": %q}, "amounts": [{"name": "cpu", "amount": 1}]}`, uid))
	require(field(room, "node").String() == node, "Headroom is about the node of the pod")
	forgot := c.call(ctx, "Forget", fmt.Sprintf(`{"pod": {"uid": %q}}`, uid))
	require(field(forgot, "was_assumed").Bool(), "Forget forgets what Assume has assumed")

	one := c.call(ctx, "Predicates", fmt.Sprintf(`{"allocationKey": %q, "nodeID": %q, "allocate": true}`, uid, node))
	require(field(one, "fits").Bool(), "Predicates agrees with Filter")
	all := c.call(ctx, "PreFilterPredicates", fmt.Sprintf(`{"allocationKey": %q, "allocate": true}`, uid))
	require(field(all, "feasible_nodes").List().Len() == len(feasible), "PreFilterPredicates agrees with Filter")
	none := c.call(ctx, "PreemptionPredicates", fmt.Sprintf(`{"allocationKey": %q, "nodeID": %q}`, uid, node))
	require(field(none, "index").Int() == -1, "PreemptionPredicates finds no victim among none")
	dry := c.call(ctx, "Reprieve", fmt.Sprintf(`{"pod": {"uid": %q}, "nodes": [{"node": %q}]}`, uid, node))
	require(field(field(dry, "nodes").List().Get(0).Message(), "fits").Bool(), "Reprieve agrees with Filter")

	supported := field(c.call(ctx, "Capabilities", `{}`), "calls").List()
	require(supported.Len() >= c.service.Methods().Len(), "Capabilities knows every call")

	for at := range c.service.Methods().Len() {
		name := string(c.service.Methods().Get(at).Name())
		require(slices.Contains(c.made, name), "every call is made, "+name+" too")
	}

	path, method := c.method("Filter")
	unknown := message(method.Input(), `{"pods": [{"uid": "none"}]}`)
	err := c.conn.Invoke(ctx, path, unknown, dynamicpb.NewMessage(method.Output()))
	require(status.Code(err) == codes.NotFound, "a pod that does not exist is NOT_FOUND")

	request := message(method.Input(), fmt.Sprintf(`{"pods": [{"uid": %q}], "detail": "DETAIL_FEASIBLE", "bitmaps": {}}`, uid))
	times := make([]time.Duration, 0, 2*measured)
	for range 2 * measured {
		started := time.Now()
		check(c.conn.Invoke(ctx, path, request, dynamicpb.NewMessage(method.Output())), "Filter")
		times = append(times, time.Since(started))
	}
	times = times[measured:]
	slices.Sort(times)
	return times[len(times)/2]
}

func health(ctx context.Context, conn *grpc.ClientConn) {
	client := grpc_health_v1.NewHealthClient(conn)
	for _, name := range []string{"", service, "liveness"} {
		answer, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name})
		check(err, "health")
		require(answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, "health is SERVING")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	check(err, "watch of health")
	answer, err := watch.Recv()
	check(err, "watch of health")
	require(answer.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING, "the watch of health begins with SERVING")
}

// metrics parses the older text with Prometheus' parser, and returns how many families it has.
func metrics(ctx context.Context, address string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	check(err, "metrics")
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := http.DefaultClient.Do(request)
	check(err, "metrics")
	defer response.Body.Close()
	format := expfmt.ResponseFormat(response.Header)
	require(format.FormatType() == expfmt.TypeTextPlain, "the format of /metrics is known: "+string(format))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	check(err, "metrics")
	_, err = io.Copy(io.Discard, response.Body)
	check(err, "metrics")
	for _, name := range []string{
		"nodesift_build_info", "nodesift_api_requests_total", "nodesift_api_request_duration_seconds",
		"nodesift_predicate_calls_total", "nodesift_predicate_duration_seconds",
	} {
		require(families[name] != nil, "/metrics has "+name)
	}
	return len(families)
}

func main() {
	socket, address := os.Args[1], os.Args[2]
	medians := map[string]time.Duration{}
	for _, transport := range [][2]string{{"unix", "unix:" + socket}, {"tcp", address}} {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		conn, err := grpc.NewClient(transport[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
		check(err, "dial")
		client := &client{conn: conn, service: describe(ctx, conn)}
		medians[transport[0]] = everyCall(ctx, client)
		health(ctx, conn)
		calls := client.service.Methods().Len()
		fmt.Printf("grpc-go %s over %s: %d of %d calls, health and reflection answered; Filter of one cached pod: p50 %d µs\n",
			grpc.Version, transport[0], calls, calls, medians[transport[0]].Microseconds())
		check(conn.Close(), "close")
		cancel()
	}
	require(medians["tcp"] < medians["unix"]+tcpMore, "small answers over TCP do not wait for acknowledgements")
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	fmt.Printf("Prometheus' expfmt: %d families of metrics\n", metrics(ctx, address))
}
