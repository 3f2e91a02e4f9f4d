//! A cluster behind a Kubernetes API server: lists and watches the kinds that the policy's predicates read, and no others.
//!
//! | file | holds |
//! |---|---|
//! | `following` | which kinds are followed, for which policies; the tasks of their reflectors |
//! | `named` | one object that is followed by its name |
//! | `reflector/` | one task per kind, or for one object: list, watch, relist; its state machine and backoff |
//! | `list/` | lists, page by page |
//! | `decode/` | bytes of the server → compiled objects and watch events |
//! | `kinds` | imports → kinds; paths; RBAC rules |
//! | `server` | the requests that are sent, as traits, and kube's client behind them |
//! | `status` | writes the status of one object |
//! | `stored` | objects that this process makes, replaces and deletes, by their versions |
//! | `health` | which kinds fail at present and why, for log and readiness |
//! | `failure` | why a request failed, by which the reflector decides how to retry |
//! | `connection` | the connection to a server, as it is opened |
//! | `connector` | kubeconfig or service account → a client, again where files change |
//! | `address` | the address of a server, as a kubeconfig has it |
//! | `own_certificate` | a server's own certificate in the place of an authority |
//! | `proxy` | which proxy leads to the server |
//! | `tunnel` | the way through a proxy: `CONNECT`, SOCKS 5 |
//! | `forward` | the same for a server without TLS |
//! | `transport` | connections, directly or through a proxy, and the client above them |
//! | `metrics` | counters of the reflectors |
//!
//! kube's own runtime is not used, because it does not give three guarantees that are needed: a server that lags never takes
//! the cache back to an older resourceVersion, a dead watch is found within 20 s, and one object that does not decode stops
//! nothing. Start at [`Following`], then `reflector/`.

mod address;
pub mod connection;
mod connector;
pub mod decode;
mod failure;
mod following;
mod forward;
mod health;
pub mod kinds;
mod list;
mod metrics;
mod named;
mod own_certificate;
mod proxy;
mod reflector;
mod server;
mod status;
mod stored;
mod transport;
mod tunnel;

pub use failure::Failure;
pub use following::{Following, Lease};
pub use health::Health;
pub use list::{Listed, Lister};
pub use metrics::Metrics;
pub use named::{FollowingNamed, follow_named};
pub use reflector::named::{NamedObject, Seen};
pub use reflector::outlet::Deliver;
pub use server::{ApiServer, Apply, Objects, Server, Verb};
pub use status::{StatusTrouble, StatusWriter, Wanted};
pub use stored::{Answered, StoredObjects};
