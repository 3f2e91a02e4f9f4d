// Route under work.
export function Negotiations() {
  return <h1>Negotiations</h1>;
}
