// Route under work.
export function Node() {
  return <h1>Node</h1>;
}
