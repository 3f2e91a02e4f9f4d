"""A core in grpc-python that negotiates with parties about pods of the namespace demo, and what both programs here wait and check with."""

import sys
import time

# For anything that should happen: on a busy machine a first evaluation takes a while.
TIMEOUT_SECONDS = 60


def check(condition, what):
    if not condition:
        sys.exit(f"error: licences: {what}")


def until(condition, what):
    """Waits for something that follows from what was said."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        check(time.monotonic() < deadline, f"{what} did not come in time")
        time.sleep(0.02)


class Core:
    """Negotiates, selects, releases. A real one also binds."""

    def __init__(self, pb, messages, stub):
        self.pb, self.messages, self.stub = pb, messages, stub

    def negotiate(self, name):
        """The id and the nodes; none where no node suits."""
        pod = self.messages.Pod(name=self.messages.PodName(namespace="demo", name=name))
        nodes = []
        for event in self.stub.Negotiate(self.pb.NegotiateRequest(pod=pod), timeout=TIMEOUT_SECONDS):
            if event.HasField("viable"):
                nodes = list(event.viable.nodes)
            if event.HasField("ended"):
                end = self.pb.End.Name(event.ended.end)
                print(f"core: the negotiation about demo/{name} ends with {end} {nodes}")
                return event.id, nodes
        sys.exit("error: licences: the stream ended before the negotiation")

    def select(self, id, nodes):
        """The node to bind the pod to."""
        for event in self.stub.Select(self.pb.SelectRequest(id=id, nodes=nodes), timeout=TIMEOUT_SECONDS):
            if event.HasField("allocated"):
                print(f"core: allocated, the pod may be bound to {event.allocated.node}")
                return event.allocated.node
        sys.exit("error: licences: nothing was allocated")

    def release(self, id):
        self.stub.Release(self.pb.ReleaseRequest(id=id), timeout=TIMEOUT_SECONDS)
