//! The model of what is counted of volumes: after every event of a random history everything is counted again from lists of
//! objects, and compared. A test prints its seed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::metadata::volumes::DiskKind;
use crate::metadata::{self, NodeFacts};
use crate::write::model::rounds;
use crate::{Identity, Obstacle, Row, Snapshot, new};
use nodesift_object::{Kind, Pod, StorageObject};

/// The objects, as JSON texts are turned into them.
#[derive(Default)]
struct Model {
    nodes: BTreeSet<String>,
    pods: BTreeMap<String, Pod>,
    claims: BTreeMap<String, Claim>,
    volumes: BTreeMap<String, Option<String>>,
    limits: BTreeMap<String, Option<i64>>,
    attachments: BTreeMap<String, (String, String)>,
}

/// A claim in the one namespace: its volume, whether it has the one class, its owner.
#[derive(Clone)]
struct Claim {
    volume: String,
    has_class: bool,
    owner: String,
}

const DRIVER: &str = "csi.example.com";

/// Expected attachments of one node: limit, volumes in use by pods, all volumes, the first pod that cannot be counted.
type View = (Option<i64>, BTreeSet<String>, BTreeSet<String>, Option<(String, Obstacle)>);

impl Model {
    fn views(&self) -> BTreeMap<String, View> {
        self.nodes.iter().map(|node| (node.clone(), self.view(node))).collect()
    }

    fn on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a Pod> {
        self.pods.values().filter(move |pod| pod.spec.node_name == node)
    }

    fn view(&self, node: &str) -> View {
        let mut used = BTreeSet::new();
        let mut uncounted = None;
        for pod in self.on(node) {
            match self.wanted(pod, node) {
                Ok(wanted) => used.extend(wanted),
                Err(obstacle) => uncounted = uncounted.or(Some((pod.metadata.name.clone(), obstacle))),
            }
        }
        let attached = self.attachments.values().filter(|(known, _)| known == node);
        let attached = attached.filter_map(|(_, volume)| self.volumes.get(volume)?.clone());
        let all = used.iter().cloned().chain(attached).collect();
        (self.limits.get(node).copied().flatten(), used, all, uncounted)
    }

    /// Handles that a pod on a node needs, or what is in the way.
    fn wanted(&self, pod: &Pod, node: &str) -> Result<Vec<String>, Obstacle> {
        let mut wanted = Vec::new();
        for volume in &pod.spec.volumes {
            let name = match &volume.persistent_volume_claim {
                Some(claim) => claim.claim_name.clone(),
                None if volume.ephemeral => format!("{}-{}", pod.metadata.name, volume.name),
                None => {
                    // EBS volumes are of another driver: here only whether they can be named counts.
                    let bad = volume.aws_elastic_block_store.as_ref().is_some_and(|ebs| ebs.volume_id == "aws://bad");
                    if bad && self.limits.contains_key(node) {
                        let reason = "failed to translate Kubernetes ID to EBS Volume ID \
                                      Invalid format for AWS volume (aws://bad)";
                        return Err(Obstacle::Untranslatable(volume.name.as_str().into(), reason.into()));
                    }
                    continue;
                }
            };
            let Some(claim) = self.claims.get(&name) else { continue };
            if volume.ephemeral && claim.owner != pod.metadata.uid {
                return Err(Obstacle::ForeignClaim(name.into()));
            }
            match self.volumes.get(&claim.volume) {
                Some(handle) => wanted.extend(handle.clone()),
                None if claim.has_class => wanted.push(format!("unmade {name}")),
                None => {}
            }
        }
        Ok(wanted)
    }

    fn disk_users(&self, kind: DiskKind, id: &str) -> BTreeMap<String, usize> {
        let mut users = BTreeMap::new();
        for pod in self.pods.values().filter(|pod| self.nodes.contains(&pod.spec.node_name)) {
            for volume in &pod.spec.volumes {
                let matches = match kind {
                    DiskKind::GcePersistentDisk => volume.gce_persistent_disk.as_ref().is_some_and(|d| d.pd_name == id),
                    _ => volume.aws_elastic_block_store.as_ref().is_some_and(|d| d.volume_id == id),
                };
                *users.entry(pod.spec.node_name.clone()).or_default() += usize::from(matches);
            }
        }
        users.retain(|_, count| *count > 0);
        users
    }

