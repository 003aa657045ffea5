// A Chromium of the system, driven by Playwright; both come from ui/node_modules and Debian.
import { createRequire } from "node:module";

const require = createRequire(new URL("../../ui/package.json", import.meta.url));
/** @type {typeof import("playwright-core")} */
const { chromium } = require("playwright-core");

export const AXE = require.resolve("axe-core/axe.min.js");

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the browser; `STEWARD_CHROMIUM` names another one. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.STEWARD_CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
  });
}
