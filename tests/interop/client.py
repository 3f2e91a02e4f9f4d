"""grpc-python against a running sidecar: every call once over each transport, health, reflection, and /metrics.

Arguments: the Unix socket, the TCP address, the folder of the proto. Exits with 1 and the reason where anything is not as a
client expects. The socket is dialled with no channel option, as anyone would do first.
"""

import statistics
import sys
import time
import urllib.request

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_plain

SERVICE = "nodesift.v1.Nodesift"
# Calls whose latency is measured, after as many that are not.
CALLS = 400
# How much longer a call over TCP may take at the median. A delayed acknowledgement takes 40 ms.
TCP_MORE_SECONDS = 0.020
# For one call; on a busy machine a first evaluation takes a while.
TIMEOUT_SECONDS = 60


def check(condition, what):
    if not condition:
        sys.exit(f"error: grpc-python: {what}")


def every_call(channel, pb, stubs):
    """Calls everything once, and returns the median of a cached answer in seconds."""
    stub = stubs.NodesiftStub(channel)
    made = []

    def call(name, request):
        made.append(name)
        return getattr(stub, name)(request, timeout=TIMEOUT_SECONDS)

    pending = call("Filter", pb.FilterRequest(pending=True))
    answer = next((pod for pod in pending.pods if len(pod.feasible) > 0), None)
    check(answer is not None, "no pending pod fits any node")
    namespace, name = answer.pod.split("/")
    pod, node = pb.Pod(name=pb.PodName(namespace=namespace, name=name)), answer.feasible[0]

    filters = [pb.FilterStreamRequest(id=id, filter=pb.FilterRequest(pods=[pod])) for id in (7, 8)]
    made.append("FilterStream")
    answers = list(stub.FilterStream(iter(filters), timeout=TIMEOUT_SECONDS))
    check([each.id for each in answers] == [7, 8], f"FilterStream answers {answers}")
    check(all(each.answer.pods[0].feasible == answer.feasible for each in answers), "FilterStream contradicts Filter")

    explained = call("Explain", pb.ExplainRequest(pods=[pod]))
    check(len(explained.pods[0].predicates) > 5, "Explain names too few predicates")

    made.append("NodeIndex")
    table = []
    stream = stub.NodeIndex(pb.NodeIndexRequest(), timeout=TIMEOUT_SECONDS)
    for message in stream:
        table.extend(change.node for change in message.rows.changes)
        if message.complete:
            break
    stream.cancel()
    check(node in table, "NodeIndex lacks a node")

    assumed = call("Assume", pb.AssumeRequest(pod=pod, node=node, ttl_ms=60_000))
    check(assumed.placed == pb.PLACED_ASSUMED, f"Assume answers {assumed}")
    room = call("Headroom", pb.HeadroomRequest(pod=pb.Pod(uid=assumed.uid), amounts=[pb.NamedAmount(name="cpu", amount=1)]))
    check(room.node == node and 0 <= room.resources[0].fits <= 1, f"Headroom answers {room}")
    check(call("Forget", pb.ForgetRequest(pod=pb.Pod(uid=assumed.uid))).was_assumed, "Forget forgot nothing")

    fits = call("Predicates", pb.PredicatesRequest(allocation_key=assumed.uid, node_id=node, allocate=True))
    check(fits.fits, f"Predicates answers {fits}")
    nodes = call("PreFilterPredicates", pb.PreFilterPredicatesRequest(allocation_key=assumed.uid, allocate=True))
    check(list(nodes.feasible_nodes) == list(answer.feasible), "PreFilterPredicates contradicts Filter")
    victims = pb.PreemptionPredicatesRequest(allocation_key=assumed.uid, node_id=node)
    check(call("PreemptionPredicates", victims).index == -1, "PreemptionPredicates without victims finds one")
    dry_run = call("Reprieve", pb.ReprieveRequest(pod=pb.Pod(uid=assumed.uid), nodes=[pb.NodeVictims(node=node)]))
    check([one.fits for one in dry_run.nodes] == [True], f"Reprieve answers {dry_run}")

    supported = {known.name for known in call("Capabilities", pb.CapabilitiesRequest()).calls}
    check(supported > set(made), f"Capabilities does not know {sorted(set(made) - supported)}")

    methods = {method.name for method in pb.DESCRIPTOR.services_by_name["Nodesift"].methods}
    check(set(made) == methods, f"calls not made: {sorted(methods - set(made))}")

    try:
        unknown = pb.FilterRequest(pods=[pb.Pod(uid="none")])
        stub.Filter(unknown, timeout=TIMEOUT_SECONDS)
        check(False, "a pod that does not exist is answered")
    except grpc.RpcError as error:
        check(error.code() == grpc.StatusCode.NOT_FOUND, f"a pod that does not exist is {error.code()}")

    request = pb.FilterRequest(pods=[pb.Pod(uid=assumed.uid)], detail=pb.DETAIL_FEASIBLE, bitmaps=pb.Bitmaps())
    times = []
    for _ in range(2 * CALLS):
        started = time.perf_counter()
        stub.Filter(request, timeout=TIMEOUT_SECONDS)
        times.append(time.perf_counter() - started)
    return statistics.median(times[CALLS:]), len(methods)


