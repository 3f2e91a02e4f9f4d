"""A predicate that does what the sandbox lacks, and what goes wrong: one of them, which its argument names."""

import os
import random
import sys
import threading
import time
from dataclasses import dataclass

from nodesift import Nodes, Pod, log, predicate


@dataclass
class Args:
    does: str = ""


def deep(n: int) -> int:
    return deep(n + 1) + 1


@predicate(name="Cells", summary="does what the sandbox lacks", reads=["pod-labels"], args=Args)
def cells(pod: Pod, nodes: Nodes, args: Args) -> None:
    match args.does:
        case "print":
            print("printed", pod.namespace)
        case "log":
            log.info("logged")
        case "clock":
            time.time()
        case "random":
            random.random()
        case "file":
            open("/etc/hostname")
        case "network":
            import socket  # noqa: F401
        case "environment":
            os.getenv("HOME")
        case "exit":
            sys.exit(1)
        case "exception":
            raise KeyError("mine")
        case "index":
            [][nodes.count]
        case "loop":
            while True:
                pass
        case "memory":
            bytearray(100 << 20)
        case "stack":
            deep(0)
        case "deadlock":
            threading.Event().wait()
