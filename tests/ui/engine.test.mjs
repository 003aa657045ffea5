// What a person sees of the engine, on the real core and a GitHub double: the board by class, why a pull request is
// not merged, and the shadow run. Everything is observed, so not one write may reach GitHub.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startBridge } from "./bridge.mjs";
import { AXE, launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const JUDGED_WITHIN_MS = 60_000;
const SCREENS = fileURLToPath(new URL("../../target/screens/ui/", import.meta.url));
const CONFIG = `engine: {enabled: true, interval: 1m}
repositories:
  - name: octo/app
    policy:
      engine: {safePaths: [src/], requiredChecks: [build, test], requireSeatAccepted: true}
`;

/** @type {import("./bridge.mjs").Bridge} */
let bridge;
/** @type {Awaited<ReturnType<typeof serve>>} */
let served;
/** @type {Awaited<ReturnType<typeof launch>>} */
let browser;
/** @type {import("playwright-core").Page} */
let page;
/** @type {string[]} */
const complaints = [];

before(async () => {
  bridge = await startBridge({ github: true });
  appendFileSync(join(bridge.folder, "home", "config.yaml"), CONFIG);
  served = await serve(bridge.url);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(JUDGED_WITHIN_MS);
  page.on("pageerror", (error) => complaints.push(error.message));
  await mkdir(SCREENS, { recursive: true });
});

after(async () => {
  await browser?.close();
  served?.close();
  await bridge?.close();
});

/** Looks at the page in every size and theme: axe finds nothing serious, nothing scrolls sideways. @param {string} name */
async function walk(name) {
  for (const [width, height] of [
    [1280, 900],
    [900, 800],
    [390, 844],
  ]) {
    for (const theme of /** @type {const} */ (["light", "dark"])) {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width: Number(width), height: Number(height) });
      await page.waitForTimeout(300);
      if (!(await page.evaluate(() => "axe" in window))) {
        await page.evaluate(await readFile(AXE, "utf8"));
      }
      const wrong = await page.evaluate(async () => {
        for (const one of document.getAnimations()) one.finish();
        const { violations } = await /** @type {any} */ (window).axe.run();
        return violations
          .filter((/** @type {any} */ one) => ["serious", "critical"].includes(one.impact))
          .map((/** @type {any} */ one) => `${one.id}: ${one.nodes[0]?.target.join(" ")}`);
      });
      assert.deepEqual(wrong, [], `${name} ${theme} ${width}`);
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      );
      assert.equal(wide, false, `${name} ${width} scrolls sideways`);
      await page.screenshot({ path: join(SCREENS, `${name}-${theme}-${width}.png`) });
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

test("the board stands by class, and says of each what is next", async () => {
  await page.goto(`${served.url}/#/repository/octo/app`);
  await page.getByTestId("decision-1").waitFor();
  await page.getByTestId("engine-note").waitFor();
  const heads = (await page.locator(".board h2").allTextContents()).map((one) => one.trim());
  assert.ok(
    heads.includes("Data") && heads.includes("Foreign") && heads.includes("Drafts"),
    `${heads}`,
  );
  assert.match((await page.getByTestId("decision-5").textContent()) ?? "", /LEFT ALONE/);
  await walk("engine-board");
  await page.getByText("By whose move").click();
  await page.getByRole("heading", { name: "Your review wanted" }).waitFor();
  await page.getByText("By class").click();
});

test("a pull request tells each condition that does not hold, with its evidence", async () => {
  await page.getByTestId("pull-1").click();
  await page.getByTestId("step-seat").waitFor();
  assert.equal(await page.getByTestId("step-seat").getAttribute("data-state"), "unmet");
  assert.equal(await page.getByTestId("step-required_checks").count(), 0);
  await page.getByTestId("steps-fold").click();
  assert.equal(await page.getByTestId("step-required_checks").getAttribute("data-state"), "met");
  await walk("engine-why");
  await page.goto(`${served.url}/?red#/repository/octo/app/pull/2`);
  const red = page.getByTestId("step-required_checks");
  await red.waitFor();
  assert.equal(await red.getAttribute("data-state"), "unmet");
  await red.getByRole("button").click();
  assert.match((await page.locator(".evidence dl").textContent()) ?? "", /build/);
});

test("the shadow run says that nothing was merged yet, and proposes nothing", async () => {
  await page.goto(`${served.url}/?shadow#/repository/octo/app`);
  await page.getByTestId("shadow-run").click();
  await page.getByTestId("shadow-sum").waitFor();
  assert.match(
    (await page.getByTestId("shadow-sum").textContent()) ?? "",
    /Nothing was merged yet/,
  );
  await walk("engine-shadow");
  await page.getByText("Close").click();
});

test("a shadow run says how far it is, and is stopped with what it read", async () => {
  await bridge.world("merges");
  await page.goto(`${served.url}/?whole#/repository/octo/app`);
  await page.getByTestId("shadow-run").click();
  await page.getByText("of the last 3 merges").waitFor();
  assert.equal(await page.locator("[data-testid=shadow-dialog] rect").count(), 3);
  await walk("engine-shadow-whole");
  await page.getByTestId("shadow-close").click();

  await bridge.world("slow");
  await page.getByTestId("shadow-run").click();
  await page.getByText("1 of 3 merges read").waitFor();
  await walk("engine-shadow-progress");
  const asked = Date.now();
  await page.getByTestId("shadow-stop").click();
  await page.getByTestId("shadow-ended").waitFor();
  assert.ok(Date.now() - asked < 2_000, "stopped at once, and not when GitHub answers");
  assert.match((await page.getByTestId("shadow-ended").textContent()) ?? "", /1 of 3 merges/);
  assert.equal(await page.locator("[data-testid=shadow-dialog] rect").count(), 1);
  await bridge.world("calm");

  await page.getByTestId("shadow-close").click();
});

test("proposed checks are chosen, shown as a difference, and written", async () => {
  const file = join(bridge.folder, "home", "config.yaml");
  const before = await readFile(file, "utf8");
  await page.goto(`${served.url}/?checks#/repository/octo/app`);
  await page.getByTestId("shadow-run").click();
  await page.getByTestId("shadow-checks").click();
  await page.getByTestId("edit-none").waitFor();
  await page.getByTestId("check-name").fill("lint");
  await page.getByTestId("check-add").click();
  await page.locator("[data-side=added]").waitFor();
  await walk("engine-checks");
  assert.equal(await readFile(file, "utf8"), before, "what is shown is not written yet");
  await page.getByTestId("checks-save").click();
  await page.getByTestId("checks-dialog").waitFor({ state: "detached" });
  assert.equal(
    await readFile(file, "utf8"),
    before.replace("[build, test]", "[build, test, lint]"),
    "nothing else has changed",
  );
});

test("a mode shows what it changes in the file, and what of it waits", async () => {
  await page.goto(`${served.url}/?mode#/repository/octo/app`);
  await page.getByTestId("set-mode").click();
  await page.getByTestId("edit-at-once").waitFor();
  await page.getByTestId("mode-act").check();
  await page.getByTestId("act-merge").check();
  await page.getByTestId("edit-pending").waitFor();
  await page.getByText("act: [merge]").waitFor();
  await walk("engine-mode");
  await page.getByText("Cancel").click();
});

test("an item has a card of its own, and what is gone says so", async () => {
  await page.goto(`${served.url}/?card#/inbox/item/octo/app/pr-2`);
  await page.getByTestId("item-card").waitFor();
  assert.match((await page.getByTestId("item-attempts").textContent()) ?? "", /no attempt/);
  assert.equal(await page.getByTestId("try-now").count(), 0, "nothing of it waits for a time");
  await walk("engine-card");
  await page.getByTestId("item-why").click();
  await page.getByTestId("step-required_checks").waitFor();
  await page.goto(`${served.url}/?gone#/inbox/item/octo/app/pr-999`);
  await page.getByText("octo/app#999 is not followed any more").waitFor();
  await walk("engine-card-gone");
});

test("a limit in the middle of a shadow run leaves what was read, and says what to do", async () => {
  await bridge.world("limited_on_the_way");
  await page.goto(`${served.url}/?limit#/repository/octo/app`);
  await page.getByTestId("shadow-run").click();
  await page.getByText("1 of 3 merges were read").waitFor();
  assert.equal(await page.locator("[data-testid=shadow-dialog] rect").count(), 1);
  await walk("engine-shadow-limited");
  await page.getByTestId("shadow-close").click();
});

test("nothing went out, GitHub's own description was kept, and the window never complained", async () => {
  const { effects } = await bridge.call("effect_list", { open: false, limit: 10 });
  assert.deepEqual(effects, []);
  assert.deepEqual(await bridge.world("contract"), []);
  assert.deepEqual(complaints, []);
});
