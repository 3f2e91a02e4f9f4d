// Made from the contract by `make contract`; not to be edited.
/** Columns of moments: the interface of each, by its name in `Nodes`, in `Node` and in the contract. */
export const MOMENTS = {
  created: 'node-age',
};
