//! [`Lister`]: reads a list from the first page to the last, for the audit to compare with.

use std::sync::Arc;

use super::pages::Pages;
use super::paging::Paging;
use crate::change::{Compiled, Compiler};
use crate::kube::failure::Failure;
use crate::kube::kinds::Resource;
use crate::kube::server::Server;
use nodesift_object::Kind;

/// Reads whole lists, independently of any reflector.
#[derive(Debug)]
pub struct Lister<S> {
    server: Arc<S>,
    compiler: Compiler,
}

impl<S> Clone for Lister<S> {
    fn clone(&self) -> Self {
        Self { server: Arc::clone(&self.server), compiler: self.compiler.clone() }
    }
}

/// A list of all objects of a kind.
#[derive(Debug, Default)]
pub struct Listed {
    /// Its objects; those that do not decode are [`Record::Unreadable`](crate::change::Record::Unreadable).
    pub objects: Vec<Compiled>,
    /// `metadata.resourceVersion` of the list; empty where the server does not serve the kind.
    pub version: Arc<str>,
}

impl<S: Server> Lister<S> {
    /// A lister of a server.
    pub fn new(server: Arc<S>, compiler: Compiler) -> Self {
        Self { server, compiler }
    }

    /// Reads all objects of a kind as they were at one resourceVersion. An optional kind that the server does not serve has
    /// none, and no version.
    ///
    /// # Errors
    ///
    /// The failure of the first page that cannot be read. Retrying is left to the caller.
    pub async fn list_all(&self, kind: Kind) -> Result<Listed, Failure> {
        let resource = Resource::from(kind);
        for version in 0..resource.versions.len() {
            match self.list_version(kind, &resource, version).await {
                Err(Failure::NotServed { .. }) => {}
                outcome => return outcome,
            }
        }
        if resource.is_optional() {
            return Ok(Listed { objects: Vec::new(), version: Arc::default() });
        }
        Err(Failure::NotServed { message: format!("{} are not served", resource.plural) })
    }

    async fn list_version(&self, kind: Kind, resource: &Resource, api_version: usize) -> Result<Listed, Failure> {
        let (mut pages, mut paging) = (Pages::new(kind, self.compiler.clone()), Paging::default());
        let mut next: Option<String> = None;
        let mut version = None;
        loop {
            let uri = resource.list_uri(api_version, next.as_deref());
            let head = pages.add(self.server.list_page(&uri).await?).await?;
            let head = paging.read(next.as_deref(), head)?;
            let version = version.get_or_insert(head.version);
            next = head.next;
            if next.is_none() {
                let (objects, _) = pages.finish().await?;
                return Ok(Listed { objects, version: Arc::clone(version) });
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::change::Record;
    use crate::kube::reflector::script::{Answer, Script, broken, page, pod};

    fn lister(script: Script) -> (Lister<Script>, Arc<Script>) {
        let script = Arc::new(script);
        (Lister::new(Arc::clone(&script), Compiler::new(&["default-scheduler".to_owned()])), script)
    }

    fn missing() -> Answer {
        Answer::No(Failure::from_status(404, None, b"404 page not found"))
    }

    #[tokio::test]
    async fn all_pages_are_one_list_in_order_at_the_version_of_the_first() {
        let mut script = Script::default();
        let names: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
        for (number, name) in names.iter().enumerate() {
            let next = (number + 1 < names.len()).then(|| format!("after {name}"));
            script = script.list(Answer::Page(page(&format!("{}", 10 + number), next.as_deref(), &[pod(name, 1)])));
        }
        let (lister, script) = lister(script);
        let listed = lister.list_all(Kind::Pod).await.unwrap();
        let keys: Vec<_> = listed.objects.iter().map(|object| object.identity.key.to_string()).collect();
        assert_eq!(keys, names.iter().map(|name| format!("ns/{name}")).collect::<Vec<_>>());
        assert_eq!(&*listed.version, "10");
        assert_eq!(script.asked().len(), 20);
    }

    #[tokio::test]
    async fn what_does_not_decode_is_listed_as_unreadable() {
        let (lister, _) = lister(Script::default().page("9", &[pod("a", 1), broken("b", 2), pod("c", 3)]));
        let listed = lister.list_all(Kind::Pod).await.unwrap();
        let unreadable = |object: &&Compiled| matches!(object.record, Record::Unreadable);
        let unreadable: Vec<_> = listed.objects.iter().filter(unreadable).map(|object| &object.identity).collect();
        assert_eq!(listed.objects.len(), 3);
        assert_eq!(
            (unreadable.len(), &*unreadable[0].key, &*unreadable[0].uid, &*unreadable[0].version),
            (1, "ns/b", "u-b", "2")
        );
    }

    #[tokio::test]
    async fn the_best_version_that_is_served_is_read_and_a_kind_without_any_is_empty() {
        let (some, script) = lister(Script::default().list(missing()).page("9", &[]));
        assert_eq!(&*some.list_all(Kind::DeviceClass).await.unwrap().version, "9");
        assert!(script.asked()[1].contains("/v1beta2/"));
        let (none, _) = lister(Script::default().list(missing()).list(missing()).list(missing()));
        let listed = none.list_all(Kind::DeviceClass).await.unwrap();
        assert!(listed.objects.is_empty() && listed.version.is_empty());
    }

    #[tokio::test]
    async fn a_failure_on_any_page_is_no_list() {
        let first = Answer::Page(page("9", Some("more"), &[pod("a", 1)]));
        for failure in [Failure::from_status(410, None, b""), Failure::from_status(500, None, b"")] {
            let (lister, _) = lister(Script::default().list(first.clone()).list(Answer::No(failure.clone())));
            assert_eq!(lister.list_all(Kind::Pod).await.unwrap_err(), failure);
        }
        let (pods, _) = lister(Script::default().list(missing()));
        assert!(pods.list_all(Kind::Pod).await.is_err(), "a server without pods is not an empty cluster");
        let (torn, _) = lister(
            Script::default().list(Answer::Page(r#"{"metadata":{"resourceVersion":"9"},"items":[{"#.to_owned())),
        );
        assert!(matches!(torn.list_all(Kind::Pod).await.unwrap_err(), Failure::Malformed(_)));
    }
}
