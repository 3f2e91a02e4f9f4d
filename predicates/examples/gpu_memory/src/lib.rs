//! GpuMemory: an example of accounting. Pods share the memory of a node's GPUs in slices, which an annotation names; another one of
//! the node says how much there is. What is left is one sum, to which nodes add and from which pods take.
//!
//! The predicate of `gpu_memory_fit` reads it.

use nodesift_sdk::NoArgs;
use nodesift_sdk::accounting::{Account, Accounting, Amounts, Needs, Object, Ruling};

/// The annotation of pods and nodes: mebibytes, as a number.
pub const ANNOTATION: &str = "example.com/gpu-memory-mib";

/// Name of the sum of a node's unused GPU memory, in mebibytes.
pub const LEFT: &str = "gpu-memory.left-mib";

/// Accounts for the slices of GPU memory that pods take of their nodes.
#[derive(Debug)]
pub struct GpuMemory;

impl Accounting for GpuMemory {
    type Args = NoArgs;

    fn new(_: NoArgs) -> Result<Self, String> {
        Ok(Self)
    }

    fn needs(&self) -> Needs {
        Needs::annotations([ANNOTATION]).with_sums([LEFT])
    }

    fn pod(&self, pod: &Object) -> Ruling {
        match slice(pod) {
            Ok(None) => Ruling::Standard,
            // Processors and memory of the machine are as the API says.
            Ok(Some(mebibytes)) => Ruling::Account(Account {
                requests: pod.standard(),
                usage: pod.usage(),
                sums: left(-mebibytes),
                flags: Vec::new(),
            }),
            Err(text) => Ruling::Broken(text),
        }
    }

    fn node(&self, node: &Object) -> Result<Amounts, String> {
        Ok(slice(node)?.map_or_else(Amounts::new, left))
    }
}

/// Parses the annotation, in mebibytes; `None` where the object does not have it.
fn slice(object: &Object) -> Result<Option<i64>, String> {
    let Some(text) = object.annotation(ANNOTATION) else { return Ok(None) };
    // The text is not told: it can be longer than what a module may return.
    let mebibytes: u32 = text.parse().map_err(|_| format!("{ANNOTATION}: is not a number of mebibytes"))?;
    Ok(Some(mebibytes.into()))
}

fn left(mebibytes: i64) -> Amounts {
    Amounts::from([(LEFT.into(), mebibytes)])
}

nodesift_sdk::export_accounting!(GpuMemory);

#[cfg(test)]
mod tests {
    use nodesift_sdk::accounting::ruling;

    use super::*;

    #[test]
    fn a_slice_is_taken_from_what_the_node_has() {
        let slice = |mebibytes: &str| Object::default().with_annotation(ANNOTATION, mebibytes).with_request("cpu", 500);
        let account = Account {
            requests: Amounts::from([("cpu".into(), 500)]),
            usage: Amounts::from([("cpu".into(), 500)]),
            sums: Amounts::from([(LEFT.into(), -4_096)]),
            flags: Vec::new(),
        };
        assert_eq!(ruling(&GpuMemory, &slice("4096")), Ruling::Account(account));
        assert_eq!(GpuMemory.node(&slice("81920")), Ok(Amounts::from([(LEFT.into(), 81_920)])));
        assert_eq!(ruling(&GpuMemory, &Object::default()), Ruling::Standard);
        let text = format!("{ANNOTATION}: is not a number of mebibytes");
        assert_eq!(ruling(&GpuMemory, &slice("-1")), Ruling::Broken(text.clone()));
        assert_eq!(GpuMemory.node(&slice("-1")), Err(text));
    }
}
