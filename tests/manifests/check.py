#!/usr/bin/env python3
"""Checks deploy/ against the program: every file parses, every flag, variable and metric exists, and what belongs together fits,
and no container has a token, a right, a folder or a way out that it does not need.

It needs python3-yaml and a built nodesift (the first argument, by default target/debug/nodesift). What else it can use and does not
find, it names: kubectl or kustomize to build the overlays, helm or Go to render the chart, python3-jsonschema. Start at main().
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    sys.exit("error: this reads YAML with python3-yaml, which is not here: apt-get install python3-yaml")

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
CHART = DEPLOY / "helm" / "nodesift"
# Without a version of Kubernetes, helm takes that of its own libraries, which a build from source does not know.
HELM = ["helm", "template", "nodesift", CHART, "--kube-version", "1.36.2", "--namespace", "kube-system"]
OVERLAYS = ["extender", "kube-scheduler", "yunikorn"]
# Metrics that the process exposes under the names that Prometheus' own clients use.
PROCESS = {"process_cpu_seconds", "process_resident_memory_bytes", "process_threads", "process_open_fds"}
# What follows the name of a metric in its samples.
SUFFIXES = ["_total", "_bucket", "_sum", "_count"]
UNITS = ["_seconds", "_bytes"]
SIDECAR = "nodesift.dev/sidecar"
# Where a program in a pod looks for its account.
TOKEN_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
SOCKET_VOLUME = "nodesift-socket"
# The ports on which a NetworkPolicy may let a pod reach every address: those of API servers, whose addresses nobody knows beforehand.
OPEN_PORTS = {443, 6443}
# What the sidecar may do besides list and watch, with `--policy-resource`.
STATUS_RULE = {"apiGroups": ["nodesift.dev"], "resources": ["predicatepolicies/status"], "verbs": ["patch"]}
# The same, with external parties in the policy.
NEGOTIATIONS_RULE = {
    "apiGroups": ["nodesift.dev"], "resources": ["podnegotiations"], "verbs": ["list", "get", "create", "update", "delete"],
}

problems = []
skipped = []


def problem(where, text):
    problems.append(f"{where}: {text}")


def expect(condition, where, text):
    if not condition:
        problem(where, text)


def run(*command, stdin=None):
    # Go compiles for some seconds.
    done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        problem(" ".join(str(part) for part in command), f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def documents(text, where):
    try:
        return [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        problem(where, f"is no YAML: {error}")
        return []


def files_parse():
    count = 0
    for path in sorted(DEPLOY.rglob("*")):
        if CHART / "templates" in path.parents or not path.is_file():
            continue
        where = path.relative_to(ROOT)
        if path.suffix == ".yaml":
            expect(documents(path.read_text(), where), where, "holds nothing")
            count += 1
        elif path.suffix == ".json":
            try:
                json.loads(path.read_text())
            except ValueError as error:
                problem(where, f"is no JSON: {error}")
            count += 1
    expect(count > 0, "deploy", "has no files")
    return count


# What the program says of itself.


def version():
    return re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)


def flags_of(binary, command):
    text = run(binary, command, "--help")
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)), set(re.findall(r"\[env: ([A-Z_]+)=", text))


def metric_names():
    """The names in the sources that are not tests; some get a suffix for their unit from the encoder."""
    names = set(PROCESS)
    for path in (ROOT / "host").rglob("*.rs"):
        if "tests" in path.parts or path.name == "tests.rs":
            continue
        shipped = path.read_text().split("#[cfg(test)]\nmod tests")[0]
        names |= set(re.findall(r'"(nodesift_[a-z_]+)"', shipped))
        # Predicates and scorers have the same ones, each under its own name.
        for rest in re.findall(r'"nodesift_\{kind\}_([a-z_]+)"', shipped):
            names |= {f"nodesift_{kind}_{rest}" for kind in ("predicate", "scorer")}
    return names


def is_known_metric(name, known):
    stems = {name} | {name.removesuffix(suffix) for suffix in SUFFIXES}
    stems |= {stem.removesuffix(unit) for stem in set(stems) for unit in UNITS}
    return bool(stems & known)


def scraped_names(text):
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}


# Alerts and the dashboard.


def expressions():
    rules = documents((KUSTOMIZE / "monitoring" / "rules.yaml").read_text(), "rules.yaml")[0]
    for group in rules["spec"]["groups"]:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]
            for field in ("summary", "runbook"):
                expect(rule["annotations"].get(field), f"alert {rule['alert']}", f"has no {field}")
                yield f"{field} of alert {rule['alert']}", rule["annotations"].get(field, "")
    dashboard = json.loads((KUSTOMIZE / "monitoring" / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f"panel {panel['title']}", target["expr"]
    for variable in dashboard["templating"]["list"]:
        yield f"variable {variable['name']}", variable["query"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    expect(len(ids) == len(set(ids)), "dashboard.json", "two panels have one id")


def metrics_exist(scrape):
    known, seen, used = metric_names(), scraped_names(scrape) if scrape else set(), set()
    expect(len(known) > len(PROCESS) + 20, "host", "has few metrics: the search for them is broken")
    for where, expression in expressions():
        for opening, closing in ("()", "{}", "[]"):
            expect(expression.count(opening) == expression.count(closing), where, f"{opening} and {closing} do not match")
        for name in re.findall(r"\b(?:nodesift|process)_[a-z_]+", re.sub(r'"[^"]*"', '""', expression)):
            # A runbook names a histogram as a whole; it is in no sample.
            if not where.startswith(("summary", "runbook")):
                used.add(name)
            expect(is_known_metric(name, known), where, f"no metric {name}")
    # A scrape has the suffixes too, but only of series that have values.
    stems = {name.removesuffix(suffix) for name in seen for suffix in SUFFIXES}
    for name in sorted(used if seen else ()):
        stem = name
        for suffix in SUFFIXES:
            stem = stem.removesuffix(suffix)
        expect(name in seen or stem not in stems | seen, "scrape", f"{name} is exposed under another name")
    return len(used), sorted(name for name in used if seen and name not in seen)


# Objects.


def pod_of(document):
    return document["spec"]["template"]["spec"]


def check_sidecar(where, pod, facts):
    sidecars = [container for container in pod.get("initContainers", []) if container["name"] == "nodesift"]
    if len(sidecars) != 1:
        problem(where, f"has {len(sidecars)} containers nodesift")
        return
    sidecar = sidecars[0]
    expect(sidecar.get("restartPolicy") == "Always", where, "the sidecar ends before the core starts")
    expect(sidecar["image"] == facts["image"], where, f"image {sidecar['image']}, not {facts['image']}")
    expect(sidecar["args"][0] == "serve", where, f"runs {sidecar['args'][0]}")
    for argument in sidecar["args"][1:]:
        expect(argument.split("=")[0] in facts["serve"][0], where, f"serve has no option {argument}")
    for variable in sidecar.get("env", []):
        expect(variable["name"] in facts["serve"][1], where, f"serve has no variable {variable['name']}")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        program, command, *options = sidecar[probe]["exec"]["command"]
        expect([program] == facts["entrypoint"] and command == "health", where, f"{probe} runs {program} {command}")
        for option in options:
            expect(option in facts["health"][0], where, f"health has no option {option}")
    context = sidecar["securityContext"]
    restricted = {
        "runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}, "runAsUser": facts["user"], "runAsGroup": facts["user"],
    }
    expect(context == restricted, where, f"securityContext is {context}, not {restricted}")
    mounts = {mount["mountPath"] for mount in sidecar["volumeMounts"]}
    ports = {str(port["containerPort"]) for port in sidecar["ports"]}
    for argument in sidecar["args"]:
        name, _, value = argument.partition("=")
        if value.startswith("/"):
            inside = any(value == mount or value.startswith(mount + "/") for mount in mounts)
            expect(inside, where, f"{argument} is in no volume")
        if name == "--probe-listen":
            expect(value.rpartition(":")[2] in ports, where, f"{argument} is no port of the container")
        if name == "--explorer":
            address, _, port = value.rpartition(":")
            expect(port in ports, where, f"{argument} is no port of the container")
            expect(address == "127.0.0.1", where, f"{argument} is reached by others than a port-forward")
    socket = {variable["name"]: variable.get("value") for variable in sidecar.get("env", [])}.get("NODESIFT_SOCKET")
    expect(socket and str(pathlib.PurePath(socket).parent) in mounts, where, f"the socket {socket} is in no volume")


# Rights. An account is (namespace, name).


def is_below(path, folder):
    return pathlib.PurePath(path).is_relative_to(folder)


def token_secrets(by_kind):
    """The account of each Secret that Kubernetes fills with a token."""
    return {item["metadata"]["name"]: (item["metadata"].get("namespace"), item["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name"))
            for item in by_kind.get("Secret", []) if item.get("type") == "kubernetes.io/service-account-token"}


def tokens_of_volume(volume, account, secrets):
    """The accounts whose tokens are in a volume. A Secret that is not among the objects may hold anything, so it counts by its name."""
    sources = [*volume.get("projected", {}).get("sources", [])]
    if "secret" in volume:
        sources.append({"secret": {"name": volume["secret"]["secretName"]}})
    held = {account for source in sources if "serviceAccountToken" in source}
    names = {source["secret"]["name"] for source in sources if "secret" in source}
    return held | {secrets.get(name, (None, f"of the Secret {name}")) for name in names}


def tokens_of_container(container, pod, account, secrets):
    volumes = {volume["name"]: tokens_of_volume(volume, account, secrets) for volume in pod["volumes"]}
    held = set()
    for mount in container.get("volumeMounts", []):
        held |= volumes.get(mount["name"], set())
    # What the API server adds, unless something is mounted there.
    usual = any(mount["mountPath"] == TOKEN_FOLDER for mount in container.get("volumeMounts", []))
    if pod.get("automountServiceAccountToken", True) and not usual:
        held.add(account)
    for variable in container.get("env", []):
        secret = variable.get("valueFrom", {}).get("secretKeyRef")
        if secret:
            held.add(secrets.get(secret["name"], (None, f"of the Secret {secret['name']}")))
    held |= {secrets.get(source["secretRef"]["name"], (None, "of a Secret")) for source in container.get("envFrom", []) if "secretRef" in source}
    return held


def roles_of(account, by_kind):
    """What is bound to an account: the name of each role, and its rules, or None where the role is not among the objects."""
    roles = {(kind, item["metadata"]["name"]): item["rules"] for kind in ("ClusterRole", "Role") for item in by_kind.get(kind, [])}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in by_kind.get(kind, []):
            if any((subject.get("namespace"), subject["name"]) == account for subject in binding["subjects"]):
                role = binding["roleRef"]
                yield role["name"], roles.get((role["kind"], role["name"]))


def check_account(where, account, by_kind):
    """The sidecar's account is there, may read what deploy/rbac.yaml says, and may do nothing else."""
    accounts = [(item["metadata"].get("namespace"), item["metadata"]["name"]) for item in by_kind.get("ServiceAccount", [])]
    expect(account in accounts, where, f"no ServiceAccount {account}")
    bound = dict(roles_of(account, by_kind))
    expect("nodesift" in bound, where, f"the ClusterRole nodesift is not bound to the sidecar's account {account}")
    for name, rules in bound.items():
        if rules is None:
            problem(where, f"the sidecar's account has the role {name}, which is of the cluster")
        for rule in rules or ():
            few = set(rule["verbs"]) <= {"list", "watch"} or rule in (STATUS_RULE, NEGOTIATIONS_RULE)
            expect(few and "*" not in rule["resources"] + rule["apiGroups"], where, f"the sidecar's role {name} grants {rule}")


