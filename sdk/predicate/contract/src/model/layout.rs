//! How values are laid out in memory and passed to functions, by the canonical ABI of components on wasm32.

use super::{Body, Contract, Function, Kind};

impl Contract {
    /// Core values that the parameters of a function are passed as.
    pub(crate) fn flat_params(&self, function: &Function) -> usize {
        function.params.iter().map(|param| self.flat(&param.kind)).sum()
    }

    /// Whether a function returns its value in memory, at an address that its caller gives.
    pub(crate) fn returns_in_memory(&self, function: &Function) -> bool {
        function.result.as_ref().is_some_and(|kind| self.flat(kind) > 1)
    }

    /// Core values of a value.
    fn flat(&self, kind: &Kind) -> usize {
        let most = |kinds: &mut dyn Iterator<Item = Option<&Kind>>| {
            1 + kinds.flatten().map(|kind| self.flat(kind)).max().unwrap_or_default()
        };
        match kind {
            Kind::String | Kind::List(_) => 2,
            Kind::Option(inner) => 1 + self.flat(inner),
            Kind::Tuple(parts) => parts.iter().map(|kind| self.flat(kind)).sum(),
            Kind::Result(ok, error) => most(&mut [ok.as_deref(), error.as_deref()].into_iter()),
            Kind::Named(id) => match &self.definition(*id).body {
                Body::Record(fields) => fields.iter().map(|field| self.flat(&field.kind)).sum(),
                Body::Variant(cases) | Body::Enum(cases) => most(&mut cases.iter().map(|case| case.kind.as_ref())),
            },
            _ => 1,
        }
    }

    /// Bytes of a value in memory.
    pub(crate) fn size(&self, kind: &Kind) -> usize {
        let (size, align) = self.size_and_align(kind);
        size.next_multiple_of(align)
    }

    /// Offsets of the parts of a record or tuple.
    pub(crate) fn offsets<'a>(&self, parts: impl IntoIterator<Item = &'a Kind>) -> Vec<usize> {
        let mut end = 0;
        let offset = |kind: &Kind| {
            let start = usize::next_multiple_of(end, self.size_and_align(kind).1);
            end = start + self.size(kind);
            start
        };
        parts.into_iter().map(offset).collect()
    }

    /// Where the value of a variant is, after its tag of a byte.
    pub(crate) fn payload<'a>(&self, cases: impl IntoIterator<Item = Option<&'a Kind>>) -> usize {
        let align = cases.into_iter().flatten().map(|kind| self.size_and_align(kind).1).max();
        usize::next_multiple_of(1, align.unwrap_or(1))
    }

    fn size_and_align(&self, kind: &Kind) -> (usize, usize) {
        match kind {
            Kind::Bool | Kind::U8 => (1, 1),
            Kind::U16 => (2, 2),
            Kind::U32 | Kind::S32 => (4, 4),
            Kind::U64 | Kind::S64 => (8, 8),
            Kind::String | Kind::List(_) => (8, 4),
            Kind::Option(inner) => self.tagged(&[None, Some(inner)]),
            Kind::Tuple(parts) => self.product(&parts.iter().collect::<Vec<_>>()),
            Kind::Result(ok, error) => self.tagged(&[ok.as_deref(), error.as_deref()]),
            Kind::Named(id) => match &self.definition(*id).body {
                Body::Record(fields) => self.product(&fields.iter().map(|field| &field.kind).collect::<Vec<_>>()),
                Body::Variant(cases) | Body::Enum(cases) => {
                    self.tagged(&cases.iter().map(|case| case.kind.as_ref()).collect::<Vec<_>>())
                }
            },
        }
    }

    fn product(&self, parts: &[&Kind]) -> (usize, usize) {
        let align = parts.iter().map(|kind| self.size_and_align(kind).1).max().unwrap_or(1);
        let last = self.offsets(parts.iter().copied()).last().copied().unwrap_or_default();
        let end = last + parts.last().map_or(0, |kind| self.size(kind));
        (end.next_multiple_of(align), align)
    }

    fn tagged(&self, cases: &[Option<&Kind>]) -> (usize, usize) {
        let values = || cases.iter().copied().flatten();
        let align = values().map(|kind| self.size_and_align(kind).1).max().unwrap_or(1);
        let largest = values().map(|kind| self.size(kind)).max().unwrap_or_default();
        ((self.payload(cases.iter().copied()) + largest).next_multiple_of(align), align)
    }
}
