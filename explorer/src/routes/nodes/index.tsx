// Route under work.
export function Nodes() {
  return <h1>Nodes</h1>;
}