def health_and_reflection(channel, pb):
    health = health_pb2_grpc.HealthStub(channel)
    for service in ("", SERVICE, "liveness"):
        answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT_SECONDS)
        check(answer.status == health_pb2.HealthCheckResponse.SERVING, f"health of {service!r} is {answer}")
    watch = health.Watch(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_SECONDS)
    check(next(watch).status == health_pb2.HealthCheckResponse.SERVING, "the watch of health does not begin with SERVING")
    watch.cancel()

    database = ProtoReflectionDescriptorDatabase(channel)
    services = set(database.get_services())
    check({SERVICE, "grpc.health.v1.Health"} <= services, f"reflection lists {services}")
    described = database.FindFileContainingSymbol(SERVICE)
    compiled = [method.name for method in pb.DESCRIPTOR.services_by_name["Nodesift"].methods]
    check([method.name for method in described.service[0].method] == compiled, "reflection describes other calls")


def metrics(address):
    """Both texts, parsed by Prometheus' own parsers, with the same samples but for those that change meanwhile."""
    names = []
    for accept, kind, parse in (
        ("application/openmetrics-text;version=1.0.0", "application/openmetrics-text", parse_openmetrics),
        ("text/plain;version=0.0.4", "text/plain", parse_plain),
    ):
        request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            check(response.headers["content-type"].startswith(kind), f"/metrics is {response.headers['content-type']}")
            families = list(parse(response.read().decode()))
        names.append({sample.name for family in families for sample in family.samples})
    check(names[0] == names[1], f"the two texts differ in {names[0] ^ names[1]}")
    for name in (
        "nodesift_build_info",
        "nodesift_api_requests_total",
        "nodesift_api_request_duration_seconds_bucket",
        "nodesift_predicate_calls_total",
        "nodesift_predicate_duration_seconds_bucket",
    ):
        check(name in names[0], f"/metrics lacks {name}")
    return len(names[0])


def main():
    socket, address, proto = sys.argv[1:]
    sys.path.insert(0, proto)
    pb, stubs = grpc.protos_and_services("nodesift/v1/nodesift.proto")
    medians = {}
    for transport, target in (("unix", f"unix:{socket}"), ("tcp", address)):
        with grpc.insecure_channel(target) as channel:
            medians[transport], calls = every_call(channel, pb, stubs)
            health_and_reflection(channel, pb)
        print(f"grpc-python {grpc.__version__} over {transport}: {calls} of {calls} calls, health and reflection answered; "
              f"Filter of one cached pod: p50 {medians[transport] * 1e6:.0f} µs")
    check(medians["tcp"] < medians["unix"] + TCP_MORE_SECONDS, "small answers over TCP wait for acknowledgements")
    print(f"prometheus-client for Python: {metrics(address)} names of samples, the same in both texts")


main()
