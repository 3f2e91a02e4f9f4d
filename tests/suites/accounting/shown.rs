//! Metrics of accounting that operators see.

use nodesift_engine::accounting::metrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;

use super::world::{World, granting, node, pod};

#[test]
fn sums_that_the_policy_lists_are_gauges() {
    for (gauges, is_shown) in [(json!([]), false), (json!(["s"]), true)] {
        let world = World::new(Some(&granting(&json!({"gauges": gauges}))));
        let mut registry = Registry::default();
        metrics::register(&world.engine, &mut registry);
        world.deliver(&[node("n", 1, 1000, None), node("m", 1, 10, None), pod("p", 1, Some("n"), 300, Some("c"))]);
        world.settle(2);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert_eq!(text.contains(r#"nodesift_node_sum{node="n",sum="s"} 1007"#), is_shown, "{text}");
        assert_eq!(text.contains(r#"nodesift_node_sum{node="m",sum="s"} 10"#), is_shown, "{text}");
        assert!(text.contains("nodesift_accounting_calls_total 3"), "{text}");
        assert!(text.contains("nodesift_accounting_quarantined 0"), "{text}");
    }
}