def check_tokens(where, pod, account, own, secrets):
    """The sidecar has the token of its own account alone, the core that of the pod's, and no other container has any."""
    for container in pod["initContainers"] + pod["containers"]:
        named = f"{where}: {container['name']}"
        held = tokens_of_container(container, pod, account, secrets)
        expect(len(held) <= 1, named, f"has the tokens of {len(held)} accounts: {sorted(map(str, held))}")
        if container["name"] == "nodesift":
            expect(held == {own}, named, f"has the token of {held or 'nobody'}, not that of its own account {own}")
        else:
            expect(own not in held, named, "has the sidecar's token")
        mounts = {mount["mountPath"]: mount for mount in container.get("volumeMounts", [])}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for path, mount in mounts.items():
            volume = volumes.get(mount["name"], {})
            if tokens_of_volume(volume, account, secrets):
                expect(path == TOKEN_FOLDER, named, f"mounts a token at {path}")
                expect(mount.get("readOnly") is True, named, f"may write to {path}")
                items = volume.get("secret", {}).get("items", [])
                keys = {item["key"] for item in items} == {"token", "ca.crt", "namespace"}
                expect("secret" not in volume or keys, named, "does not wait until its Secret is filled")
                sockets = [other for other, found in mounts.items() if found["name"] == SOCKET_VOLUME]
                for socket in sockets:
                    expect(not is_below(path, socket) and not is_below(socket, path), named, "has its token in the socket's folder")
    for volume in pod["volumes"]:
        if volume["name"] == SOCKET_VOLUME:
            expect(set(volume) == {"name", "emptyDir"}, where, f"the socket's volume is {volume}")


