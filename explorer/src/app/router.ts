// The router: addresses behind the `#`, so that the page works below any prefix and no name of a pod reaches a server's log.
//
// `#/pods/shop/web-0?by=zone` is the path `/pods/shop/web-0` with the parameter `by`. Start at parseHash and href.

/** An address of the page. */
export interface Route {
  /** Its segments, unescaped. */
  path: string[];
  /** Values of the pattern's names, such as `ns` and `name`. */
  names: Record<string, string>;
  parameters: URLSearchParams;
}

export type Parameters = Record<string, string | undefined>;

/** The address behind a `#`. Escapes that are none stay as they are. */
export function parseHash(hash: string): Route {
  const text = hash.replace(/^#/, "").replace(/^\//, "");
  const mark = text.indexOf("?");
  const path = mark < 0 ? text : text.slice(0, mark);
  const segments = path.split("/").filter((segment) => segment !== "");
  const parameters = new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1));
  return { path: segments.map(unescape), names: {}, parameters };
}

/** The address of a path and its parameters, absent and empty ones left out. */
export function href(path: string[], parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) query.set(name, value);
  const text = query.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The route by a pattern such as `/pods/:ns/:name`; null where it does not match. */
export function match(pattern: string, route: Route): Route | null {
  const parts = pattern.split("/").filter((part) => part !== "");
  if (parts.length !== route.path.length) return null;
  const names: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const segment = route.path[at] ?? "";
    if (part.startsWith(":")) names[part.slice(1)] = segment;
    else if (part !== segment) return null;
  }
  return { ...route, names };
}

/** Goes to an address; `replace` makes no step of the history, for what is typed letter by letter. */
export function go(address: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = address;
    return;
  }
  history.replaceState(null, "", address);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Changes parameters of the address that is shown; those without a value go. */
export function setParameters(route: Route, changes: Parameters, options?: { replace?: boolean }): void {
  const parameters: Parameters = { ...Object.fromEntries(route.parameters), ...changes };
  go(href(route.path, parameters), options);
}

function unescape(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
