//! Strips: one node, row by row with fewer pods, so that one call of a pointwise predicate answers how many must go.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::labels::LabelColumns;
use crate::metadata::{Amounts, Labels, PodRecord};
use crate::ports::{PortUse, with_ports};
use crate::table::{NodeTable, Resource, UserChange};
use crate::unlisted::Unlisted;
use crate::{Column, Row, Snapshot, VolumePods};

impl Snapshot {
    /// A snapshot in which every row is the node of `row`: row k is the node without its pods `victims[..=start + k]`,
    /// none among them standing for a pod that does not count there. It has a row for every victim from `start` on, built
    /// one from the one before.
    ///
    /// It shows what `node-*` interfaces read, and nothing of `cluster-*`; looking the name up finds the first row. What
    /// `node-*` interfaces say of the cluster as a whole, which label texts there are, is as in this snapshot.
    #[must_use]
    pub fn without_one_by_one(&self, row: Row, victims: &[Option<Arc<PodRecord>>], start: usize) -> Self {
        let rows = victims.len().saturating_sub(start);
        let mut strip = Strip::new(&self.nodes, row, rows);
        for (index, victim) in victims.iter().enumerate() {
            if let Some(victim) = victim {
                strip.remove(victim);
            }
            if index >= start {
                strip.push();
            }
        }
        // There are never more victims than pods, and a node never comes near 2^32 of them.
        let touched = (0..u32::try_from(rows).unwrap_or(u32::MAX)).map(Row).collect();
        Self { nodes: strip.table(&self.nodes, row), touched: Some(touched), below: None, ..self.clone() }
    }
}

/// The node as it is after the victims so far, and the columns of the rows so far.
struct Strip<'a> {
    rows: usize,
    resources: Vec<Running<'a>>,
    /// The pods that take something that no node lists.
    unlisted: Arc<[Arc<PodRecord>]>,
    pods: i64,
    foreign_pods: i64,
    pod_room: i64,
    ports: PortUse,
    columns: Columns,
    /// Distinct sets of ports, the empty one first.
    port_sets: Vec<Arc<PortUse>>,
    /// Whether the ports differ from the last set.
    ports_changed: bool,
}

/// What pods of a node add up to, by row.
#[derive(Default)]
struct Columns {
    pods: Vec<i64>,
    foreign_pods: Vec<i64>,
    pod_room: Vec<i64>,
    unlisted: Vec<Arc<[Arc<PodRecord>]>>,
    port_codes: Vec<u32>,
}

/// A resource of the node, and what was written of it.
struct Running<'a> {
    name: &'a Arc<str>,
    allocatable: i64,
    free: i64,
    foreign: i64,
    /// `free` and `foreign` of every row so far.
    frees: Vec<i64>,
    foreigns: Vec<i64>,
}

impl<'a> Strip<'a> {
    fn new(nodes: &'a NodeTable, row: Row, rows: usize) -> Self {
        let at = |column: &Column<i64>| column.get(row).copied().unwrap_or(0);
        let running = |(name, resource): (&'a Arc<str>, &Resource)| Running {
            name,
            allocatable: at(&resource.allocatable),
            free: at(&resource.free),
            foreign: at(&resource.foreign),
            frees: Vec::with_capacity(rows),
            foreigns: Vec::with_capacity(rows),
        };
        let code = nodes.port_codes.get(row).copied().unwrap_or(0);
        let ports = nodes.port_sets.get(Row(code)).map(|set| (**set).clone()).unwrap_or_default();
        Self {
            rows,
            resources: nodes.resources.iter().map(running).collect(),
            unlisted: nodes.unlisted.of_row(row).into(),
            pods: at(&nodes.pods),
            foreign_pods: at(&nodes.foreign_pods),
            pod_room: at(&nodes.pod_room),
            port_sets: vec![Arc::default()],
            ports_changed: !ports.is_empty(),
            ports,
            columns: Columns::default(),
        }
    }

