// The page begins here. Start at app/shell.tsx for its frame, at app/routes.ts for what it shows.

import { render } from "preact";
import { Shell } from "./app/shell";

const root = document.getElementById("page");
if (root) render(<Shell />, root);