def check_containers(where, pod, is_ours):
    """No container has more than it needs of the node, of the pod, and of the environment."""
    for field in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
        expect(not pod.get(field), where, f"has {field}")
    for volume in pod["volumes"]:
        expect("hostPath" not in volume, where, f"has the hostPath {volume.get('hostPath')}")
    written = {volume["name"] for volume in pod["volumes"] if "emptyDir" in volume}
    for container in pod["initContainers"] + pod["containers"]:
        named = f"{where}: {container['name']}"
        for mount in container.get("volumeMounts", []):
            expect(mount.get("readOnly") or mount["name"] in written, named, f"may write to {mount['name']}")
            if container["name"] != "nodesift" and mount["name"] == SOCKET_VOLUME:
                expect(mount.get("readOnly") is True, named, "may put another socket into the place of the sidecar's")
        context = container.get("securityContext", {})
        restricted = {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
                      "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
        # What the chart of another core says of its containers is not in a patch for it.
        if is_ours or container["name"] == "nodesift":
            expect(restricted.items() <= context.items() and context.get("runAsUser") and not context.get("privileged"), named, f"securityContext is {context}")
    expect(not is_ours or pod.get("enableServiceLinks") is False, where, "has variables that name the namespace's Services")


def check_egress(where, policies, open_ports):
    for policy in policies:
        spec = policy["spec"]
        expect(set(spec["policyTypes"]) == {"Ingress", "Egress"}, where, f"the NetworkPolicy is about {spec['policyTypes']} alone")
        for rule in spec["egress"]:
            ports = {port.get("port") for port in rule.get("ports", [])}
            peers = rule.get("to") or []
            wide = [peer for peer in peers if peer.get("ipBlock", {}).get("cidr", "").endswith("/0") or not any(peer.values())]
            if not peers or wide:
                expect(ports and ports <= open_ports, where, f"egress to every address on the ports {sorted(map(str, ports)) or 'of all numbers'}")
            if 53 in ports:
                one = all(peer.get("namespaceSelector", {}).get("matchLabels") and peer.get("podSelector", {}).get("matchLabels") for peer in peers)
                expect(peers and one, where, f"DNS to {peers or 'every address'}")


def check_objects(where, objects, facts, has_core=True, open_ports=OPEN_PORTS, token_secret=None):
    by_kind = {}
    for item in objects:
        for field in ("apiVersion", "kind"):
            expect(item.get(field), where, f"an object without {field}")
        by_kind.setdefault(item.get("kind"), []).append(item)
    names = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in objects]
    expect(len(names) == len(set(names)), where, "two objects have one name")
    deployments = [item for item in by_kind.get("Deployment", []) if item["metadata"].get("labels", {}).get(SIDECAR) == "true"]
    expect(len(deployments) == int(has_core), where, f"{len(deployments)} Deployments with a sidecar")
    configs = {item["metadata"]["name"]: item for item in by_kind.get("ConfigMap", [])}
    check_egress(where, by_kind.get("NetworkPolicy", []), open_ports)
    secrets, own = token_secrets(by_kind), None
    # A Secret that somebody else fills is for the account that reads here.
    expect(bool(token_secret) != bool(secrets), where, f"makes {len(secrets)} Secrets with tokens")
    if token_secret:
        secrets = {token_secret: next(iter(readers(by_kind)), None)}
    if len(secrets) == 1:
        own = next(iter(secrets.values()))
        check_account(where, own, by_kind)
    if not has_core:
        # The sidecar is added to another core's Deployment, of which only the name of the account is known here.
        pod = pod_of(documents((KUSTOMIZE / "base" / "sidecar.yaml").read_text(), "sidecar.yaml")[0])
        pod["containers"] = [{"name": "core", "volumeMounts": [{"name": SOCKET_VOLUME, "mountPath": "/run/nodesift", "readOnly": True}]}]
        check_tokens(f"{where} with sidecar.yaml", pod, ("", "core"), own, secrets)
        check_containers(f"{where} with sidecar.yaml", pod, is_ours=False)
    for deployment in deployments:
        pod, labels = pod_of(deployment), deployment["spec"]["template"]["metadata"]["labels"]
        check_sidecar(where, pod, facts)
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        containers = pod["containers"] + pod["initContainers"]
        expect(any(SOCKET_VOLUME in {mount["name"] for mount in container.get("volumeMounts", [])}
                   for container in pod["containers"]), where, "no core mounts the socket's folder")
        for container in containers:
            for mount in container.get("volumeMounts", []):
                expect(mount["name"] in volumes, where, f"{container['name']} mounts {mount['name']}, which is no volume")
        for volume in volumes.values():
            config = volume.get("configMap")
            if config and not config.get("optional"):
                expect(config["name"] in configs, where, f"no ConfigMap {config['name']}")
        selectors = [deployment["spec"]["selector"]["matchLabels"]]
        selectors += [item["spec"]["selector"]["matchLabels"] for item in by_kind.get("PodDisruptionBudget", [])]
        selectors += [item["spec"]["podSelector"]["matchLabels"] for item in by_kind.get("NetworkPolicy", [])]
        selectors += [item["spec"]["selector"] for item in by_kind.get("Service", [])]
        expect(len(selectors) >= 4, where, "lacks a Service, a NetworkPolicy or a PodDisruptionBudget")
        for selector in selectors:
            expect(selector and selector.items() <= labels.items(), where, f"{selector} does not select the pod")
        ports = {port["name"] for container in containers for port in container.get("ports", [])}
        for service in by_kind.get("Service", []):
            for port in service["spec"]["ports"]:
                expect(port["targetPort"] in ports, where, f"the Service's port {port['targetPort']} is none of the pod")
        is_ours = "serviceAccountName" in pod
        account = (deployment["metadata"]["namespace"], pod["serviceAccountName"] if is_ours else facts["account"].get(where))
        expect(account != own, where, f"core and sidecar have one account, {account}")
        expect(account not in readers(by_kind), where, f"the sidecar's role is bound to the core's account {account}")
        expect(pod.get("automountServiceAccountToken") is False, where, "the token of the pod's account is in every container")
        check_tokens(where, pod, account, own, secrets)
        check_containers(where, pod, is_ours)
        cores = [container["name"] for container in pod["containers"] if account in tokens_of_container(container, pod, account, secrets)]
        expect(len(cores) == 1, where, f"{cores} have the core's token, not the core alone")
    for monitor in by_kind.get("ServiceMonitor", []):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        fits = [item for item in by_kind["Service"] if wanted.items() <= item["metadata"]["labels"].items()]
        names = {port["name"] for item in fits for port in item["spec"]["ports"]}
        expect(names and all(endpoint["port"] in names for endpoint in monitor["spec"]["endpoints"]), where,
               "the ServiceMonitor selects no port of a Service")
    expect(by_kind.get("ClusterRole"), where, "has no ClusterRole")
    for role in by_kind.get("ClusterRole", []):
        expect(role["rules"] == facts["rules"][role["metadata"]["name"]], where, "a ClusterRole is not that of deploy/rbac.yaml")
    check_policy(where, configs.get("nodesift-policy"), facts["schema"])


