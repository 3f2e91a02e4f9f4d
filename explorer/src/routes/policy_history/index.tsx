// Route under work.
export function PolicyHistory() {
  return <h1>PolicyHistory</h1>;
}
