#!/usr/bin/env python3
"""Sends the manifests in deploy/ to a real kube-apiserver as a server-side dry run, and the pods of their Deployments to a namespace that
enforces the Pod Security Standard `restricted`.

The argument is the folder with etcd and kube-apiserver, by default target/e2e, which `make e2e` fills; TEST_ASSET_ETCD and
TEST_ASSET_KUBE_APISERVER name others. It needs kubectl and python3-yaml. Objects of the operator of Prometheus are left out, because
the server does not know their kinds. Start at main().
"""

import copy
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

try:
    import yaml
except ImportError:
    print("not run: the dry run of deploy/ needs python3-yaml")
    sys.exit(0)

sys.dont_write_bytecode = True
import check as manifests  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
KUSTOMIZE = ROOT / "deploy" / "kustomize"
OVERLAYS = {"extender": "kube-system", "kube-scheduler": "kube-system", "yunikorn": "yunikorn"}
TOKEN = "administrator"
START_SECONDS = 60 * int(os.environ.get("NODESIFT_TIMEOUT_FACTOR", "1"))
# As in tests/e2e: plugins that need controllers.
ADMISSION_LEFT_OUT = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
# What YuniKorn's chart makes, as far as the overlay touches it.
YUNIKORN = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: yunikorn-scheduler, namespace: yunikorn, labels: {app: yunikorn}}
spec:
  replicas: 1
  selector: {matchLabels: {app: yunikorn, component: yunikorn-scheduler, release: yunikorn}}
  template:
    metadata: {labels: {app: yunikorn, component: yunikorn-scheduler, release: yunikorn}}
    spec:
      serviceAccountName: yunikorn-admin
      containers:
      - name: yunikorn-scheduler-k8s
        image: apache/yunikorn:scheduler-1.8.0
        ports: [{name: http1, containerPort: 9080}]
      - name: yunikorn-scheduler-web
        image: apache/yunikorn:web-1.8.0
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """etcd and kube-apiserver, with kubectl as an administrator."""

    def __init__(self, binaries, folder):
        self.folder, self.binaries, self.programs, self.port = folder, binaries, [], free_port()

    def begin(self):
        folder, binaries = self.folder, self.binaries
        clients, peers = free_port(), free_port()
        etcd = os.environ.get("TEST_ASSET_ETCD", binaries / "etcd")
        self.start("etcd", etcd, f"--data-dir={folder}/etcd", "--unsafe-no-fsync", "--log-level=warn",
                   f"--listen-client-urls=http://127.0.0.1:{clients}", f"--advertise-client-urls=http://127.0.0.1:{clients}",
                   f"--listen-peer-urls=http://127.0.0.1:{peers}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
                   f"--initial-cluster=default=http://127.0.0.1:{peers}")
        self.wait(f"http://127.0.0.1:{clients}/health")
        (folder / "tokens.csv").write_text(f'{TOKEN},administrator,administrator,"system:masters"\n')
        key = folder / "certificates" / "apiserver.key"
        server = os.environ.get("TEST_ASSET_KUBE_APISERVER", binaries / "kube-apiserver")
        self.start("kube-apiserver", server, f"--etcd-servers=http://127.0.0.1:{clients}", f"--cert-dir={key.parent}",
                   "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={self.port}",
                   f"--service-account-issuer=https://127.0.0.1:{self.port}", f"--service-account-key-file={key}",
                   f"--service-account-signing-key-file={key}", f"--token-auth-file={folder}/tokens.csv",
                   "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/16",
                   f"--disable-admission-plugins={ADMISSION_LEFT_OUT}")
        self.wait(f"https://127.0.0.1:{self.port}/readyz")

    def start(self, name, program, *arguments):
        log = open(self.folder / f"{name}.log", "w", encoding="utf-8")
        # It makes its keys in the folder in which it runs.
        self.programs.append(subprocess.Popen([program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def wait(self, url):
        context = ssl._create_unverified_context() if url.startswith("https") else None
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self.programs[-1].poll() is not None or time.monotonic() > deadline:
                name = "etcd" if len(self.programs) == 1 else "kube-apiserver"
                sys.exit(f"error: {name} does not start: {(self.folder / f'{name}.log').read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(request, timeout=2, context=context) as answer:
                    if answer.status == 200:
                        return
            except (OSError, urllib.error.URLError):
                pass
            time.sleep(0.1)

    def kubectl(self, *arguments, stdin=None):
        command = ["kubectl", "--server", f"https://127.0.0.1:{self.port}", "--token", TOKEN, "--insecure-skip-tls-verify", *arguments]
        environment = {**os.environ, "KUBECONFIG": "/dev/null"}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, env=environment, timeout=120)

    def stop(self):
        for program in reversed(self.programs):
            program.terminate()
        for program in reversed(self.programs):
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()


problems = []


def accepted(server, where, objects, *arguments):
    """Sends objects; what the server warns of is a problem too."""
    text = yaml.safe_dump_all(objects)
    done = server.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", *arguments, "-f", "-", stdin=text)
    for line in done.stderr.splitlines():
        problems.append(f"{where}: {line}")
    if done.returncode != 0 and not done.stderr:
        problems.append(f"{where}: exit code {done.returncode}")
    return done.stdout.splitlines()


def pods_of(objects):
    """The pods that a controller would make of the Deployments."""
    for item in objects:
        if item["kind"] == "Deployment":
            template = copy.deepcopy(item["spec"]["template"])
            yield {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
                   "metadata": {"name": item["metadata"]["name"], "namespace": "restricted", "labels": template["metadata"]["labels"]}}


def sent(server, where, objects):
    lines = accepted(server, where, objects, "--dry-run=server")
    if len(lines) != len(objects):
        problems.append(f"{where}: {len(lines)} of {len(objects)} objects were taken")
    for pod in pods_of(objects):
        if pod["metadata"]["name"] == "yunikorn-scheduler":
            # The chart gives its own container no securityContext, so only the sidecar is looked at.
            pod["spec"]["containers"] = [pod["spec"]["initContainers"].pop()]
            del pod["spec"]["containers"][0]["restartPolicy"]
            # A pod without an account may not ask for its token; the Deployment has that of the chart.
            pod["spec"]["serviceAccountName"] = "yunikorn-admin"
        lines += accepted(server, f"the pod of {where}", [pod], "--dry-run=server")
    return len(lines)


def extender_with_modules():
    with tempfile.TemporaryDirectory() as folder:
        relative = {name: os.path.relpath(KUSTOMIZE / name, pathlib.Path(folder).resolve()) for name in ("extender", "modules-image")}
        (pathlib.Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [relative["extender"]], "components": [relative["modules-image"]],
        }))
        built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(built.stdout))


