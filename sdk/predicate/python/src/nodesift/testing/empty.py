"""The functions of the contract about nothing. Made from the contract by `make contract`; not to be edited."""

from types import SimpleNamespace
from typing import Any


def empty(rows: int) -> dict[str, Any]:
    """Every function of the contract that gives facts, for nodes and a pod that have nothing of what it is about."""
    return {
        "pod-labels": SimpleNamespace(
            namespace=lambda *_: "",
            label=lambda *_: None,
        ),
        "pod-annotations": SimpleNamespace(
            annotation=lambda *_: None,
        ),
        "pod-placement": SimpleNamespace(
            node_name=lambda *_: None,
            node_selector=lambda *_: [],
            required_terms=lambda *_: None,
            preferred_terms=lambda *_: None,
        ),
        "pod-tolerations": SimpleNamespace(
            tolerations=lambda *_: [],
        ),
        "pod-resources": SimpleNamespace(
            requests=lambda *_: [],
        ),
        "pod-non-zero-requests": SimpleNamespace(
            requests=lambda *_: [],
        ),
        "pod-images": SimpleNamespace(
            containers=lambda *_: [],
            volumes=lambda *_: [],
        ),
        "pod-spread": SimpleNamespace(
            constraints=lambda *_: [],
            default_selector=lambda *_: None,
        ),
        "pod-affinity": SimpleNamespace(
            affinity=lambda *_: [],
            anti_affinity=lambda *_: [],
            invalid_preferred=lambda *_: ([], []),
        ),
        "pod-preferred-affinity": SimpleNamespace(
            affinity=lambda *_: [],
            anti_affinity=lambda *_: [],
        ),
        "pod-features": SimpleNamespace(
            required=lambda *_: [],
        ),
        "pod-volumes": SimpleNamespace(
            volumes=lambda *_: [],
            owner=lambda *_: ("", "", ""),
        ),
        "namespace-labels": SimpleNamespace(
            label=lambda *_: None,
        ),
        "pod-spec": SimpleNamespace(
            priority=lambda *_: 0,
            priority_class=lambda *_: None,
            service_account=lambda *_: None,
            runtime_class=lambda *_: None,
            host_network=lambda *_: False,
            images=lambda *_: [],
            scheduler_name=lambda *_: "",
        ),
        "pod-owner": SimpleNamespace(
            controller=lambda *_: None,
            controller_uid=lambda *_: None,
        ),
        "pod-claims": SimpleNamespace(
            claims=lambda *_: [],
            extended=lambda *_: None,
            claim_name=lambda *_: "",
            chosen=lambda *_: [],
            deriving=lambda *_: [],
        ),
        "node-identity": SimpleNamespace(
            names=lambda *_: [],
            row=lambda *_: None,
        ),
        "node-labels": SimpleNamespace(
            column=lambda *_: [0] * rows,
            code=lambda *_: None,
            dictionary=lambda *_: [],
            integers=lambda *_: [],
        ),
        "node-annotations": SimpleNamespace(
            column=lambda *_: [0] * rows,
            code=lambda *_: None,
            dictionary=lambda *_: [],
            integers=lambda *_: [],
        ),
        "node-taints": SimpleNamespace(
            unschedulable=lambda *_: bytes(rows),
            sets=lambda *_: [[]],
            column=lambda *_: [0] * rows,
        ),
        "node-resources": SimpleNamespace(
            allocatable=lambda *_: [0] * rows,
            requested=lambda *_: [0] * rows,
            foreign=lambda *_: [0] * rows,
            free=lambda *_: [0] * rows,
            pods=lambda *_: [0] * rows,
            foreign_pods=lambda *_: [0] * rows,
            pod_limit=lambda *_: [0] * rows,
            pod_room=lambda *_: [0] * rows,
            device_class_serves=lambda *_: False,
        ),
        "node-sums": SimpleNamespace(
            column=lambda *_: [0] * rows,
        ),
        "node-non-zero-requests": SimpleNamespace(
            requested=lambda *_: [0] * rows,
        ),
        "node-ports": SimpleNamespace(
            conflicts=lambda *_: None,
        ),
        "node-features": SimpleNamespace(
            sets=lambda *_: [[]],
            column=lambda *_: [0] * rows,
        ),
        "node-conditions": SimpleNamespace(
            column=lambda *_: bytes(rows),
        ),
        "node-info": SimpleNamespace(
            column=lambda *_: [0] * rows,
            code=lambda *_: None,
            dictionary=lambda *_: [],
        ),
        "node-images": SimpleNamespace(
            present=lambda *_: bytes(rows),
        ),
        "node-age": SimpleNamespace(
            created=lambda *_: [0] * rows,
        ),
        "node-devices": SimpleNamespace(
            devices=lambda *_: SimpleNamespace(
                codes=[0] * rows,
                situations=[SimpleNamespace(value=0)],
                pools=[],
                counters=[],
                device_kinds=[],
                in_use=b"",
                held=[],
                values=[],
                pool_names=[],
                names=[],
                kinds=[],
                drivers=[],
                taints=[],
            ),
        ),
        "node-parties": SimpleNamespace(
            unsuitable=lambda *_: [],
        ),
        "cluster-pods": SimpleNamespace(
            matching=lambda *_: [0] * rows,
            matches_this_pod=lambda *_: False,
            requested=lambda *_: [0] * rows,
        ),
        "cluster-controllers": SimpleNamespace(
            same_controller=lambda *_: None,
        ),
        "cluster-candidates": SimpleNamespace(
            feasible=lambda *_: bytes(rows),
        ),
        "cluster-affinity": SimpleNamespace(
            topology_keys=lambda *_: [],
            anti_affinity_terms=lambda *_: [0] * rows,
        ),
        "cluster-preferences": SimpleNamespace(
            topology_keys=lambda *_: [],
            preferred_terms=lambda *_: [0] * rows,
            weights=lambda *_: [0] * rows,
            required_terms=lambda *_: [0] * rows,
        ),
        "cluster-volume-use": SimpleNamespace(
            disk_users=lambda *_: [],
            claim_users=lambda *_: 0,
        ),
        "cluster-attachments": SimpleNamespace(
            wanted=lambda *_: [],
            registered=lambda *_: bytes(rows),
            limited=lambda *_: bytes(rows),
            driver_missing=lambda *_: bytes(rows),
            limit=lambda *_: [2**63 - 1] * rows,
            used=lambda *_: [0] * rows,
            rows_with=lambda *_: [],
            uncounted=lambda *_: [],
        ),
        "cluster-storage": SimpleNamespace(
            claim_named=lambda *_: None,
            volume_named=lambda *_: None,
            volumes_for=lambda *_: [],
            exact_sizes_for=lambda *_: None,
            class_named=lambda *_: None,
            default_class=lambda *_: None,
            driver_reports_capacity=lambda *_: False,
            capacities=lambda *_: [],
            migrated=lambda *_: bytes(rows),
        ),
        "cluster-images": SimpleNamespace(
            size=lambda *_: 0,
        ),
        "time": SimpleNamespace(
            passed=lambda *_: False,
        ),
        "config-maps": SimpleNamespace(
            entry=lambda *_: None,
        ),
    }