    fn claim_users(&self, claim: &str) -> usize {
        let on_nodes = self.pods.values().filter(|pod| self.nodes.contains(&pod.spec.node_name));
        let claims = on_nodes.flat_map(|pod| &pod.spec.volumes).filter_map(|v| v.persistent_volume_claim.as_ref());
        claims.filter(|known| known.claim_name == claim).count()
    }
}

const HANDLES: [&str; 5] = ["h0", "h1", "h2", "unmade c0", "unmade c1"];

fn views_of(snapshot: &Snapshot) -> BTreeMap<String, View> {
    let attachments = snapshot.attachments();
    let view = |row: Row| {
        let limit = attachments.limits(DRIVER).iter().find(|(known, _)| *known == row).map(|(_, limit)| *limit);
        let used: BTreeSet<String> = HANDLES
            .iter()
            .filter(|handle| {
                let handle = handle.replace("unmade ", "\u{1}unmade\u{1}ns/");
                attachments.rows_with(DRIVER, &handle).contains(&row.0)
            })
            .map(|handle| (*handle).to_owned())
            .collect();
        let uncounted = attachments.uncounted();
        let uncounted = uncounted.iter().find(|pod| pod.row == row);
        (limit, used, uncounted.map(|pod| (pod.pod.to_string(), pod.obstacle.clone())))
    };
    (0..u32::try_from(snapshot.node_count()).unwrap())
        .map(Row)
        .map(|row| {
            let (limit, used, uncounted) = view(row);
            (snapshot.node_name(row).to_owned(), (limit, used, BTreeSet::new(), uncounted))
        })
        .collect()
}

fn node(name: &str) -> NodeFacts {
    metadata::node(&serde_json::from_str(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#)).unwrap())
}

fn random_pod(random: &mut fastrand::Rng, name: &str) -> Pod {
    let node = if random.u8(0..4) == 0 { String::new() } else { format!("n{}", random.u8(0..4)) };
    let volumes: Vec<String> = (0..random.u8(0..4))
        .map(|index| {
            let number = random.u8(0..3);
            match random.u8(0..6) {
                0..2 => format!(r#"{{"name":"v{index}","persistentVolumeClaim":{{"claimName":"c{number}"}}}}"#),
                2 => r#"{"name":"e","ephemeral":{}}"#.to_owned(),
                3 => format!(r#"{{"name":"v{index}","gcePersistentDisk":{{"pdName":"d{number}"}}}}"#),
                4 => {
                    let id = if random.u8(0..3) == 0 { "aws://bad" } else { "vol-1" };
                    format!(r#"{{"name":"v{index}","awsElasticBlockStore":{{"volumeID":"{id}"}}}}"#)
                }
                _ => format!(r#"{{"name":"v{index}","emptyDir":{{}}}}"#),
            }
        })
        .collect();
    let json = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"ns","uid":"uid-{name}"}},
            "spec":{{"nodeName":"{node}","volumes":[{}]}}}}"#,
        volumes.join(",")
    );
    serde_json::from_str(&json).unwrap()
}

#[test]
fn random_histories_leave_volumes_equal_to_a_recount() {
    let seed = nodesift_seed::seed();
    for round in 0..rounds(15) {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(round));
        let (mut writer, reader) = new();
        let mut model = Model::default();
        let class = r#"{"metadata":{"name":"s"},"provisioner":"csi.example.com"}"#;
        writer.apply(metadata::storage(&StorageObject::Class(serde_json::from_str(class).unwrap())));
        let mut kept: Option<(Arc<Snapshot>, BTreeMap<String, View>)> = None;
        for _ in 0..200 {
            event(&mut random, &mut writer, &mut model);
            writer.publish();
            let snapshot = reader.snapshot();
            compare(&snapshot, &model);
            let (old, views) = kept.get_or_insert_with(|| (Arc::clone(&snapshot), views_of(&snapshot)));
            assert_eq!(views_of(old), *views, "an old snapshot never changes");
            if random.u8(0..20) == 0 {
                kept = None;
            }
        }
    }
}

