//! Plugins of volumes in tree that CSI drivers have replaced on a node.

use crate::metadata::volumes::in_tree::Plugin;

/// In-tree plugins that CSI drivers have replaced on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigratedPlugins {
    /// The node has no CSINode.
    None,
    /// All of them, except that of Portworx: the CSINode does not list it, and that is asked for.
    AllButPortworx,
    /// Every plugin is migrated.
    All,
}

impl MigratedPlugins {
    pub(super) fn has(self, plugin: Plugin) -> bool {
        match self {
            Self::None => false,
            Self::AllButPortworx => plugin != Plugin::Portworx,
            Self::All => true,
        }
    }
}
