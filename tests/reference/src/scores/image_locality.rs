//! ImageLocality: how much of the pod's images a node has already.
//!
//! Sources: P/imagelocality/image_locality.go, S/backend/cache/cache.go. Counts are those of the cluster as it is: a running scheduler may
//! hold older ones.

use nodesift_fixtures::json::{at, list, text, texts};
use serde_json::Value;

use super::{LARGEST, Raw, World};

/// Bytes of a mebibyte.
const MEBIBYTE: i64 = 1 << 20;

/// Bytes up to which images are worth nothing, and, per container, from which they are worth no more.
const LEAST: i64 = 23 * MEBIBYTE;
const MOST: i64 = 1000 * MEBIBYTE;

/// The bytes of the pod's images that a node has, each by the part of all nodes that have it, as a place between two limits.
pub(super) fn score(world: &World<'_>, pod: &Value, feasible: &[&Value]) -> Result<Raw, String> {
    let containers = [list(pod, "spec.initContainers"), list(pod, "spec.containers")].concat();
    let volumes: Vec<&str> = list(pod, "spec.volumes")
        .iter()
        .filter(|volume| !at(volume, "image").is_null())
        .map(|volume| text(volume, "image.reference"))
        .collect();
    let mut names: Vec<String> = containers.iter().map(|container| with_tag(text(container, "image"))).collect();
    let mut count = names.len();
    if world.profile.image_volumes_are_seen {
        names.extend(volumes.iter().map(|reference| with_tag(reference)));
    }
    if world.profile.image_volumes_are_counted {
        count += volumes.len();
    }
    let most = MOST * i64::try_from(count).unwrap_or(i64::MAX / MOST);
    let worths: Vec<i64> = names.iter().map(|name| scaled_size(world, name)).collect();
    let score = |node: &&Value| {
        let here = names.iter().zip(&worths).filter(|(name, _)| size_on(node, name).is_some());
        let sum = here.fold(0_i64, |sum, (_, worth)| sum.wrapping_add(*worth));
        Some(LARGEST * (sum.max(LEAST).min(most.max(LEAST)) - LEAST) / (most - LEAST))
    };
    Ok(Some(feasible.iter().map(score).collect()))
}

/// The name of an image with a tag: `latest` where it has neither a tag nor a digest.
fn with_tag(name: &str) -> String {
    let colon = name.rfind(':');
    match colon > name.rfind('/') && colon.is_some() {
        true => name.to_owned(),
        false => format!("{name}:latest"),
    }
}

/// The size of an image as a node says it; `None` where it does not have it.
fn size_on(node: &Value, name: &str) -> Option<i64> {
    let mut images = list(node, "status.images").iter();
    let image = images.find(|image| texts(image, "names").iter().any(|known| known == name))?;
    Some(at(image, "sizeBytes").as_i64().unwrap_or(0))
}

/// The size of an image on the first node that has it, by the part of all nodes that have it.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as Go does")]
fn scaled_size(world: &World<'_>, name: &str) -> i64 {
    let nodes = world.order.iter().filter_map(|node| world.cluster.get("Node", node));
    let sizes: Vec<i64> = nodes.filter_map(|node| size_on(node, name)).collect();
    let size = sizes.first().copied().unwrap_or(0);
    let part = sizes.len() as f64 / world.order.len() as f64;
    (size as f64 * part) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_a_tag_get_one() {
        for (name, expected) in [
            ("app", "app:latest"),
            ("app:1", "app:1"),
            ("registry.example.com:5000/app", "registry.example.com:5000/app:latest"),
            ("registry.example.com:5000/app:1", "registry.example.com:5000/app:1"),
            ("app@sha256:00", "app@sha256:00"),
        ] {
            assert_eq!(with_tag(name), expected);
        }
    }
}
