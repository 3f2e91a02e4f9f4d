//! [`Pages`]: the pages of one list in progress. Which page is requested next is the caller's decision.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::change::{Compiled, Compiler, Record};
use crate::kube::decode::{self, Head, Page, Unreadable};
use crate::kube::failure::{Failure, plain};
use crate::limits::LIST_PAGES_DECODING;
use nodesift_object::Kind;

/// The pages of one list that have been read.
#[derive(Debug)]
pub(in crate::kube) struct Pages {
    kind: Kind,
    compiler: Compiler,
    decoding: VecDeque<JoinHandle<Result<Page, decode::Error>>>,
    objects: Vec<Compiled>,
    unreadable: Vec<Unreadable>,
}

impl Pages {
    /// A list of which no page has been read.
    pub(in crate::kube) fn new(kind: Kind, compiler: Compiler) -> Self {
        Self { kind, compiler, decoding: VecDeque::new(), objects: Vec::new(), unreadable: Vec::new() }
    }

    /// Returns the compiler of the objects.
    pub(in crate::kube) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Adds a page: decodes its head here, and the rest on a thread for blocking work while the next page is read.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where this page, or one before it, is not a list.
    pub(in crate::kube) async fn add(&mut self, body: Bytes) -> Result<Head, Failure> {
        let head = decode::head(self.kind, &body).map_err(|error| malformed(&error))?;
        while self.decoding.len() >= LIST_PAGES_DECODING {
            self.take_decoded().await?;
        }
        let (kind, compiler) = (self.kind, self.compiler.clone());
        self.decoding.push_back(spawn_blocking(move || decode::page(kind, &body, &compiler)));
        Ok(head)
    }

    /// The objects of all pages in order, those that do not decode as [`Record::Unreadable`]; and why they do not.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where a page is not a list.
    pub(in crate::kube) async fn finish(&mut self) -> Result<(Vec<Compiled>, Vec<Unreadable>), Failure> {
        while !self.decoding.is_empty() {
            self.take_decoded().await?;
        }
        Ok((std::mem::take(&mut self.objects), std::mem::take(&mut self.unreadable)))
    }

    /// Drops all pages, so that the list can begin again.
    pub(in crate::kube) fn clear(&mut self) {
        *self = Self::new(self.kind, self.compiler.clone());
    }

    async fn take_decoded(&mut self) -> Result<(), Failure> {
        let Some(page) = self.decoding.pop_front() else { return Ok(()) };
        let page = page.await.map_err(|_| panicked())?.map_err(|error| malformed(&error))?;
        self.objects.extend(page.objects);
        // An object that does not decode exists, and must not be removed for want of it in the list.
        let kind = self.kind;
        let present = page.unreadable.iter().filter(|object| !object.key.is_empty());
        self.objects
            .extend(present.map(|object| Compiled { identity: object.identity(kind), record: Record::Unreadable }));
        self.unreadable.extend(page.unreadable);
        Ok(())
    }
}

fn malformed(error: &decode::Error) -> Failure {
    Failure::Malformed(plain(&error.to_string()))
}

/// A panic while decoding is a defect of this program. The list is read again.
fn panicked() -> Failure {
    Failure::Malformed("decoding panicked; please report this".to_owned())
}
