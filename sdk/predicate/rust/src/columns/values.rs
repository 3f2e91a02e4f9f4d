//! Names of values that the contract has as numbers. Each is in the module of [`columns`](crate::columns) with the same name.

/// Statuses of a node's conditions, as entries of the column of `node-conditions`.
pub(super) mod node_conditions {
    /// The node does not have the condition.
    pub const ABSENT: u8 = 0;
    /// The node is in the condition.
    pub const TRUE: u8 = 1;
    /// The node is not in the condition.
    pub const FALSE: u8 = 2;
    /// Nobody knows, or the status is any other text.
    pub const UNKNOWN: u8 = 3;
}

/// Uses and values of devices.
pub(super) mod node_devices {
    /// In `DeviceColumns::in_use`: one claim has the device for itself.
    pub const EXCLUSIVE: u8 = 1;
    /// In `DeviceColumns::in_use`: claims have shares of the device.
    pub const SHARED: u8 = 2;
    /// In `DeviceColumns::values`: a value of an unknown type, which cannot be compared.
    pub const UNKNOWN_TYPE: u32 = u32::MAX;
}

/// Answers of external parties about a node, as `node-parties` reports them.
pub(super) mod node_parties {
    /// In `PartyColumn::states`: nothing, or nothing any more.
    pub const UNKNOWN: u8 = 0;
    /// In `PartyColumn::states`: the node suits.
    pub const SUITABLE: u8 = 1;
    /// In `PartyColumn::states`: the node does not suit.
    pub const UNSUITABLE: u8 = 2;
}

/// Extended resources that nodes have of their own.
pub(super) mod pod_claims {
    /// In `ExtendedResource::own`: the node does not list the resource.
    pub const NONE: u8 = 0;
    /// In `ExtendedResource::own`: the node lists the resource with an amount of zero.
    pub const ZERO: u8 = 1;
    /// In `ExtendedResource::own`: the node has some of the resource.
    pub const MORE: u8 = 2;
}
