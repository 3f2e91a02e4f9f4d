// The one table of the page's routes: pattern, title, the class of calls that it needs, and the component. Start at ROUTES.

import type { ComponentType } from "preact";
import { Overview } from "../routes/overview";
import { Pending } from "../routes/pending";
import { Pod } from "../routes/pod";
import { lazily } from "./lazily";
import { match, type Route } from "./router";

export interface RouteProps { route: Route }

export interface RouteEntry {
  /** Segments, of which those that begin with `:` are names. */
  pattern: string;
  /** The title of the document, of the address. */
  title: (route: Route) => string;
  component: ComponentType<RouteProps>;
  /** Calls of this class are needed; the entry is hidden from whoever may not make them. */
  needs: "probe" | "read" | "operate";
  /** The word in the menu; none where it is not in the menu. */
  menu?: string;
}

const later = lazily(() => import("../routes/later"));

export const ROUTES: RouteEntry[] = [
  { pattern: "/", title: () => "Overview", component: Overview, needs: "read", menu: "Overview" },
  { pattern: "/pending", title: () => "Pending pods", component: Pending, needs: "read", menu: "Pending" },
  { pattern: "/pods/:ns/:name", title: (route) => `Pod ${route.names["ns"]}/${route.names["name"]}`, component: Pod, needs: "read" },
  { pattern: "/pods/:ns/:name/try", title: (route) => `What if ${route.names["ns"]}/${route.names["name"]}`, component: later((of) => of.TryPod), needs: "read" },
  { pattern: "/try", title: () => "Try a manifest", component: later((of) => of.TryManifest), needs: "read", menu: "Try" },
  { pattern: "/nodes", title: () => "Nodes", component: later((of) => of.Nodes), needs: "read", menu: "Nodes" },
  { pattern: "/nodes/:name", title: (route) => `Node ${route.names["name"]}`, component: later((of) => of.Node), needs: "operate" },
  { pattern: "/policy", title: () => "Policy", component: later((of) => of.Policy), needs: "operate", menu: "Policy" },
  { pattern: "/policy/history", title: () => "Reloads of the policy", component: later((of) => of.PolicyHistory), needs: "operate" },
  { pattern: "/shadow", title: () => "Shadows", component: later((of) => of.Shadow), needs: "operate", menu: "Shadows" },
  { pattern: "/negotiations", title: () => "Negotiations", component: later((of) => of.Negotiations), needs: "operate", menu: "Negotiations" },
  { pattern: "/about", title: () => "About", component: later((of) => of.About), needs: "probe", menu: "About" },
];

/** The entry of an address, and the route with the names of its pattern; null where there is none. */
export function find(route: Route): { entry: RouteEntry; route: Route } | null {
  for (const entry of ROUTES) {
    const found = match(entry.pattern, route);
    if (found) return { entry, route: found };
  }
  return null;
}
