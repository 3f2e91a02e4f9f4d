//! Moments of a node: the times that its object names and predicates can read. Each has a column. To add one, add a line to the table
//! at the end; the functions of the contract that show it have the note `@moment`, and a line in `host/engine/facts.txt`.

use nodesift_object::Node;

/// Stands for a moment that is not known.
pub const NO_TIME: i64 = i64::MIN;

/// Makes [`Moment`] from the table.
macro_rules! moments {
    ($($(#[doc = $doc:literal])+ $moment:ident = |$node:ident| $read:expr;)*) => {
        /// Which moment of a node.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Moment {
            $($(#[doc = $doc])+ $moment,)*
        }

        impl Moment {
            /// All moments of a node, in the order of their declaration.
            pub const ALL: [Self; [$(stringify!($moment)),*].len()] = [$(Self::$moment),*];

            /// The moment that an object names.
            fn read(self, node: &Node) -> Option<i64> {
                match self {
                    $(Self::$moment => {
                        let $node = node;
                        $read
                    })*
                }
            }
        }
    };
}

/// All moments of one node, in seconds since 1970-01-01T00:00:00Z; [`NO_TIME`] for those that are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moments([i64; Moment::ALL.len()]);

impl Moments {
    /// The moments that an object names.
    pub fn from_node(node: &Node) -> Self {
        Self(Moment::ALL.map(|moment| moment.read(node).unwrap_or(NO_TIME)))
    }

    /// Returns one moment, in seconds since 1970-01-01T00:00:00Z; [`NO_TIME`] where it is not known.
    pub fn get(&self, moment: Moment) -> i64 {
        self.0.get(moment as usize).copied().unwrap_or(NO_TIME)
    }
}

impl Default for Moments {
    fn default() -> Self {
        Self([NO_TIME; Moment::ALL.len()])
    }
}

impl From<[i64; Moment::ALL.len()]> for Moments {
    fn from(moments: [i64; Moment::ALL.len()]) -> Self {
        Self(moments)
    }
}

moments! {
    /// The time when the node was created, `metadata.creationTimestamp`.
    Created = |node| node.metadata.creation_timestamp.0;
}
