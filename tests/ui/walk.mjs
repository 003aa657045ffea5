// Walks every page in every look and width on a bridge: axe finds nothing serious, nothing
// scrolls sideways, the CSP is never violated, and each screen is saved to be looked at.
//   STEWARD_BRIDGE=http://127.0.0.1:PORT node tests/ui/walk.mjs
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { AXE, launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const bridge = process.env.STEWARD_BRIDGE;
if (!bridge) {
  console.error("STEWARD_BRIDGE names the bridge, e.g. http://127.0.0.1:4199");
  process.exit(2);
}
const SCREENS = fileURLToPath(
  new URL(process.env.STEWARD_SCREENS ?? "../../target/screens/ui/", import.meta.url),
);
const LOOKS = [
  { name: "light", theme: "light", palette: "standard" },
  { name: "dark", theme: "dark", palette: "standard" },
  { name: "contrast", theme: "light", palette: "contrast" },
  { name: "contrast-dark", theme: "dark", palette: "contrast", wideOnly: true },
  { name: "safe", theme: "light", palette: "safe" },
  { name: "safe-dark", theme: "dark", palette: "safe", wideOnly: true },
].filter((look) => !process.env.LOOK || process.env.LOOK.split(",").includes(look.name));
const SIZES = [
  { width: 1280, height: 860 },
  { width: 900, height: 800 },
  { width: 390, height: 844 },
].filter((size) => !process.env.WIDTH || process.env.WIDTH.split(",").includes(`${size.width}`));

/** @typedef {{ name: string, hash: string, open?: (page: import("playwright-core").Page) => Promise<void>, wide?: boolean }} Stop */

/**
 * Asks the core behind the bridge.
 * @template {keyof import("../../ui/src/api/generated/commands").Commands} N
 * @param {N} name
 * @param {import("../../ui/src/api/generated/commands").Commands[N]["request"]} request
 * @returns {Promise<import("../../ui/src/api/generated/commands").Commands[N]["response"]>}
 */
async function call(name, request) {
  const answer = await fetch(new URL(`/call/${name}`, bridge), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  return /** @type {any} */ (await answer.json());
}

/** Every page there is, and one review of each state the core has. */
async function stops() {
  /** @type {Stop[]} */
  const all = [{ name: "inbox", hash: "#/inbox" }];
  const { reviews } = await call("review_list", { limit: 100 });
  const seen = new Set();
  for (const review of reviews) {
    const kind = review.stale ? "stale" : (review.reason ?? review.verdict ?? review.state);
    if (seen.has(kind)) continue;
    seen.add(kind);
    all.push({ name: `review-${kind}`.toLowerCase(), hash: `#/review/${review.id}` });
  }
  const { tasks } = await call("task_list", { limit: 100 });
  all.push({ name: "tasks", hash: "#/tasks" });
  const first = tasks[0];
  if (first) {
    all.push({ name: "task", hash: `#/task/${first.id}` });
    all.push({
      name: "task-confirm",
      hash: `#/task/${first.id}`,
      open: async (page) => {
        const start = page.getByTestId("review-start");
        if (await start.isVisible()) await start.click();
      },
    });
  }
  all.push({ name: "repositories", hash: "#/repositories" });
  const { repositories } = await call("repository_list", {});
  for (const one of repositories) {
    const name = `repository-${one.name.replace(/\W+/g, "-")}`;
    all.push({ name, hash: `#/repository/${one.name}` });
    const { pulls } = await call("repository_board", { name: one.name });
    const followed = pulls.find((pull) => pull.task !== null);
    const first = pulls.find((pull) => pull.task === null);
    for (const pull of [followed, first]) {
      if (pull)
        all.push({
          name: `${name}-${pull.number}`,
          hash: `#/repository/${one.name}/pull/${pull.number}`,
        });
    }
  }
  const [watched] = repositories;
  if (watched) {
    all.push({
      name: "mode",
      hash: `#/repository/${watched.name}`,
      open: async (page) => {
        await page.getByTestId("set-mode").click();
        await page.getByTestId("mode-act").check();
      },
    });
  }
  all.push({
    name: "add-repository",
    hash: "#/repositories",
    open: async (page) => {
      await page.getByTestId("add-repository").click();
      await page.locator("[aria-label^='Looking for']").waitFor({ state: "detached" });
    },
  });
  const effects = (await call("effect_list", { open: false, limit: 100 })).effects;
  for (const state of new Set(effects.map((one) => one.state))) {
    const effect = effects.find((one) => one.state === state);
    if (effect) all.push({ name: `effect-${state}`, hash: `#/effect/${effect.id}` });
  }
  const suggested = effects.find((one) => one.canSend);
  if (suggested) {
    all.push({
      name: "effect-confirm",
      hash: `#/effect/${suggested.id}`,
      open: (page) => page.getByTestId("effect-send").click(),
    });
  }
  const { needs } = await call("need_list", { closed: true, limit: 100 });
  const kinds = new Set();
  for (const need of needs) {
    const what = need.prompt ? "prompt" : need.options.length > 0 ? "options" : "words";
    const kind = `${need.state}-${what}${need.answer ? `-${need.answer.stage}` : ""}`;
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    all.push({ name: `question-${kind}`, hash: `#/question/${need.id}` });
  }
  const allowed = needs.find((need) => need.may.press);
  if (allowed) {
    all.push({
      name: "question-allow",
      hash: `#/question/${allowed.id}`,
      open: (page) => page.getByTestId("prompt-allow").click(),
    });
  }
  all.push({ name: "roster", hash: "#/roster" });
  const roster = await call("roster_list", {}).catch(() => null);
  const states = new Set();
  for (const member of roster?.members ?? []) {
    if (states.has(member.state)) continue;
    states.add(member.state);
    const name = encodeURIComponent(`${member.agent}@${member.host}`);
    all.push({ name: `roster-${member.state}`, hash: `#/roster/${name}` });
  }
  const { entries } = await call("inbox_list", { filter: "open", limit: 200 });
  for (const entry of entries.filter((one) => one.target.startsWith("roster/"))) {
    const of = encodeURIComponent(entry.target.slice("roster/".length));
    all.push({ name: `incident-${entry.chip}`.toLowerCase(), hash: `#/inbox/roster/${of}` });
  }
  all.push({ name: "powers", hash: "#/inbox/powers" });
  all.push({
    name: "sign-in",
    hash: "#/settings/accounts",
    open: (page) => page.getByTestId("sign-in").click(),
  });
  for (const section of [
    "accounts",
    "workspaces",
    "reviews",
    "powers",
    "appearance",
    "config",
    "diagnostics",
  ]) {
    all.push({ name: `settings-${section}`, hash: `#/settings/${section}` });
  }
  all.push({
    name: "add-workspace",
    hash: "#/settings/workspaces",
    open: (page) => page.getByTestId("add-workspace").click(),
  });
  all.push({
    name: "add-task",
    hash: "#/tasks",
    open: (page) => page.getByTestId("add-task").click(),
  });
  all.push({
    name: "add-pull",
    hash: "#/tasks",
    open: async (page) => {
      await page.getByTestId("add-task").click();
      await page.getByTestId("task-from-pull").check();
    },
  });
  all.push({ name: "keys", hash: "#/inbox", open: (page) => page.keyboard.press("?") });
  all.push({ name: "palette", hash: "#/inbox", open: (page) => page.keyboard.press("Control+k") });
  return all;
}

/** @type {string[]} */
const wrong = [];
const served = await serve(bridge);
const browser = await launch();
await mkdir(SCREENS, { recursive: true });
const walk = (await stops()).filter(
  (stop) =>
    !process.env.ONLY || process.env.ONLY.split(",").some((name) => stop.name.startsWith(name)),
);
let walked = 0;

try {
  for (const look of LOOKS) {
    for (const size of SIZES) {
      if (look.wideOnly && size.width < 1280) continue;
      const context = await browser.newContext({ viewport: size, bypassCSP: false });
      await context.addInitScript(
        ([theme, palette]) => {
          if (!localStorage.getItem("steward.window")) {
            localStorage.setItem("steward.window", JSON.stringify({ theme, palette }));
          }
        },
        [look.theme, look.palette],
      );
      const page = await context.newPage();
      let where = "";
      page.on("console", (message) => {
        if (message.type() === "error") wrong.push(`${where}: console: ${message.text()}`);
      });
      page.on("pageerror", (error) => wrong.push(`${where}: ${error.message}`));
      for (const stop of walk) {
        where = `${stop.name} ${look.name} ${size.width}`;
        // Another query makes it a load, not a move within the page.
        await page.goto(`${served.url}/?screen=${walked}${stop.hash}`);
        await page.locator("h1, h2").first().waitFor({ state: "attached" });
        await page.evaluate(() => document.fonts.ready);
        await page.waitForFunction(
          () =>
            !document.querySelector(
              "[role=status][aria-label^=Reading], [role=status][aria-label^=Looking], [role=status][aria-label^=Computing]",
            ),
        );
        await stop.open?.(page);
        await page.evaluate(
          () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60))),
        );
        // A page that scrolls sideways hides what it says; a pane may, a code excerpt must.
        const sideways = await page.evaluate(() => {
          const out = [];
          if (document.documentElement.scrollWidth > innerWidth) out.push("the window");
          for (const pane of document.querySelectorAll(".detail, .list, .view, dialog")) {
            if (pane.scrollWidth > pane.clientWidth + 1) out.push(pane.className || pane.tagName);
          }
          return out;
        });
        for (const pane of sideways) wrong.push(`${where}: ${pane} scrolls sideways`);
        if (!(await page.evaluate(() => "axe" in window))) {
          // Through the debugger, so that the page's own CSP stays in force.
          const { readFile } = await import("node:fs/promises");
          await page.evaluate(await readFile(AXE, "utf8"));
        }
        const found = await page
          .evaluate(async () => {
            // Colours that are on their way to another are not the ones a person reads.
            for (const one of document.getAnimations()) {
              if (one.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY)
                one.cancel();
              else one.finish();
            }
            const { violations } = await /** @type {any} */ (window).axe.run();
            return violations
              .filter((/** @type {any} */ one) => ["serious", "critical"].includes(one.impact))
              .map(
                (/** @type {any} */ one) =>
                  `${one.id}: ${one.nodes
                    .slice(0, 3)
                    .map(
                      (/** @type {any} */ node) =>
                        `${node.target.join(" ")} ${node.any[0]?.message ?? ""}`,
                    )
                    .join(" | ")}`,
              );
          })
          .catch((error) => [String(error)]);
        for (const one of found) wrong.push(`${where}: axe: ${one}`);
        await page.screenshot({ path: `${SCREENS}/${stop.name}-${look.name}-${size.width}.png` });
        walked += 1;
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
  served.close();
}

for (const line of [...new Set(wrong)]) console.error(line);
console.log(`${walked} screens in ${SCREENS}, ${new Set(wrong).size} complaints`);
process.exit(wrong.length === 0 && walked > 0 ? 0 : 1);
