"""A licence server as a party, and a core that negotiates with it, both in grpc-python against a running sidecar.

Arguments: the binary, the Unix socket, the folder of the proto. It prints `nodesift explain` before the negotiation, while a licence is
taken, and after it is given back, and exits with 1 and the reason where anything is not as it should be. See docs/src/api/negotiate.md.
"""

import queue
import subprocess
import sys
import threading

import grpc

from core import Core, check, until

class LicenceServer:
    """Knows which nodes have a free licence. One pod takes one."""

    def __init__(self, pb, stub, free):
        self.pb, self.free, self.taken = pb, free, {}
        self.say = queue.SimpleQueue()
        self.say.put(pb.PartyMessage(attend=pb.PartyAttend(party="licences")))
        self.attends = threading.Event()
        self.calls = stub.Attend(iter(self.say.get, None))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            for call in self.calls:
                getattr(self, call.WhichOneof("call"))(getattr(call, call.WhichOneof("call")))
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.CANCELLED:
                print(f"licence server: {error.code()}: {error.details()}", file=sys.stderr)

    def ask(self, ask):
        unsuitable = [
            self.pb.Unsuitable(node=node, reason="no free licence")
            for node in [*ask.nodes, *ask.recheck]
            if self.free.get(node, 0) == 0
        ]
        print(f"licence server: asked about {len(ask.nodes)} nodes for {ask.pod.namespace}/{ask.pod.name}, "
              f"{len(unsuitable)} have no free licence")
        # It says so itself when that changes.
        self.say.put(self.pb.PartyMessage(answer=self.pb.Answer(id=ask.id, nodes=unsuitable, valid_ms=30_000)))

    def allocate(self, allocate):
        if allocate.id not in self.taken:
            node = next((node for node in allocate.nodes if self.free.get(node, 0) > 0), None)
            if node is None:
                failed = self.pb.PartyFailed(id=allocate.id, reason="no free licence", nodes=allocate.nodes)
                self.say.put(self.pb.PartyMessage(failed=failed))
                return
            self.free[node] -= 1
            self.taken[allocate.id] = node
            print(f"licence server: {allocate.pod.namespace}/{allocate.pod.name} has the licence of {node}")
            self.say.put(self.pb.PartyMessage(invalidate=self.pb.Invalidate()))
        allocated = self.pb.PartyAllocated(id=allocate.id, nodes=[self.taken[allocate.id]])
        self.say.put(self.pb.PartyMessage(allocated=allocated))

    def deallocate(self, deallocate):
        node = self.taken.pop(deallocate.id, None)
        if node is not None:
            self.free[node] += 1
            print(f"licence server: the licence of {node} is free again")
            self.say.put(self.pb.PartyMessage(invalidate=self.pb.Invalidate()))
        self.say.put(self.pb.PartyMessage(deallocated=self.pb.PartyDeallocated(id=deallocate.id)))

    def withdraw(self, withdraw):
        pass


def explain(binary, socket, pod, what):
    """Prints what `nodesift explain` says of a pod, and returns it."""
    command = [binary, "explain", "--server", f"unix:{socket}", "--pod", f"demo/{pod}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"explain fails: {done.stderr}")
    print(f"--- nodesift explain --pod demo/{pod} {what}\n{done.stdout.rstrip()}")
    return done.stdout


def main():
    binary, socket, proto = sys.argv[1:]
    sys.path.insert(0, proto)
    messages = grpc.protos("nodesift/v1/nodesift.proto")
    pb, stubs = grpc.protos_and_services("nodesift/v1/negotiation.proto")
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        core = Core(pb, messages, stubs.NegotiationStub(channel))
        before = explain(binary, socket, "first", "before anybody is asked")
        check("no free licence" not in before, "something is known of licences before the server attends")
        check("not asked: it does not attend" in before, "explain does not say that the server is away")

        server = LicenceServer(pb, stubs.PartiesStub(channel), {"node-b": 1})
        id, nodes = core.negotiate("first")
        check(nodes == ["node-b"], f"the nodes are {nodes}")
        during = explain(binary, socket, "second", "while the answer is valid")
        check("no free licence" in during, "explain does not name the reason")
        check("refused: no free licence" in during, "explain does not say who has refused")

        check(core.select(id, nodes) == "node-b", "another node was allocated")
        other, nodes = core.negotiate("second")
        check(nodes == [], f"there is a second licence: {nodes}")
        taken = explain(binary, socket, "second", "while the only licence is taken")
        check("no free licence" in taken, "explain does not name the reason")

        core.release(id)
        until(lambda: server.free["node-b"] == 1, "the licence")
        other, nodes = core.negotiate("second")
        check(nodes == ["node-b"], f"the licence does not come back: {nodes}")
        core.release(other)
        explain(binary, socket, "second", "after it was given back")
        server.calls.cancel()
    print(f"grpc-python {grpc.__version__}: a licence server and a core have negotiated")


main()