def readers(by_kind):
    """The accounts to which the ClusterRole nodesift is bound."""
    return [(subject["namespace"], subject["name"]) for item in by_kind.get("ClusterRoleBinding", [])
            if item["roleRef"]["name"] == "nodesift" for subject in item["subjects"]]


def check_policy(where, config, schema):
    if not config:
        problem(where, "has no ConfigMap nodesift-policy")
        return
    policies = [document for name, text in config["data"].items() for document in documents(text, f"{where} {name}")]
    expect(len(policies) == 1, where, f"has {len(policies)} policies")
    try:
        import jsonschema
    except ImportError:
        skip("policies are not checked against their schema: python3-jsonschema is not here")
        return
    for policy in policies:
        for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(policy):
            problem(f"{where} policy", f"{error.json_path}: {error.message}")


def skip(text):
    if text not in skipped:
        skipped.append(text)


def overlays(facts):
    if shutil.which("kustomize"):
        command = ["kustomize", "build"]
    elif shutil.which("kubectl"):
        command = ["kubectl", "kustomize"]
    else:
        skip("overlays are parsed and not built: neither kustomize nor kubectl is here")
        return 0
    for overlay in OVERLAYS:
        where = f"deploy/kustomize/{overlay}"
        objects = documents(run(*command, KUSTOMIZE / overlay), where)
        expect(objects, where, "makes no objects")
        if objects:
            check_objects(where, objects, facts)
    with tempfile.TemporaryDirectory() as folder:
        check_options(command, pathlib.Path(folder).resolve(), facts)
    return len(OVERLAYS) + 1


