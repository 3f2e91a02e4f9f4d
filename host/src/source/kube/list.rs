//! Lists: pages that are decoded while the next one is read, and delivered whole or not at all.
//!
//! [`Pages`] holds one list in progress; who asks for which page is somebody else's decision. [`Lister`] reads a list from
//! the first page to the last, for whoever wants to compare.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use super::decode::{Compiler, Page, PageObjects, Unreadable};
use super::failure::Failure;
use super::kinds::Resource;
use super::server::Server;
use crate::limits::LIST_PAGES_DECODING;
use crate::object::Kind;
use crate::source::change::Compiled;

/// The pages of one list read so far.
#[derive(Debug)]
pub(super) struct Pages {
    compiler: Compiler,
    decoding: VecDeque<JoinHandle<PageObjects>>,
    objects: PageObjects,
}

/// What a page says of its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// `metadata.resourceVersion`.
    pub version: Arc<str>,
    /// `metadata.continue`; none on the last page.
    pub next: Option<Arc<str>>,
}

impl Pages {
    /// No page yet.
    pub(super) fn new(compiler: Compiler) -> Self {
        Self { compiler, decoding: VecDeque::new(), objects: PageObjects::default() }
    }

    /// Opens a page and has it decoded off the threads that do I/O; the next one can be read meanwhile.
    pub(super) async fn add(&mut self, body: Bytes) -> Result<Head, Failure> {
        let page = spawn_blocking(|| Page::open(body)).await.map_err(|_| abnormal())??;
        let head = Head { version: Arc::clone(&page.version), next: page.next.clone() };
        if self.decoding.len() >= LIST_PAGES_DECODING {
            self.take_decoded().await?;
        }
        let compiler = self.compiler.clone();
        self.decoding.push_back(spawn_blocking(move || page.decode(&compiler)));
        Ok(head)
    }

    /// The objects of all pages in order, and those that cannot be read.
    pub(super) async fn finish(&mut self) -> Result<(Vec<Compiled>, Vec<Unreadable>), Failure> {
        while !self.decoding.is_empty() {
            self.take_decoded().await?;
        }
        let PageObjects { compiled, unreadable } = std::mem::take(&mut self.objects);
        Ok((compiled, unreadable))
    }

    /// Drops what has been read.
    pub(super) fn clear(&mut self) {
        self.decoding.clear();
        self.objects = PageObjects::default();
    }

    async fn take_decoded(&mut self) -> Result<(), Failure> {
        if let Some(page) = self.decoding.pop_front() {
            let PageObjects { compiled, unreadable } = page.await.map_err(|_| abnormal())?;
            self.objects.compiled.extend(compiled);
            self.objects.unreadable.extend(unreadable);
        }
        Ok(())
    }
}

/// Decoding has panicked, which is a defect of ours; the list is read again.
fn abnormal() -> Failure {
    Failure::Malformed("decoding ended abnormally; please report this".to_owned())
}

/// Reads whole lists, beside whatever is being followed.
#[derive(Debug)]
pub struct Lister<S> {
    server: Arc<S>,
    own_schedulers: Arc<[String]>,
}

impl<S> Clone for Lister<S> {
    fn clone(&self) -> Self {
        Self { server: Arc::clone(&self.server), own_schedulers: Arc::clone(&self.own_schedulers) }
    }
}

/// A whole list.
#[derive(Debug)]
pub struct Listed {
    /// Its objects; one that cannot be read stands as [`Record::Unreadable`](crate::source::change::Record::Unreadable).
    pub objects: Vec<Compiled>,
    /// `metadata.resourceVersion` of the list.
    pub version: Arc<str>,
}

impl<S: Server> Lister<S> {
    /// Lists from a server, compiled for the schedulers of a policy.
    pub fn new(server: Arc<S>, own_schedulers: Arc<[String]>) -> Self {
        Self { server, own_schedulers }
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
        let mut pages = Pages::new(Compiler { kind, own_schedulers: Arc::clone(&self.own_schedulers) });
        let mut next = None;
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