def check(server):
    for name in ("yunikorn", "monitoring"):
        accepted(server, name, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    accepted(server, "restricted", [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "restricted", "labels": levels}}])
    accepted(server, "YuniKorn's chart", list(yaml.safe_load_all(YUNIKORN)), "--field-manager=helm")
    # Dry runs must be able to refuse.
    before = len(problems)
    accepted(server, "", [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": []}}], "--dry-run=server")
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "restricted"},
            "spec": {"containers": [{"name": "a", "image": "a"}]}}
    accepted(server, "", [bare], "--dry-run=server")
    refused, problems[before:] = problems[before:], []
    if not any("ports" in line for line in refused) or not any("restricted" in line for line in refused):
        problems.append(f"the server takes what is wrong: {refused}")

    count = 0
    for name in ("rbac.yaml", "crd.yaml", "podnegotiations.yaml", "podnegotiations-admission.yaml"):
        objects = list(yaml.safe_load_all((ROOT / "deploy" / name).read_text()))
        count += len(accepted(server, f"deploy/{name}", objects, "--dry-run=server"))
    for overlay, namespace in OVERLAYS.items():
        where = f"deploy/kustomize/{overlay}"
        built = subprocess.run(["kubectl", "kustomize", str(KUSTOMIZE / overlay)], capture_output=True, text=True, check=True)
        objects = list(yaml.safe_load_all(built.stdout))
        count += sent(server, where, objects)
        if namespace == "yunikorn":
            merged = server.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "yaml", "-f", "-",
                                    stdin=yaml.safe_dump([item for item in objects if item["kind"] == "Deployment"][0]))
            spec = (yaml.safe_load(merged.stdout) or {}).get("spec", {}).get("template", {}).get("spec", {})
            names = [container["name"] for container in spec.get("containers", []) + spec.get("initContainers", [])]
            if sorted(names) != ["nodesift", "yunikorn-scheduler-k8s", "yunikorn-scheduler-web"]:
                problems.append(f"{where}: merged with the chart it has the containers {names}: {merged.stderr}")
    count += sent(server, "deploy/kustomize/extender with modules-image", extender_with_modules())
    for path in sorted(manifests.CHART.glob("values*.yaml")):
        defaults = yaml.safe_load((manifests.CHART / "values.yaml").read_text())
        text = manifests.rendered(manifests.merged(defaults, yaml.safe_load(path.read_text())))
        if text is None:
            break
        objects = [item for item in yaml.safe_load_all(text) if item]
        count += sent(server, path.relative_to(ROOT), objects)
    problems.extend(manifests.problems)
    for text in manifests.skipped:
        print(f"not checked: {text}")
    return count


def main():
    if not shutil.which("kubectl"):
        print("not run: the dry run of deploy/ needs kubectl")
        return
    binaries = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "e2e").resolve()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(binaries, pathlib.Path(folder))
        try:
            server.begin()
            count = check(server)
            version = server.kubectl("get", "--raw", "/version").stdout
        finally:
            server.stop()
    for text in problems:
        print(f"error: {text}")
    print(f"{count} objects sent to kube-apiserver {yaml.safe_load(version)['gitVersion']}, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
