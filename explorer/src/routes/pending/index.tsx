// Route under work.
export function Pending() {
  return <h1>Pending</h1>;
}
