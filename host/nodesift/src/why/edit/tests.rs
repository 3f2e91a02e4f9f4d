//! Edits of a what-if: what each text is read as, what it makes of a pod or a cluster, and what is refused. Start at the first test.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

/// Objects of a cluster of two nodes and a pod.
struct Two;

impl Objects for Two {
    fn pod(&mut self, key: &PodKey) -> Result<Value, ObjectsError> {
        match key.name.as_str() {
            "web" => Ok(json!({"kind": "Pod", "metadata": {"name": "web"}, "spec": {
                "nodeSelector": {"disk": "ssd"}, "affinity": {}, "topologySpreadConstraints": [{"a": 1}, {"b": 2}],
                "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1", "memory": "1Mi"},
                "initContainers": [{"resources": {"requests": {"cpu": "4"}}}],
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}},
                               {"name": "b", "resources": {"requests": {"cpu": "1"}}}]}})),
            other => Err(ObjectsError::Missing(other.to_owned())),
        }
    }

    fn node(&mut self, name: &str) -> Result<Value, ObjectsError> {
        match name {
            "n0" | "n1" | "n1-copy-2" => Ok(
                json!({"kind": "Node", "metadata": {"name": name, "uid": "u", "labels": {HOSTNAME: name, "zone": "a"}},
                "spec": {"unschedulable": true, "taints": [{"key": CORDONED, "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoSchedule"}]}}),
            ),
            other => Err(ObjectsError::Missing(other.to_owned())),
        }
    }

    fn nodes_tainted(&mut self, key: &str) -> Result<BTreeMap<String, Value>, ObjectsError> {
        match key {
            "gpu" => ["n0", "n1"].map(|name| Ok((name.to_owned(), self.node(name)?))).into_iter().collect(),
            _ => Ok(BTreeMap::new()),
        }
    }
}

fn edits(texts: &[&str]) -> Vec<Edit> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn made(texts: &[&str]) -> WhatIf {
    WhatIf::new(&edits(texts), &"shop/web".parse().unwrap(), &mut Two).unwrap()
}

fn refused(texts: &[&str]) -> String {
    WhatIf::new(&edits(texts), &"shop/web".parse().unwrap(), &mut Two).unwrap_err().to_string()
}

fn nodes(made: &WhatIf) -> Vec<Value> {
    let overlay = made.overlay().unwrap();
    let text = |node: &v1::Node| match &node.node {
        Some(node::Node::Json(text)) => serde_json::from_str(text).unwrap(),
        other => unreachable!("{other:?}"),
    };
    overlay.nodes.iter().map(text).collect()
}

#[test]
fn edits_are_written_as_they_are_typed() {
    for text in [
        "cpu=2",
        "example.com/gpu=1",
        "hugepages-2Mi=4Mi",
        "tolerate=gpu",
        "tolerate=gpu=true",
        "tolerate=gpu=true:NoSchedule",
        "tolerate=gpu:NoExecute",
        "drop=nodeSelector",
        "drop=affinity",
        "drop=spread[1]",
        "node+=n0*3",
        "uncordon=n0",
        "untaint=gpu",
        "without=shop/web",
    ] {
        assert_eq!(text.parse::<Edit>().unwrap().to_string(), text);
    }
    assert_eq!("node+=n0".parse::<Edit>().unwrap().to_string(), "node+=n0*1");
}