def check_options(command, folder, facts):
    """What an overlay may list besides: monitoring, modules from an image, a party, and the API server's address as base/network.yaml says."""
    where = "deploy/kustomize/extender with monitoring, modules-image, licences and an address"
    comments = [line.strip()[1:] for line in (KUSTOMIZE / "base" / "network.yaml").read_text().splitlines() if line.strip().startswith("#   ")]
    narrow = documents("\n".join(comments), "base/network.yaml")
    if not narrow:
        problem("deploy/kustomize/base/network.yaml", "does not say how to narrow it")
        return
    relative = {name: os.path.relpath(KUSTOMIZE / name, folder) for name in ("extender", "monitoring", "modules-image", "licences")}
    with_options = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "kube-system",
                    "resources": [relative["extender"]], "components": [relative["monitoring"], relative["modules-image"], relative["licences"]], **narrow[0]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(with_options))
    objects = documents(run(*command, folder), where)
    expect(objects, where, "makes no objects")
    if not objects:
        return
    check_objects(where, objects, facts, open_ports=set())
    kinds = {item["kind"] for item in objects}
    expect({"ServiceMonitor", "PrometheusRule"} <= kinds, where, "has no monitoring")
    party = [container for item in objects if item["kind"] == "Deployment" for container in pod_of(item)["containers"]
             if container["name"] == "licences"]
    expect(len(party) == 1 and party[0]["image"] == facts["image"], where, f"has the party {party}")
    for argument in party[0]["args"][1:] if party else ():
        expect(argument.split("=")[0] in facts["party"], where, f"party has no option {argument}")
    modules = [volume for item in objects if item["kind"] == "Deployment" for volume in pod_of(item)["volumes"]
               if volume["name"] == "nodesift-modules"]
    expect([set(volume) for volume in modules] == [{"name", "image"}], where, f"takes modules from {modules}")


