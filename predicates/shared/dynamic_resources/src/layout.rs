//! Where the pools of a situation, and the devices and counters of a pool, are in the columns of [`Devices`].
//!
//! Start at [`Layout::try_new`], which also checks that columns agree in length.

use std::ops::Range;

use crate::facts::{Broken, Devices, Query, Situation};

/// The places of all situations and pools.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// Per situation, its pools; none where they could not be gathered.
    situations: Vec<Range<usize>>,
    pools: Vec<Span>,
}

/// The places of devices and counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) devices: Range<usize>,
    pub(crate) counters: Range<usize>,
}

impl Layout {
    /// The places in an answer to a query.
    ///
    /// # Errors
    /// Columns have not the lengths that pools and situations say.
    pub(crate) fn try_new(devices: &Devices, query: &Query, rows: usize) -> Result<Self, Broken> {
        let mut layout = Self::default();
        layout.pools.reserve_exact(devices.pools.len());
        let (mut device, mut counter, mut pool) = (0_usize, 0_usize, 0_usize);
        for found in &devices.pools {
            let devices = device..device.saturating_add(found.devices as usize);
            let counters = counter..counter.saturating_add(found.counters as usize);
            (device, counter) = (devices.end, counters.end);
            layout.pools.push(Span { devices, counters });
        }
        layout.situations.reserve_exact(devices.situations.len());
        for situation in &devices.situations {
            let count = if let Situation::Pools(count) = situation { *count as usize } else { 0 };
            let pools = pool..pool.saturating_add(count);
            pool = pools.end;
            layout.situations.push(pools);
        }
        let values = device.checked_mul(query.attributes.len());
        let lengths = [devices.device_kinds.len(), devices.in_use.len()];
        if lengths != [device; 2] || values != Some(devices.values.len()) {
            return Err(Broken::Devices);
        }
        if query.names && (devices.names.len() != device || devices.pool_names.len() != devices.pools.len()) {
            return Err(Broken::Names);
        }
        if counter != devices.counters.len() {
            return Err(Broken::Counters);
        }
        if pool != devices.pools.len() {
            return Err(Broken::Pools);
        }
        if devices.codes.len() != rows {
            return Err(Broken::Rows);
        }
        Ok(layout)
    }

    /// The numbers of a situation's pools.
    pub(crate) fn pools_of(&self, situation: usize) -> Range<usize> {
        self.situations.get(situation).cloned().unwrap_or_default()
    }

    /// The places of pools, by number.
    pub(crate) fn pools(&self, numbers: Range<usize>) -> &[Span] {
        self.pools.get(numbers).unwrap_or_default()
    }

    /// The places of all that these pools have.
    pub(crate) fn span(&self, numbers: Range<usize>) -> Span {
        match self.pools(numbers) {
            [] => Span::default(),
            [only] => only.clone(),
            [first, .., last] => Span {
                devices: first.devices.start..last.devices.end,
                counters: first.counters.start..last.counters.end,
            },
        }
    }

    /// The number of the pool that has a device.
    pub(crate) fn pool_of(&self, device: usize) -> usize {
        self.pools.partition_point(|pool| pool.devices.end <= device)
    }
}
