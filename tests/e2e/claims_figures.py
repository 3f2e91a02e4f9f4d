#!/usr/bin/env python3
"""Measures pods with claims on one cluster with devices, in turns: `nodesift-dev bench`, and kube-scheduler's own plugin.

The figures of the plugin are PreFilter and Filter of DynamicResources over all nodes, on one thread; those of nodesift are whole answers of
the default policy. Medians of the rounds. Fails where the two do not say that as many nodes fit.
"""
import argparse
import json
import statistics
import subprocess
import sys

# The figures of nodesift, as `nodesift-dev bench -o jsonl` names them, with their columns.
OURS = {"cold_ns": "cold", "allocated_ns": "claim allocated", "warm_ns": "warm"}


def lines(command, text=None):
    """The lines of JSON that a program prints."""
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: {command[0]} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(arguments, nodes, devices):
    """By pod: how many nodes fit, and the times of each figure, in ns."""
    shape = ["--nodes", str(nodes), "--devices-per-node", str(devices)]
    cluster = subprocess.run([arguments.device_cluster, *shape], check=True, stdout=subprocess.PIPE, text=True).stdout
    feasible, times = {}, {}
    for turn in range(arguments.rounds):
        print(f"{nodes} nodes: round {turn + 1} of {arguments.rounds}", file=sys.stderr)
        bench = [arguments.nodesift_dev, "bench", "--devices", f"{nodes}x{devices}", "-o", "jsonl"]
        for line in (line for line in lines(bench) if "pod" in line):
            feasible[line["pod"]] = line["feasible"]
            for figure in OURS:
                times.setdefault((line["pod"], figure), []).append(line[figure])
        for line in lines([arguments.plugin], cluster):
            pod = line["pod"].removeprefix("bench-").removesuffix("-0")
            if feasible.get(pod) != line["feasible"]:
                sys.exit(f"error: pod {pod}: {feasible.get(pod)} nodes fit, and {line['feasible']} for kube-scheduler")
            times.setdefault((pod, "kube_scheduler_ns"), []).append(line["kube_scheduler_ns"])
    return feasible, times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodesift_dev", help="nodesift-dev, built for release")
    parser.add_argument("device_cluster", help="the program that prints the cluster")
    parser.add_argument("plugin", help="the program that measures kube-scheduler's plugin")
    parser.add_argument("--devices", default="500x10,5000x8", help="clusters, as NODESxDEVICES")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    columns = ["nodes", "pod", "feasible", "kube-scheduler", *OURS.values(), "cold is faster by"]
    rows = []
    for shape in arguments.devices.split(","):
        nodes, devices = (int(number) for number in shape.split("x"))
        feasible, times = measure(arguments, nodes, devices)
        for pod, fits in feasible.items():
            median = {figure: statistics.median(times[pod, figure]) for figure in ["kube_scheduler_ns", *OURS]}
            microseconds = [f"{nanos / 1000:,.1f}" for nanos in median.values()]
            faster = f"{median['kube_scheduler_ns'] / median['cold_ns']:.0f} times"
            rows.append([f"{nodes:,}", pod, str(fits), *microseconds, faster])
    widths = [max(len(row[at]) for row in [columns, *rows]) for at in range(len(columns))]
    for row in [columns, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
    print("times in µs")


if __name__ == "__main__":
    main()