# The chart.


def chart(facts):
    if not CHART.is_dir():
        problem("deploy/helm/nodesift", "is not there")
        return
    about = documents((CHART / "Chart.yaml").read_text(), "Chart.yaml")[0]
    expect(about["appVersion"] == version(), "Chart.yaml", f"appVersion {about['appVersion']}, not {version()}")
    for path in sorted(CHART.glob("values*.yaml")):
        check_values(path.relative_to(ROOT), documents(path.read_text(), path.name)[0])
    for path in sorted((CHART / "templates").iterdir()):
        text, where = path.read_text(), path.relative_to(ROOT)
        expect("{{" not in re.sub(r"\{\{.*?\}\}", "", text, flags=re.S), where, "a {{ without }}")
        opened = len(re.findall(r"\{\{-? *(?:if|range|with|define|block)\b", text))
        expect(opened == len(re.findall(r"\{\{-? *end\b", text)), where, "an `if`, `range`, `with` or `define` lacks its `end`")
        for name in re.findall(r"\.Values\.([A-Za-z.]+)", text):
            value = documents((CHART / "values.yaml").read_text(), "values.yaml")[0]
            for part in name.split("."):
                known = isinstance(value, dict) and part in value
                expect(known, where, f"values.yaml has no {name}")
                if not known:
                    break
                value = value[part]
        for name in re.findall(r'include "([^"]+)"', text):
            defined = any(f'define "{name}"' in other.read_text() for other in (CHART / "templates").iterdir())
            expect(defined, where, f"no template {name}")
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    expect("EVERY ADDRESS" in notes and "networkPolicy.apiServer.cidrs" in notes, "NOTES.txt", "does not say whom the pod reaches by default")
    defaults = documents((CHART / "values.yaml").read_text(), "values.yaml")[0]
    for path in sorted(CHART.glob("values*.yaml")):
        where = f"{CHART.relative_to(ROOT)}/{path.name}"
        values = merged(defaults, documents(path.read_text(), where)[0])
        values["monitoring"]["enabled"] = True
        text = rendered(values)
        if text is None:
            return
        objects = documents(text, where)
        expect(objects, where, "makes no objects")
        if objects:
            check_objects(where, objects, facts, has_core=values["core"]["deploy"])
    closed_chart(defaults, facts)


