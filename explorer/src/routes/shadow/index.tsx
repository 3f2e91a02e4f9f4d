// Route under work.
export function Shadow() {
  return <h1>Shadow</h1>;
}