    fn remove(&mut self, pod: &PodRecord) {
        let foreign = pod.ownership.is_foreign();
        let usage: &Amounts = &pod.facts.usage;
        for (name, amount) in usage {
            let Some(resource) = self.resources.iter_mut().find(|resource| resource.name == name) else { continue };
            resource.free = resource.free.wrapping_add(*amount);
            if foreign {
                resource.foreign = resource.foreign.wrapping_sub(*amount);
            }
        }
        if self.unlisted.iter().any(|known| known.uid == pod.uid) {
            self.unlisted = self.unlisted.iter().filter(|known| known.uid != pod.uid).cloned().collect();
        }
        self.pods -= 1;
        self.pod_room = self.pod_room.wrapping_add(1);
        self.foreign_pods -= i64::from(foreign);
        if !pod.facts.host_ports.is_empty() {
            self.ports = with_ports(&self.ports, &pod.facts.host_ports, UserChange::Fewer);
            self.ports_changed = true;
        }
    }

    fn push(&mut self) {
        for resource in &mut self.resources {
            resource.frees.push(resource.free);
            resource.foreigns.push(resource.foreign);
        }
        self.columns.pods.push(self.pods);
        self.columns.foreign_pods.push(self.foreign_pods);
        self.columns.pod_room.push(self.pod_room);
        self.columns.unlisted.push(Arc::clone(&self.unlisted));
        if self.ports_changed {
            self.ports_changed = false;
            self.port_sets.push(Arc::new(self.ports.clone()));
        }
        // A set for every row at most.
        self.columns.port_codes.push(u32::try_from(self.port_sets.len() - 1).unwrap_or(u32::MAX));
    }

    fn table(self, nodes: &NodeTable, row: Row) -> NodeTable {
        let rows = self.rows;
        let constant = |column: &Column<u32>| Column::filled(rows, &column.get(row).copied().unwrap_or(0));
        let name = nodes.names.get(row).cloned().unwrap_or_default();
        let labels: Labels = nodes.labels.get(row).cloned().unwrap_or_default();
        let resource = |running: Running<'_>| {
            let resource = Resource {
                allocatable: Column::filled(rows, &running.allocatable),
                free: Column::of(running.frees),
                foreign: Column::of(running.foreigns),
                listers: 1,
            };
            (Arc::clone(running.name), resource)
        };
        NodeTable {
            rows: Arc::new(FxHashMap::from_iter([(Arc::clone(&name), Row(0))])),
            names: Column::filled(rows, &name),
            rows_by_name: Arc::new(OnceLock::new()),
            label_columns: Arc::new(LabelColumns::repeated(&nodes.label_columns, &nodes.labels, row, rows)),
            labels: Column::filled(rows, &labels),
            unschedulable: Column::filled(rows, &nodes.unschedulable.get(row).copied().unwrap_or(0)),
            taint_codes: constant(&nodes.taint_codes),
            taint_sets: nodes.taint_sets.clone(),
            resources: Arc::new(self.resources.into_iter().map(resource).collect()),
            unlisted: Unlisted::of(self.columns.unlisted),
            pods: Column::of(self.columns.pods),
            foreign_pods: Column::of(self.columns.foreign_pods),
            pod_limit: Column::filled(rows, &nodes.pod_limit.get(row).copied().unwrap_or(0)),
            pod_room: Column::of(self.columns.pod_room),
            capacity_codes: constant(&nodes.capacity_codes),
            capacity_sets: nodes.capacity_sets.clone(),
            feature_codes: constant(&nodes.feature_codes),
            feature_sets: nodes.feature_sets.clone(),
            pod_classes: Column::filled(rows, &Arc::default()),
            port_codes: Column::of(self.columns.port_codes),
            port_sets: Column::of(self.port_sets),
            volume_pods: Column::filled(rows, &VolumePods::default()),
            ..NodeTable::default()
        }
    }
}