def check_values(where, values):
    schema = json.loads((CHART / "values.schema.json").read_text())
    try:
        import jsonschema
    except ImportError:
        skip("the chart's values are not checked against their schema: python3-jsonschema is not here")
        return
    for error in jsonschema.validators.validator_for(schema)(schema).iter_errors(values):
        problem(where, f"{error.json_path}: {error.message}")


def closed_chart(defaults, facts):
    """The chart with the values that narrow it: known addresses, no DNS, a token that somebody else renews; and with a policy as an object."""
    where = "deploy/helm/nodesift with addresses, policyResource, podNegotiations and tokenSecret"
    values = merged(defaults, {
        "networkPolicy": {"apiServer": {"cidrs": ["192.0.2.10/32", "2001:db8::10/128"]}, "dns": {"to": []},
                          "registries": {"cidrs": ["198.51.100.0/24"], "ports": [5000]}},
        "policyResource": "extender", "podNegotiations": True, "modules": {"registries": ["registry.example.com", "cdn.example.com:5000"]}, "sidecar": {"serviceAccount": "reader", "tokenSecret": "renewed"},
    })
    check_values(where, values)
    objects = documents(rendered(values), where)
    expect(objects, where, "makes no objects")
    if not objects:
        return
    check_objects(where, objects, facts, open_ports=set(), token_secret="renewed")
    reached = {(port["port"], peer.get("ipBlock", {}).get("cidr")) for item in objects if item["kind"] == "NetworkPolicy"
               for rule in item["spec"]["egress"] for port in rule["ports"] for peer in rule.get("to", [{}])}
    server = {(port, cidr) for port in (443, 6443) for cidr in ("192.0.2.10/32", "2001:db8::10/128")}
    expect(reached == server | {(5000, "198.51.100.0/24")}, where, f"the pod reaches {reached}")
    arguments = [argument for item in objects if item["kind"] == "Deployment" for container in pod_of(item)["initContainers"]
                 for argument in container["args"]]
    limits = {"--module-folder=/etc/nodesift/modules", "--registries=registry.example.com", "--registries=cdn.example.com:5000"}
    expect(limits <= set(arguments), where, f"does not limit what the policy may name: {arguments}")
    granted = [item["rules"] for item in objects if item["kind"] == "ClusterRole" and item["metadata"]["name"] == "nodesift-policy"]
    expect(granted and STATUS_RULE in granted[0], where, "may not write the status of a policy")
    granted = [item["rules"] for item in objects if item["kind"] == "ClusterRole" and item["metadata"]["name"] == "nodesift-negotiations"]
    expect(granted == [[NEGOTIATIONS_RULE]], where, "may not write PodNegotiations")


