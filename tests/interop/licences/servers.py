"""A licence server of sdk/core as a program of its own, and a core that negotiates with it, against a running sidecar.

Arguments: the Unix socket, the folder of the proto, an empty folder, and the command of the server without its arguments. There is one
seat and two pods: the seat is had once, also where the server is killed in between, and again after it was given back.
"""

import json
import os
import pathlib
import subprocess
import sys

import grpc

from core import TIMEOUT_SECONDS, Core, check, until


class Server:
    """The program, with one seat."""

    def __init__(self, command, socket, proto, folder):
        self.file = pathlib.Path(folder, "seats.json")
        self.command = [*command, socket, "1", str(self.file)]
        self.environment = {**os.environ, "PYTHONPATH": proto}
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment)

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)

    def taken(self):
        """The seats that the server has written down as taken."""
        return list(json.loads(self.file.read_text()).values()) if self.file.exists() else []


def check_seats(server, core):
    """One seat for two pods, with a server that is killed while it is taken."""
    server.start()
    first, nodes = core.negotiate("first")
    check(sorted(nodes) == ["node-a", "node-b", "node-c"], f"a seat is not good on every node: {nodes}")
    core.select(first, nodes)
    check(server.taken() == ["demo/first"], f"taken: {server.taken()}")
    _, nodes = core.negotiate("second")
    check(nodes == [], f"a second seat on {nodes}")

    server.kill()
    server.start()
    _, nodes = core.negotiate("second")
    check(nodes == [], f"a server that was killed has sold its seat again, on {nodes}")
    check(server.taken() == ["demo/first"], f"taken after the kill: {server.taken()}")

    core.release(first)
    until(lambda: server.taken() == [], "the seat of a pod that is released")
    second, nodes = core.negotiate("second")
    core.select(second, nodes)
    check(server.taken() == ["demo/second"], f"taken by the second: {server.taken()}")
    core.release(second)
    until(lambda: server.taken() == [], "the seat of the second pod")


def main():
    socket, proto, folder, *command = sys.argv[1:]
    sys.path.insert(0, proto)
    messages = grpc.protos("nodesift/v1/nodesift.proto")
    pb, stubs = grpc.protos_and_services("nodesift/v1/negotiation.proto")
    server = Server(command, socket, proto, folder)
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        try:
            check_seats(server, Core(pb, messages, stubs.NegotiationStub(channel)))
        finally:
            server.kill()
    print(f"{' '.join(command)}: one seat, two pods, and a server that was killed")


main()
