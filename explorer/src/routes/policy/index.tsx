// Route under work.
export function Policy() {
  return <h1>Policy</h1>;
}