def scheduler_values():
    """The chart's kube-scheduler is configured as the overlay's, which is the one that the plugin's tests run."""
    where = "deploy/helm/nodesift/values-kube-scheduler.yaml"
    values = documents((CHART / "values-kube-scheduler.yaml").read_text(), where)[0]
    folder = KUSTOMIZE / "kube-scheduler"
    profile = documents((folder / "config.yaml").read_text(), "config.yaml")[0]["profiles"][0]
    policy = documents((folder / "policy.yaml").read_text(), "policy.yaml")[0]
    for field in ("plugins", "pluginConfig"):
        expect(values["core"].get(field) == profile[field], where, f"core.{field} is not that of deploy/kustomize/kube-scheduler/config.yaml")
    for field in ("metadata", "spec"):
        expect(values["policy"].get(field) == policy[field], where, f"policy.{field} is not that of deploy/kustomize/kube-scheduler/policy.yaml")


def merged(base, over):
    """As helm merges a file of values into the defaults."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{key: merged(base[key], value) if key in base else value for key, value in over.items()}}


def rendered(values):
    """The chart's objects as text; None where nothing can render it."""
    if shutil.which("helm"):
        text = json.dumps(values)
        return run(*HELM, "--values", "-", stdin=text)
    go = subprocess.run([ROOT / ".ci" / "go"], capture_output=True, text=True, check=False).stdout.strip()
    if not go:
        skip("the chart is parsed and not rendered: neither helm nor Go is here")
        return None
    skip("the chart is rendered by Go's text/template alone: helm is not here")
    release = {"Name": "nodesift", "Namespace": "kube-system"}
    text = json.dumps({"values": values, "release": release, "chart": {"AppVersion": version()}})
    return run(go, "run", pathlib.Path(__file__).with_name("render.go"), CHART, stdin=text)


def facts_of(binary):
    containerfile = (DEPLOY / "Containerfile").read_text()
    image = re.search(r"^tag=(\S+):\$version$", (DEPLOY / "image.sh").read_text(), re.M).group(1)
    roles = [item for item in documents((DEPLOY / "rbac.yaml").read_text(), "rbac.yaml") if item["kind"] == "ClusterRole"]
    return {
        "serve": flags_of(binary, "serve"),
        "health": flags_of(binary, "health"),
        "party": flags_of(binary, "party")[0],
        "image": f"{image}:{version()}",
        "user": int(re.search(r"^USER (\d+):", containerfile, re.M).group(1)),
        "entrypoint": json.loads(re.search(r"^ENTRYPOINT (.*)$", containerfile, re.M).group(1)),
        "rules": {role["metadata"]["name"]: role["rules"] for role in roles},
        # YuniKorn's chart names the account in the Deployment to which the overlay is applied.
        "account": {"deploy/kustomize/yunikorn": "yunikorn-admin"},
        "schema": json.loads((DEPLOY / "policy.schema.json").read_text()),
    }


def main():
    arguments = sys.argv[1:]
    scrape = ""
    if "--scrape" in arguments:
        at = arguments.index("--scrape")
        scrape = pathlib.Path(arguments[at + 1]).read_text()
        del arguments[at:at + 2]
    binary = pathlib.Path(arguments[0] if arguments else ROOT / "target" / "debug" / "nodesift")
    if not binary.is_file():
        sys.exit(f"error: {binary} is not built: run make build")
    facts = facts_of(binary)
    expect(len(facts["serve"][0]) > 20, "serve --help", "lists few options: the search for them is broken")
    parsed = files_parse()
    used, absent = metrics_exist(scrape)
    built = overlays(facts)
    chart(facts)
    scheduler_values()
    for text in skipped:
        print(f"not checked: {text}")
    if absent:
        print(f"not in the scrape, only in the sources: {', '.join(absent)}")
    for text in problems:
        print(f"error: {text}")
    print(f"{parsed} files parsed, {used} metrics looked up, {built} overlays built, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