fn event(random: &mut fastrand::Rng, writer: &mut crate::Writer, model: &mut Model) {
    let number = random.u8(0..4);
    let name = |prefix: &str| format!("{prefix}{number}");
    let gone = random.u8(0..4) == 0;
    match random.u8(0..8) {
        0 if gone => {
            writer.remove(&Identity::node(&name("n")));
            model.nodes.remove(&name("n"));
        }
        0 => {
            writer.apply(node(&name("n")));
            model.nodes.insert(name("n"));
        }
        1 => {
            let (kind, key) = (Kind::CsiNode, name("n"));
            if gone {
                writer.remove(&Identity::new(kind, &key));
                model.limits.remove(&key);
                return;
            }
            let limit = random.bool().then(|| random.i64(0..3));
            let count = limit.map_or("null".to_owned(), |limit| limit.to_string());
            let json = format!(
                r#"{{"metadata":{{"name":"{key}"}},"spec":{{"drivers":[{{"name":"{DRIVER}","allocatable":{{"count":{count}}}}}]}}}}"#
            );
            writer.apply(metadata::storage(&StorageObject::Node(serde_json::from_str(&json).unwrap())));
            model.limits.insert(key, limit);
        }
        2 => {
            // Claims of pods' ephemeral volumes, and named ones.
            let key = if random.u8(0..3) == 0 { format!("p{number}-e") } else { format!("c{}", number % 3) };
            if gone {
                writer.remove(&Identity::new(Kind::PersistentVolumeClaim, &format!("ns/{key}")));
                model.claims.remove(&key);
                return;
            }
            let volume = if random.bool() { format!("pv{}", random.u8(0..3)) } else { String::new() };
            let owner = format!("uid-p{}", random.u8(0..4));
            let has_class = !key.starts_with('p') && key != "c2" && random.bool();
            let class = if has_class { r#""s""# } else { "null" };
            let json = format!(
                r#"{{"metadata":{{"name":"{key}","namespace":"ns","ownerReferences":[{{"uid":"{owner}","controller":true}}]}},
                    "spec":{{"volumeName":"{volume}","storageClassName":{class}}}}}"#
            );
            writer.apply(metadata::storage(&StorageObject::Claim(serde_json::from_str(&json).unwrap())));
            model.claims.insert(key, Claim { volume, has_class, owner });
        }
        3 => {
            let key = format!("pv{}", number % 3);
            if gone {
                writer.remove(&Identity::new(Kind::PersistentVolume, &key));
                model.volumes.remove(&key);
                return;
            }
            let handle = (random.u8(0..4) > 0).then(|| format!("h{}", random.u8(0..3)));
            let class = random.u8(0..2);
            let source = match &handle {
                Some(handle) => format!(r#""csi":{{"driver":"{DRIVER}","volumeHandle":"{handle}"}}"#),
                None => r#""local":{"path":"/x"}"#.to_owned(),
            };
            let json =
                format!(r#"{{"metadata":{{"name":"{key}"}},"spec":{{"storageClassName":"s{class}",{source}}}}}"#);
            writer.apply(metadata::storage(&StorageObject::Volume(serde_json::from_str(&json).unwrap())));
            model.volumes.insert(key, handle);
        }
        4 => {
            let key = name("va");
            if gone {
                writer.remove(&Identity::new(Kind::VolumeAttachment, &key));
                model.attachments.remove(&key);
                return;
            }
            let (node, volume) = (format!("n{}", random.u8(0..4)), format!("pv{}", random.u8(0..3)));
            let json = format!(
                r#"{{"metadata":{{"name":"{key}"}},
                    "spec":{{"attacher":"{DRIVER}","nodeName":"{node}","source":{{"persistentVolumeName":"{volume}"}}}}}}"#
            );
            writer.apply(metadata::storage(&StorageObject::Attachment(serde_json::from_str(&json).unwrap())));
            model.attachments.insert(key, (node, volume));
        }
        _ if gone => {
            writer.remove(&Identity::pod(&format!("uid-{}", name("p"))));
            model.pods.remove(&name("p"));
        }
        _ => {
            let pod = random_pod(random, &name("p"));
            writer.apply(metadata::pod_record(&pod, &[]));
            model.pods.insert(name("p"), pod);
        }
    }
}

