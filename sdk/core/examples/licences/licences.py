"""A licence server with a number of seats: python licences.py SOCKET SEATS FILE, with the folder of the proto in PYTHONPATH."""

import json
import os
import queue
import sys
import time

import grpc

pb, stubs = grpc.protos_and_services("nodesift/v1/negotiation.proto")
socket, seats, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
# Which call has which seat, by the id of the call: what was allocated is asked for, and given back, by that.
taken = json.load(open(file)) if os.path.exists(file) else {}


def keep(what):
    """Writes the seats down before anybody is told: a server that forgets one has sold it twice."""
    with open(file + ".new", "w") as new:
        json.dump(taken, new)
    os.replace(file + ".new", file)
    print(f"{what}: {len(taken)} of {seats} seats are taken", flush=True)


def answer(kind, call):
    if kind == "ask":
        # What is not named suits. A seat is good on every node.
        nodes = [*call.nodes, *call.recheck] if len(taken) >= seats else []
        yield pb.PartyMessage(answer=pb.Answer(id=call.id, nodes=[pb.Unsuitable(node=it, reason="no free seat") for it in nodes]))
    elif kind == "allocate":
        if str(call.id) not in taken and len(taken) >= seats:
            yield pb.PartyMessage(failed=pb.PartyFailed(id=call.id, reason="no free seat", nodes=call.nodes))
            return
        if str(call.id) not in taken:
            taken[str(call.id)] = call.pod.namespace + "/" + call.pod.name
            keep(taken[str(call.id)] + " takes a seat")
        yield pb.PartyMessage(allocated=pb.PartyAllocated(id=call.id, claims=[it.uid for it in call.claims], nodes=call.nodes))
    elif kind == "deallocate":
        if pod := taken.pop(str(call.id), None):
            keep(pod + " gives its seat back")
            # Whoever was told that no seat is free is told otherwise.
            yield pb.PartyMessage(invalidate=pb.Invalidate())
        yield pb.PartyMessage(deallocated=pb.PartyDeallocated(id=call.id))


while True:
    say = queue.SimpleQueue()
    say.put(pb.PartyMessage(attend=pb.PartyAttend(party="licences")))
    with grpc.insecure_channel("unix:" + socket) as channel:
        try:
            for call in stubs.PartiesStub(channel).Attend(iter(say.get, None)):
                # What a newer sidecar says besides needs no answer.
                if kind := call.WhichOneof("call"):
                    for message in answer(kind, getattr(call, kind)):
                        say.put(message)
        except grpc.RpcError as error:
            print(f"not attending: {error.details()}", flush=True)
        say.put(None)
    time.sleep(1)  # What was asked meanwhile is asked again.
