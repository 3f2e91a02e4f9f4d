//! [`Paging`]: whether a list comes to its end.

use crate::kube::decode::Head;
use crate::kube::failure::Failure;
use crate::limits::LIST_PAGES;

/// The pages of one list that have been read.
#[derive(Debug, Default)]
pub(in crate::kube) struct Paging {
    pages: usize,
}

impl Paging {
    /// Looks at the head of the page that was read with the token `asked`; none for the first page.
    ///
    /// # Errors
    ///
    /// [`Failure::Malformed`] where another page would be that page again, or one more than a list has.
    pub(in crate::kube) fn read(&mut self, asked: Option<&str>, head: Head) -> Result<Head, Failure> {
        self.pages = if asked.is_none() { 1 } else { self.pages.saturating_add(1) };
        match &head.next {
            Some(next) if Some(next.as_str()) == asked => {
                Err(Failure::Malformed("a page of a list is followed by itself".to_owned()))
            }
            Some(_) if self.pages >= LIST_PAGES => {
                Err(Failure::Malformed(format!("a list of more than {LIST_PAGES} pages")))
            }
            _ => Ok(head),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(next: Option<&str>) -> Head {
        Head { version: "9".into(), next: next.map(str::to_owned) }
    }

    #[test]
    fn a_list_that_does_not_end_is_malformed_at_its_bound_and_one_that_does_is_not() {
        let mut paging = Paging::default();
        for _ in 0..3 {
            assert!(paging.read(None, head(Some("0"))).is_ok());
            let mut tokens = (1..LIST_PAGES - 1).map(|page| (page.to_string(), (page - 1).to_string()));
            assert!(tokens.all(|(next, asked)| paging.read(Some(&asked), head(Some(&next))).is_ok()));
            assert!(paging.read(Some("last"), head(None)).is_ok());
            let further = paging.read(Some("last"), head(Some("more")));
            assert!(matches!(further, Err(Failure::Malformed(_))), "{further:?}");
        }
        assert!(paging.read(Some("same"), head(Some("same"))).is_err());
    }
}
