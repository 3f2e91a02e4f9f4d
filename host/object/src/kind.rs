//! The declaration of a kind, and the macro that makes [`Kind`](crate::Kind) of the table in `lib.rs`. Start at [`KindInfo`].

/// Declaration of a kind: its names in the API, who watches it, and which fields of its objects are read. Every place that treats kinds
/// alike reads it: lists and watches, permissions, metrics, recorded cases, scripted API servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    /// The name of the kind as Kubernetes writes it.
    pub name: &'static str,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Versions that are listed and watched, the best first. Every cluster that serves the kind serves some of them.
    pub versions: &'static [&'static str],
    /// Whether manifests of every version of the group decode, or only those of [`KindInfo::versions`].
    pub any_version: bool,
    /// The name in paths, RBAC rules, logs and metrics.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether an API server may lack it. It has no objects there.
    pub optional: bool,
    /// For which policies it is watched.
    pub watched: Watched,
    /// Fields that are decoded; a recorded case has no others.
    pub fields: Fields,
}

/// For which policies a kind is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched {
    /// Watched for every policy, whichever facts its predicates import.
    Always,
    /// Watched where a predicate imports facts that are computed from it.
    WhereRead,
    /// Watched like [`Watched::WhereRead`], but only the objects that the policy lists by name: no list of the whole kind is asked for.
    ByName,
}

/// Fields of objects, by the part that they stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Fields of `metadata`; of annotations only those that are named in [`crate::storage`] and [`crate::claim`] are read.
    pub metadata: &'static [&'static str],
    /// Fields of the object itself.
    pub object: &'static [&'static str],
    /// Fields of `spec`, the desired state.
    pub spec: &'static [&'static str],
    /// Fields of `status`, the observed state.
    pub status: &'static [&'static str],
}

impl KindInfo {
    /// Whether objects with this `apiVersion` decode as this kind.
    pub fn decodes(&self, api_version: &str) -> bool {
        let version = match self.group {
            "" => Some(api_version),
            group => api_version.strip_prefix(group).and_then(|rest| rest.strip_prefix('/')),
        };
        version.is_some_and(|version| self.any_version || self.versions.contains(&version))
    }
}

/// Makes `Kind`, its list and its decoder of one table. A row is `Variant: type as written => object, declaration`; the first is
/// what serde reads, and the second makes an `Object` of it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident: $written:ty => $object:expr, $info:expr;)*) => {
        /// Kinds of objects that are read, in the order in which they are listed and reported.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// All kinds, in the order of their declaration.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];

            /// Declaration of the kind.
            pub const fn info(self) -> &'static KindInfo {
                match self {
                    $(Self::$variant => const { &$info },)*
                }
            }
        }

        /// A kind deserialises its objects, so that the items of a list are read in place.
        impl<'de> serde::de::DeserializeSeed<'de> for Kind {
            type Value = Object;

            fn deserialize<D: serde::Deserializer<'de>>(self, json: D) -> Result<Object, D::Error> {
                match self {
                    $(Self::$variant => <$written as serde::Deserialize>::deserialize(json).map($object),)*
                }
            }
        }
    };
}

pub(crate) use kinds;
