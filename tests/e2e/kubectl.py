#!/usr/bin/env python3
"""Runs `kubectl nodesift` with a real kubectl against a real kube-apiserver: kubectl finds the plugin, lists it, passes arguments and
kubeconfig on, and asks it for completions; and krew installs it from the manifest of a release.

The arguments are the folder with etcd, kube-apiserver, kubectl and krew, by default target/e2e, which `make e2e` fills, and the built
nodesift, by default target/debug/nodesift. It needs python3-yaml. Start at main().
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "manifests"))
import dry_run  # noqa: E402

# The first answer of a build of the dev profile compiles all predicates.
TIMEOUT_SECONDS = 300 * int(os.environ.get("NODESIFT_TIMEOUT_FACTOR", "1"))
NAMESPACE = "shop"
# kube-apiserver itself gives new nodes a taint; the plugin that does it is off, as in the other tests beside it.
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def node(name, **spec):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": spec,
            "status": {"capacity": CAPACITY, "allocatable": CAPACITY}}


def pod(name, cpu):
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"containers": [container]}}


# One node is cordoned, one is tainted, and none has 16 cpu.
OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    node("cordoned", unschedulable=True),
    node("tainted", taints=[{"key": "gpu", "value": "true", "effect": "NoSchedule"}]),
    node("free"),
    pod("fits", "1"),
    pod("large", "16"),
]

problems = []


def expect(condition, what, done):
    if not condition:
        problems.append(f"{what}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


class Kubectl:
    """A kubectl of a user: its plugins in a folder of PATH, its cluster in a kubeconfig, nothing else from this machine."""

    def __init__(self, folder, binaries, nodesift, server):
        self.folder, self.nodesift = folder, nodesift
        self.plugins = folder / "plugins"
        self.plugins.mkdir()
        for name, program in {"kubectl": binaries / "kubectl", "kubectl-krew": binaries / "krew", "kubectl-nodesift": nodesift}.items():
            (self.plugins / name).symlink_to(program)
        kubeconfig = {
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": f"https://127.0.0.1:{server.port}",
                                                      "certificate-authority": str(folder / "certificates" / "apiserver.crt")}}],
            "users": [{"name": "administrator", "user": {"token": dry_run.TOKEN}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "administrator", "namespace": NAMESPACE}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(kubeconfig))
        self.environment = {
            "HOME": str(folder), "KUBECONFIG": str(folder / "kubeconfig"), "KREW_ROOT": str(folder / "krew"),
            "KREW_NO_UPGRADE_CHECK": "1", "PATH": f"{self.plugins}:/usr/bin:/bin",
            # Compiled predicates are kept from run to run.
            "XDG_CACHE_HOME": str(binaries / "cache"),
        }

    def run(self, *arguments, program="kubectl", stdin=None, **environment):
        return subprocess.run([program, *arguments], input=stdin or "", capture_output=True, text=True, check=False, cwd=self.folder,
                              env={**self.environment, **environment}, timeout=TIMEOUT_SECONDS)

    def completed(self, *words):
        """The candidates that kubectl would show for the last word."""
        done = self.run("__complete", *words)
        candidates = [line.split("\t")[0] for line in done.stdout.splitlines() if not line.startswith(":")]
        return candidates, done


def is_a_plugin(kubectl):
    done = kubectl.run("plugin", "list")
    listed = str(kubectl.plugins / "kubectl-nodesift") in done.stdout.split()
    expect(done.returncode == 0 and listed, "kubectl lists no plugin nodesift, or warns of it", done)
    done = kubectl.run("nodesift", "why", "--help")
    expect("Usage: kubectl nodesift why" in done.stdout, "the plugin does not speak of itself", done)


def explains(kubectl):
    done = kubectl.run("nodesift", "why", "large")
    for text in ("shop/large", "NodeUnschedulable", "gpu=true:NoSchedule", "wants 16 cpu", "0/3 nodes are available"):
        expect(text in done.stdout, f"why large does not say {text!r}", done)
    # What kubectl's own options are called.
    named = kubectl.run("nodesift", "why", "pod/large", "-n", NAMESPACE, "--context", "here", "--kubeconfig",
                        str(kubectl.folder / "kubeconfig"), KUBECONFIG="/dev/null")
    expect(named.stdout == done.stdout, "with kubectl's options it answers otherwise", named)
    done = kubectl.run("nodesift", "why", "large", "--exit-code")
    expect(done.returncode == 3, "the exit code does not come through kubectl", done)
    done = kubectl.run("nodesift", "why", "lrage")
    expect(done.returncode == 65 and "shop/large" in done.stderr, "a name that was mistyped proposes none", done)
    # The same cluster as people save it, which does not say of which version its server is.
    server = json.loads(kubectl.run("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
    version = ".".join(server.removeprefix("v").split(".")[:2])
    saved = kubectl.run("get", "nodes,pods,namespaces", "-A", "-o", "json")
    (kubectl.folder / "cluster.json").write_text(saved.stdout)
    for name in ("fits", "large"):
        live = kubectl.run("nodesift", "why", name, "-o", "json")
        file = kubectl.run("nodesift", "why", name, "-n", NAMESPACE, "-o", "json", "--cluster", "cluster.json", "--kubernetes", version)
        try:
            answers = [json.loads(done.stdout) for done in (live, file)]
        except ValueError:
            expect(False, f"why {name} is no JSON", live if live.returncode else file)
            continue
        for part in ("nodes", "feasibleCount", "funnel", "cause", "message"):
            both = [answer.get(part) for answer in answers]
            expect(both[0] == both[1], f"{part} of {name} differ, {both}", live)


def completes(kubectl):
    script = kubectl.run("nodesift", "completion", "kubectl")
    completer = kubectl.plugins / "kubectl_complete-nodesift"
    completer.write_text(script.stdout)
    completer.chmod(0o755)
    for words, expected in {
        ("nodesift", "wh"): ["why"],
        ("nodesift", "why", ""): ["fits", "large"],
        ("nodesift", "why", "-n", NAMESPACE, "la"): ["large"],
        ("nodesift", "why", "--node", ""): ["cordoned", "free", "tainted"],
        ("nodesift", "why", "-o", "ya"): ["yaml"],
    }.items():
        candidates, done = kubectl.completed(*words)
        expect(sorted(candidates) == expected, f"kubectl completes {words} with {candidates}", done)
    done = kubectl.run("plugin", "list")
    expect(done.returncode == 0, "the program for completion disturbs kubectl's list of plugins", done)


def krew_installs(kubectl, version):
    """As `make dist` packs it, and as a user of the release installs it."""
    machine = os.uname().machine
    stem = f"nodesift-{version}-{machine}-linux-gnu"
    archive, manifest = kubectl.folder / "nodesift.tar.gz", kubectl.folder / "nodesift.yaml"
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(kubectl.nodesift.resolve(), f"{stem}/nodesift")
        packed.add(ROOT / "LICENSE", f"{stem}/LICENSE")
    made = kubectl.run(version, machine, str(archive), program=str(ROOT / "deploy" / "krew" / "manifest.sh"))
    expect(made.returncode == 0, "the manifest for krew is not made", made)
    manifest.write_text(made.stdout)
    (kubectl.plugins / "kubectl-nodesift").unlink()
    install = ("krew", "install", f"--manifest={manifest}", f"--archive={archive}")
    done = kubectl.run(*install)
    expect(done.returncode == 0 and "Caveats" in done.stderr, "krew does not install the plugin", done)
    path = f"{kubectl.folder / 'krew' / 'bin'}:{kubectl.environment['PATH']}"
    done = kubectl.run("nodesift", "why", "large", PATH=path)
    expect("shop/large" in done.stdout, "what krew has installed does not answer", done)
    # krew must be able to refuse.
    manifest.write_text(made.stdout.replace('sha256: "', 'sha256: "0'))
    kubectl.run("krew", "uninstall", "nodesift")
    done = kubectl.run(*install)
    expect(done.returncode != 0, "krew installs an archive with another checksum", done)


def main():
    binaries = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "e2e").resolve()
    nodesift = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target" / "debug" / "nodesift").resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        server = dry_run.Server(binaries, folder)
        try:
            server.begin()
            kubectl = Kubectl(folder, binaries, nodesift, server)
            done = kubectl.run("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
            expect(done.returncode == 0, "the objects are not taken", done)
            is_a_plugin(kubectl)
            explains(kubectl)
            completes(kubectl)
            krew_installs(kubectl, dry_run.manifests.version())
            version = json.loads(kubectl.run("version", "-o", "json").stdout)
        finally:
            server.stop()
    for text in problems:
        print(f"error: {text}")
    print(f"kubectl nodesift: kubectl {version['clientVersion']['gitVersion']}, kube-apiserver {version['serverVersion']['gitVersion']}, "
          f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
