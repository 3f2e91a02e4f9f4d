//! The interfaces of the contract, as bindings need them. Start at [`Model::of_the_contract`].

use nodesift_module::contract;
use wit_parser::abi::{AbiVariant, WasmSignature};
use wit_parser::{
    Docs, Function, Interface, InterfaceId, Resolve, SizeAlign, Type, TypeDefKind, TypeId, TypeOwner, WorldItem,
};

/// The contract, parsed, with the layout of its types.
pub(crate) struct Model {
    pub(crate) resolve: Resolve,
    sizes: SizeAlign,
    /// Interfaces that a predicate can import, in the order of the world.
    pub(crate) imports: Vec<InterfaceId>,
    /// Interfaces that a predicate exports, in the order of the world.
    pub(crate) exports: Vec<InterfaceId>,
}

impl Model {
    pub(crate) fn of_the_contract() -> Self {
        let (resolve, world) = contract::whole().unwrap();
        let mut sizes = SizeAlign::default();
        sizes.fill(&resolve);
        let of = |items: &mut dyn Iterator<Item = &WorldItem>| {
            items
                .map(|item| match item {
                    WorldItem::Interface { id, .. } => *id,
                    other => panic!("the world has {other:?}"),
                })
                .collect::<Vec<_>>()
        };
        let (imports, exports) =
            (of(&mut resolve.worlds[world].imports.values()), of(&mut resolve.worlds[world].exports.values()));
        Self { resolve, sizes, imports, exports }
    }

    pub(crate) fn interface(&self, id: InterfaceId) -> &Interface {
        &self.resolve.interfaces[id]
    }

    /// Returns the name of an interface, for example `node-labels`.
    pub(crate) fn name(&self, id: InterfaceId) -> &str {
        self.interface(id).name.as_deref().unwrap()
    }

    /// Returns the full name of an interface, for example `nodesift:predicate/node-labels@0.2.0`.
    pub(crate) fn full_name(&self, id: InterfaceId) -> String {
        self.resolve.id_of(id).unwrap()
    }

    pub(crate) fn signature(&self, function: &Function) -> WasmSignature {
        let signature = self.resolve.wasm_signature(AbiVariant::GuestImport, function);
        assert!(!signature.indirect_params, "{} has too many parameters", function.name);
        signature
    }

    /// Bytes of a value in memory.
    pub(crate) fn size(&self, kind: &Type) -> usize {
        self.sizes.size(kind).size_wasm32()
    }

    /// Offsets of the parts of a record or tuple.
    pub(crate) fn offsets<'a>(&self, parts: impl IntoIterator<Item = &'a Type>) -> Vec<usize> {
        self.sizes.field_offsets(parts).into_iter().map(|(offset, _)| offset.size_wasm32()).collect()
    }

    /// Where the value of a variant is, after its tag of a byte.
    pub(crate) fn payload<'a>(&self, cases: impl IntoIterator<Item = Option<&'a Type>>) -> usize {
        self.sizes.payload_offset(wit_parser::Int::U8, cases).size_wasm32()
    }

    /// The type behind names: a `use` is the type that it names.
    pub(crate) fn resolved(&self, id: TypeId) -> TypeId {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(id)) => self.resolved(id),
            _ => id,
        }
    }

    pub(crate) fn kind(&self, id: TypeId) -> &TypeDefKind {
        &self.resolve.types[self.resolved(id)].kind
    }

    /// Interface and name of a type, as `pod-placement` and `term`; none for lists and the like.
    pub(crate) fn type_name(&self, id: TypeId) -> Option<(&str, &str)> {
        let definition = &self.resolve.types[self.resolved(id)];
        let TypeOwner::Interface(owner) = definition.owner else { return None };
        Some((self.name(owner), definition.name.as_deref()?))
    }

    /// The types that an interface defines itself, in order.
    pub(crate) fn own_types(&self, id: InterfaceId) -> Vec<TypeId> {
        self.interface(id).types.values().copied().filter(|kind| self.resolved(*kind) == *kind).collect()
    }
}

/// The words of a documentation, on one line per line of the contract.
pub(crate) fn doc_lines(docs: &Docs) -> Vec<&str> {
    docs.contents.as_deref().map(|text| text.trim().lines().map(str::trim_end).collect()).unwrap_or_default()
}

/// Converts a name from kebab case to upper camel case: `rows-in` becomes `RowsIn`.
pub(crate) fn camel(name: &str) -> String {
    name.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// `rows-in` as `rowsIn`, apart from the words of Go.
pub(crate) fn lower_camel(name: &str) -> String {
    let name = camel(name);
    let name = name[..1].to_ascii_lowercase() + &name[1..];
    if name == "type" { "kind".into() } else { name }
}
