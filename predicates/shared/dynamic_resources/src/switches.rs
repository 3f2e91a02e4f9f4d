//! Differences between the allocators of Kubernetes' versions. Start at [`Switches`].

/// Declares each switch once: its documentation, its field, its name in the table of versions, and its value in 1.36.
macro_rules! switches {
    ($($(#[$doc:meta])* $field:ident $name:literal $default:literal;)*) => {
        /// Switches that follow the version of Kubernetes and its feature gates. The default: those of 1.36, its known bugs included.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Switches {
            $($(#[$doc])* pub $field: bool,)*
        }

        impl Switches {
            /// The names of all switches in the table of versions, each with its value in 1.36.
            pub const DEFAULTS: [(&str, bool); [$($name),*].len()] = [$(($name, $default)),*];

            /// Makes switches of their values, in the order of [`Self::DEFAULTS`].
            pub fn from_values([$($field),*]: [bool; Self::DEFAULTS.len()]) -> Self {
                Self { $($field),* }
            }
        }
    };
}

switches! {
    /// Taints keep devices from requests that do not tolerate them.
    device_taints "DRADeviceTaints" true;
    /// DeviceClasses serve extended resources.
    extended_resources "DRAExtendedResource" true;
    /// Devices that draw from counters can be allocated.
    partitionable_devices "DRAPartitionableDevices" true;
    /// Devices can be shared, and requests ask for capacity.
    consumable_capacity "DRAConsumableCapacity" true;
    /// Devices with binding conditions can be allocated.
    binding_conditions "DRADeviceBindingConditions" true;
    /// Each device of a request is looked for among all devices, and not behind the one before.
    experimental_allocator "ExperimentalAllocator" false;
    /// An alternative for all devices takes one of them, and then what the first alternative still wants. The second alternative selects
    /// as the first does, where both are for all devices.
    alternatives_mix "AlternativesForAllMix" false;
    /// `distinctAttribute` remembers one device of each request, the last one.
    distinct_per_request "DistinctAttributePerRequest" true;
    /// `distinctAttribute` only asks whether devices have the attribute.
    distinct_by_address "DistinctAttributeByAddress" false;
    /// A further share draws from counters again, where the shares so far hold no capacity.
    shares_pay_twice "SharedDevicePaysCountersTwice" true;
    /// A request with administrative access draws from counters.
    admin_access_pays "AdminAccessPaysCounters" true;
    /// A request for all devices also wants those of which too little capacity is left.
    all_by_static_capacity "AllDevicesByStaticCapacity" false;
    /// A capacity request that is negative or beyond the arithmetic of a range is an error.
    capacity_errors "CapacityRangeErrors" false;
    /// Errors of selectors name the device.
    selector_errors_name_device "SelectorErrorsNameDevice" false;
    /// The limit of devices is checked request by request.
    limit_by_request "DeviceLimitByRequest" true;
    /// A request that derives attributes is an error.
    refuses_derived "DerivedAttributesRefused" false;
    /// A search that takes too long ends the cycle.
    timeout_is_error "AllocationTimeoutIsError" true;
}

impl Default for Switches {
    fn default() -> Self {
        Self::from_values(Self::DEFAULTS.map(|(_, is_on)| is_on))
    }
}

impl Switches {
    /// Whether `distinctAttribute` is known, and a request for capacity is an error where devices cannot be shared; otherwise it is ignored.
    /// kube-scheduler takes the oldest of its three allocators that has all features which are on, and the oldest knows neither.
    pub fn knows_capacity(&self) -> bool {
        self.consumable_capacity || self.binding_conditions || self.experimental_allocator
    }

    /// Returns the switches of the version with its known bugs mended.
    #[must_use]
    pub fn mended(self) -> Self {
        Self {
            distinct_per_request: false,
            distinct_by_address: false,
            shares_pay_twice: false,
            admin_access_pays: false,
            alternatives_mix: false,
            ..self
        }
    }
}
