// The frame of every page: the menu, what the page knows of the sidecar, banners, and the route in the middle. Start at Shell.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { AccessContext, SLOW_MS, session, usePolled } from "../api/hooks";
import type { Access } from "../api/types";
import { Trouble } from "../ui/status";
import { Shown, visible } from "../ui/shown";
import { announce, LiveRegion } from "./live";
import { Pulse } from "./pulse";
import { href, parseHash, type Route } from "./router";
import { find, ROUTES, type RouteEntry } from "./routes";
import { Shortcuts } from "./shortcuts";

export function Shell() {
  const [route, setRoute] = useState<Route>(() => parseHash(location.hash));
  const access = usePolled<Access>("v1/access", SLOW_MS);
  const found = useMemo(() => find(route), [route]);
  const main = useRef<HTMLElement>(null);
  const path = route.path.join("/");

  useEffect(() => {
    const changed = () => setRoute(parseHash(location.hash));
    const seen = () => session.setHidden(document.visibilityState === "hidden");
    addEventListener("hashchange", changed);
    document.addEventListener("visibilitychange", seen);
    return () => {
      removeEventListener("hashchange", changed);
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);

  // A new page begins at its top, with the focus on its content, as one that was loaded would.
  const first = useRef(true);
  const title = visible(found ? found.entry.title(found.route) : "No such page");
  useEffect(() => {
    document.title = `${title} · nodesift`;
    if (first.current) {
      first.current = false;
      return;
    }
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
    announce(title);
  }, [path]);

  return (
    <AccessContext.Provider value={access.value}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>Skip to the content</a>
      <header>
        <a class="brand" href="#/">nodesift</a>
        <nav aria-label="Pages">
          <ul>
            {ROUTES.filter((entry) => entry.menu && mayOpen(entry, access.value)).map((entry) => (
              <li key={entry.pattern}>
                <a href={href(entry.pattern.split("/").filter(Boolean))} aria-current={isCurrent(entry, route) ? "page" : undefined}>
                  {entry.menu}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Pulse replica={access.value?.replica} />
        <Shortcuts />
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {access.error && access.value === undefined && <Trouble error={access.error} nextAt={access.nextAt} />}
        <Guard key={path}><Content found={found} access={access.value} /></Guard>
      </main>
      <LiveRegion />
    </AccessContext.Provider>
  );
}

/** Whether the reader may open a route; true while that is not known, since the calls themselves say it. */
function mayOpen(entry: RouteEntry, access: Access | undefined): boolean {
  return access === undefined || entry.needs === "probe" || access.classes.includes(entry.needs);
}

function isCurrent(entry: RouteEntry, route: Route): boolean {
  const [first] = entry.pattern.split("/").filter(Boolean);
  return first === route.path[0];
}

function Content({ found, access }: { found: ReturnType<typeof find>; access: Access | undefined }) {
  if (!found) {
    return (
      <>
        <h1>No such page</h1>
        <p>The address <Shown text={location.hash} /> is none of this page. <a href="#/">Overview</a></p>
      </>
    );
  }
  if (!mayOpen(found.entry, access)) {
    return (
      <>
        <h1>{found.entry.title(found.route)}</h1>
        <p>
          This needs calls of the class <code>{found.entry.needs}</code>, and {access?.caller || "you"} may make those of{" "}
          {access?.classes.join(", ") || "none"}. An operator allows them with <code>--allow-{found.entry.needs}</code>.
        </p>
      </>
    );
  }
  const Route = found.entry.component;
  return <Route route={found.route} />;
}

/** A part of the page whose failure leaves the rest as it is. */
class Guard extends Component<{ children: ComponentChildren }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div class="trouble" role="group" aria-label="Trouble">
        <p><strong>This part of the page has failed.</strong> <Shown text={String(this.state.error)} /></p>
        <button type="button" onClick={() => this.setState({ error: undefined })}>Show it again</button>
      </div>
    );
  }
}
