//! Lists: pages that are decoded while the next one is read, and delivered whole or not at all.
//!
//! [`Pages`] holds one list in progress; who asks for which page is somebody else's decision. [`Lister`] reads a list from
//! the first page to the last, for whoever wants to compare.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use super::failure::{Failure, plain};
use super::kinds::Resource;
use super::server::Server;
use crate::change::{Compiled, Compiler, Identity, Record};
use crate::decode::{self, Head, Page, Rejected};
use crate::limits::LIST_PAGES_DECODING;
use nodesift_object::Kind;

/// The pages of one list read so far.
#[derive(Debug)]
pub(super) struct Pages {
    kind: Kind,
    compiler: Compiler,
    decoding: VecDeque<JoinHandle<Result<Page, decode::Error>>>,
    objects: Vec<Compiled>,
    unreadable: Vec<Rejected>,
}

impl Pages {
    /// No page yet.
    pub(super) fn new(kind: Kind, compiler: Compiler) -> Self {
        Self { kind, compiler, decoding: VecDeque::new(), objects: Vec::new(), unreadable: Vec::new() }
    }

    /// Reads the head of a page and has the rest decoded off the threads that do I/O; the next page can be read meanwhile.
    pub(super) async fn add(&mut self, body: Bytes) -> Result<Head, Failure> {
        let head = decode::head(&body).map_err(|error| malformed(&error))?;
        while self.decoding.len() >= LIST_PAGES_DECODING {
            self.take_decoded().await?;
        }
        let (kind, compiler) = (self.kind, self.compiler.clone());
        self.decoding.push_back(spawn_blocking(move || decode::page(kind, &body, &compiler)));
        Ok(head)
    }

    /// The objects of all pages in order, those that cannot be read as [`Record::Unreadable`], and why they cannot.
    pub(super) async fn finish(&mut self) -> Result<(Vec<Compiled>, Vec<Rejected>), Failure> {
        while !self.decoding.is_empty() {
            self.take_decoded().await?;
        }
        Ok((std::mem::take(&mut self.objects), std::mem::take(&mut self.unreadable)))
    }

    /// Drops what has been read.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.kind, self.compiler.clone());
    }

    async fn take_decoded(&mut self) -> Result<(), Failure> {
        let Some(page) = self.decoding.pop_front() else { return Ok(()) };
        let page = page.await.map_err(|_| abnormal())?.map_err(|error| malformed(&error))?;
        self.objects.extend(page.objects);
        // What cannot be read is there all the same, and must not be taken for gone.
        let kind = self.kind;
        let present = page.rejected.iter().filter(|object| !object.key.is_empty());
        self.objects
            .extend(present.map(|object| Compiled { identity: identity(kind, object), record: Record::Unreadable }));
        self.unreadable.extend(page.rejected);
        Ok(())
    }
}

fn identity(kind: Kind, object: &Rejected) -> Identity {
    let key: Arc<str> = Arc::from(object.key.as_str());
    let uid = if object.uid.is_empty() { Arc::clone(&key) } else { Arc::from(object.uid.as_str()) };
    Identity { kind, key, uid, version: Arc::from(object.version.as_str()) }
}

fn malformed(error: &decode::Error) -> Failure {
    Failure::Malformed(plain(&error.to_string()))
}

/// Decoding has panicked, which is a defect of ours; the list is read again.
fn abnormal() -> Failure {
    Failure::Malformed("decoding ended abnormally; please report this".to_owned())
}

/// Reads whole lists, beside whatever is being followed.
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

/// A whole list.
#[derive(Debug, Default)]
pub struct Listed {
    /// Its objects; one that cannot be read stands as [`Record::Unreadable`](crate::change::Record::Unreadable).
    pub objects: Vec<Compiled>,
    /// `metadata.resourceVersion` of the list.
    pub version: Arc<str>,
}

impl<S: Server> Lister<S> {
    /// Lists from a server.
    pub fn new(server: Arc<S>, compiler: Compiler) -> Self {
        Self { server, compiler }
    }

    /// Reads all objects of a kind, consistently. A kind that the server does not serve has none, at no version.
    ///
    /// # Errors
    ///
    /// The first page that cannot be read ends it: it is for the caller to try again, later.
    pub async fn list_all(&self, kind: Kind) -> Result<Listed, Failure> {
        let resource = Resource::of(kind);
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
        let mut pages = Pages::new(kind, self.compiler.clone());
        let mut next: Option<String> = None;
        let mut version = None;
        loop {
            let uri = resource.list_uri(api_version, next.as_deref());
            let head = pages.add(self.server.list_page(&uri).await?).await?;
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
    use super::super::script::{Answer, Script, broken, page, pod};
    use super::*;

    fn lister(script: Script) -> (Lister<Script>, Arc<Script>) {
        let script = Arc::new(script);
        (Lister::new(Arc::clone(&script), Compiler::new(&["default-scheduler".to_owned()])), script)
    }

    fn missing() -> Answer {
        Answer::No(Failure::of_status(404, None, b"404 page not found"))
    }

    #[tokio::test]
    async fn all_pages_are_one_list_in_order_at_the_version_of_the_first() {
        let mut script = Script::default();
        let names: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
        for (number, name) in names.iter().enumerate() {
            let next = (number + 1 < names.len()).then_some("more");
            script = script.list(Answer::Page(page(&format!("{}", 10 + number), next, &[pod(name, 1)])));
        }
        let (lister, script) = lister(script);
        let listed = lister.list_all(Kind::Pod).await.unwrap();
        let keys: Vec<_> = listed.objects.iter().map(|object| object.identity.key.to_string()).collect();
        assert_eq!(keys, names.iter().map(|name| format!("ns/{name}")).collect::<Vec<_>>());
        assert_eq!(&*listed.version, "10");
        assert_eq!(script.asked().len(), 20);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_listed_as_being_there() {
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
        for failure in [Failure::of_status(410, None, b""), Failure::of_status(500, None, b"")] {
            let (lister, _) = lister(Script::default().list(first.clone()).list(Answer::No(failure.clone())));
            assert_eq!(lister.list_all(Kind::Pod).await.unwrap_err(), failure);
        }
        let (pods, _) = lister(Script::default().list(missing()));
        assert!(pods.list_all(Kind::Pod).await.is_err(), "an answer without pods is no empty cluster");
        let (torn, _) = lister(
            Script::default().list(Answer::Page(r#"{"metadata":{"resourceVersion":"9"},"items":[{"#.to_owned())),
        );
        assert!(matches!(torn.list_all(Kind::Pod).await.unwrap_err(), Failure::Malformed(_)));
    }
}