fn compare(snapshot: &Snapshot, model: &Model) {
    let expected = model.views();
    let without_all = |(node, (limit, used, _, uncounted)): (&String, &View)| {
        (node.clone(), (*limit, used.clone(), BTreeSet::new(), uncounted.clone()))
    };
    assert_eq!(views_of(snapshot), expected.iter().map(without_all).collect());
    let in_use: BTreeMap<String, i64> = (snapshot.attachments().used(DRIVER).iter())
        .map(|(row, count)| (snapshot.node_name(*row).to_owned(), *count))
        .collect();
    let expected = expected.into_iter().map(|(node, (_, _, all, _))| (node, i64::try_from(all.len()).unwrap()));
    assert_eq!(in_use, expected.filter(|(_, count)| *count > 0).collect());
    for kind in [DiskKind::GcePersistentDisk, DiskKind::AwsElasticBlockStore] {
        for id in ["d0", "d1", "d2", "vol-1", "aws://bad"] {
            let mut users: BTreeMap<String, usize> = BTreeMap::new();
            for (row, _) in snapshot.volume_use().disk_users(kind, id).iter() {
                *users.entry(snapshot.node_name(*row).to_owned()).or_default() += 1;
            }
            assert_eq!(users, model.disk_users(kind, id), "{kind:?} {id}");
        }
    }
    for claim in ["c0", "c1", "c2"] {
        assert_eq!(snapshot.volume_use().claim_users("ns", claim) as usize, model.claim_users(claim), "{claim}");
    }
    assert_eq!(snapshot.storage().claim("ns", "c0").is_some(), model.claims.contains_key("c0"));
    let by_class = ["s0", "s1"].into_iter().flat_map(|class| snapshot.storage().volumes_of_class(class));
    assert_eq!(
        by_class.map(|volume| volume.name.to_string()).collect::<BTreeSet<_>>(),
        model.volumes.keys().cloned().collect()
    );
}

#[test]
fn a_storage_object_that_says_nothing_new_changes_no_generation() {
    let (mut writer, reader) = new();
    let json = r#"{"metadata":{"name":"v"},"spec":{"csi":{"driver":"d","volumeHandle":"h"}}}"#;
    let volume = StorageObject::Volume(serde_json::from_str(json).unwrap());
    let mut generations = BTreeSet::new();
    for _ in 0..3 {
        writer.apply(metadata::storage(&volume));
        writer.publish();
        generations.insert(reader.snapshot().generation());
    }
    assert_eq!(generations.len(), 1);
    writer.remove(&Identity::new(Kind::PersistentVolume, "v"));
    writer.publish();
    assert!(reader.snapshot().generation() > *generations.first().unwrap());
}

#[test]
fn pods_without_volumes_do_not_make_volumes_be_counted_again() {
    let (mut writer, reader) = new();
    writer.apply(node("n0"));
    writer.publish();
    let before = reader.snapshot();
    let counted: *const _ = before.attachments();
    let plain = r#"{"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"nodeName":"n0"}}"#;
    writer.apply(metadata::pod_record(&serde_json::from_str(plain).unwrap(), &[]));
    writer.publish();
    assert!(std::ptr::eq(counted, reader.snapshot().attachments()));
}