#[test]
fn what_is_no_edit_is_refused_with_what_is_one() {
    for (text, said) in [
        ("", "is no edit"),
        ("cpu", "is no edit"),
        ("cpu=", "is no edit"),
        ("=2", "is no edit"),
        ("cpus=2", "no resource"),
        ("cpu=-1", "at least 0"),
        ("cpu=two", "at least 0"),
        ("tolerate=gpu:Always", "NoSchedule, PreferNoSchedule, NoExecute"),
        ("tolerate==v", "KEY"),
        ("drop=containers", "spread[INDEX]"),
        ("drop=spread[x]", "spread[INDEX]"),
        ("drop=spread[-1]", "spread[INDEX]"),
        ("node+=n0*0", "from 1 to 1000"),
        ("node+=n0*1001", "from 1 to 1000"),
        ("node+=*2", "from 1 to 1000"),
        ("without=a/b/c", "NAMESPACE/NAME"),
    ] {
        let error = text.parse::<Edit>().unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_request_is_that_of_the_whole_pod() {
    let pod = made(&["cpu=500m"]).pod.unwrap();
    let spec = &pod["spec"];
    assert_eq!(spec["containers"][0]["resources"], json!({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {}}));
    assert_eq!(spec["containers"][1]["resources"]["requests"], json!({}));
    assert_eq!(spec["initContainers"][0]["resources"]["requests"], json!({}));
    assert_eq!((&spec["resources"]["requests"], &spec["overhead"]), (&json!({}), &json!({"memory": "1Mi"})));
    let pod = made(&["example.com/gpu=1"]).pod.unwrap();
    assert_eq!(pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"], "1");
}

#[test]
fn parts_of_the_pod_are_dropped_and_tolerations_added() {
    let made =
        made(&["drop=nodeSelector", "drop=affinity", "drop=spread[0]", "tolerate=gpu", "tolerate=a=b:NoExecute"]);
    assert_eq!(made.overlay(), None);
    let pod = made.pod.unwrap();
    let spec = pod["spec"].as_object().unwrap();
    assert!(!spec.contains_key("nodeSelector") && !spec.contains_key("affinity"));
    assert_eq!(spec["topologySpreadConstraints"], json!([{"b": 2}]));
    let expected = json!([{"key": "gpu", "operator": "Exists"},
        {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute"}]);
    assert_eq!(spec["tolerations"], expected);
}

#[test]
fn copies_have_names_and_hostnames_of_their_own() {
    let copies = nodes(&made(&["node+=n0*2"]));
    let names: Vec<&Value> = copies.iter().map(|node| &node["metadata"]["name"]).collect();
    assert_eq!(names, ["n0-copy-1", "n0-copy-2"]);
    let metadata = copies[1]["metadata"].as_object().unwrap();
    assert_eq!(metadata["labels"], json!({HOSTNAME: "n0-copy-2", "zone": "a"}));
    assert!(!metadata.contains_key("uid"));
}

#[test]
fn copies_add_up_and_replace_no_node() {
    let names = |made: &WhatIf| -> Vec<String> {
        nodes(made).iter().map(|node| node["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let twice = names(&made(&["node+=n0*2", "node+=n0*3"]));
    assert_eq!(twice, ["n0-copy-1", "n0-copy-2", "n0-copy-3", "n0-copy-4", "n0-copy-5"]);
    // The cluster has an n1-copy-2.
    assert_eq!(names(&made(&["node+=n1*3"])), ["n1-copy-1", "n1-copy-3", "n1-copy-4"]);
    let error = refused(&["node+=n0*600", "node+=n1*600"]);
    assert_eq!(error, "--try node+=n1*600: all edits add 1200 nodes, and 1000 is the most");
}

#[test]
fn edits_of_one_node_add_up_in_their_order() {
    let both = nodes(&made(&["uncordon=n0", "untaint=gpu"]));
    assert_eq!(both[0]["spec"], json!({"taints": []}));
    assert_eq!(both[1]["spec"]["unschedulable"], true, "the other node stays cordoned");
    assert_eq!(both[1]["spec"]["taints"], json!([{"key": CORDONED, "effect": "NoSchedule"}]));
    let uncordoned = nodes(&made(&["uncordon=n0", "node+=n0*1"]));
    assert_eq!(uncordoned.len(), 2);
    assert_eq!(uncordoned[1]["spec"]["taints"], json!([{"key": "gpu", "effect": "NoSchedule"}]));
}

#[test]
fn pods_go_by_name() {
    let overlay = made(&["without=shop/other"]).overlay().unwrap();
    let name = v1::PodName { namespace: "shop".to_owned(), name: "other".to_owned() };
    assert_eq!(overlay.removed_pods, [v1::Pod::from(pod::Pod::Name(name))]);
}

#[test]
fn an_edit_about_nothing_is_named() {
    for (edit, said) in [
        ("uncordon=n9", "n9 is not there"),
        ("node+=n9*2", "n9 is not there"),
        ("untaint=spot", "no node has such a taint"),
        ("drop=spread[2]", "no such spread constraint"),
    ] {
        let error = refused(&["tolerate=gpu", edit]);
        assert!(error.starts_with(&format!("--try {edit}: ")) && error.contains(said), "{error}");
    }
    let twice = refused(&["drop=affinity", "drop=affinity"]);
    assert_eq!(twice, "--try drop=affinity: the pod has no affinity");
}
