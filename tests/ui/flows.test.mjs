// What a person does first, on the real core: add a workspace, add a task, read its gates, be asked
// before money is spent.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CHANGES, makeRepository, makeReviewer, startBridge } from "./bridge.mjs";
import { launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

/** @type {import("./bridge.mjs").Bridge} */
let bridge;
/** @type {Awaited<ReturnType<typeof serve>>} */
let served;
/** @type {Awaited<ReturnType<typeof launch>>} */
let browser;
/** @type {import("playwright-core").Page} */
let page;
/** @type {ReturnType<typeof makeRepository>} */
let repository;
/** @type {string[]} */
const complaints = [];

before(async () => {
  bridge = await startBridge();
  repository = makeRepository(bridge.folder);
  served = await serve(bridge.url);
  browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: served.url });
  page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A refused command answers with an error status, which Chromium notes as well.
    if (message.type() === "error" && !message.text().includes("status of"))
      complaints.push(message.text());
  });
});

after(async () => {
  await browser?.close();
  served?.close();
  await bridge?.close();
});

test("an empty home offers the first steps", async () => {
  await page.goto(served.url);
  await page.getByTestId("first-workspace").waitFor();
});

test("a folder that is no repository is refused with the next step, and nothing is lost", async () => {
  await page.getByTestId("first-workspace").click();
  await page.getByTestId("add-workspace").click();
  await page.getByTestId("workspace-path").fill(bridge.folder);
  await page.getByTestId("problem").waitFor();
  assert.equal(await page.getByTestId("workspace-path").inputValue(), bridge.folder);
});

test("a git folder shows what it would be, and becomes a workspace", async () => {
  await page.getByTestId("workspace-path").fill(repository.path);
  await page.getByTestId("workspace-preview").getByText("fix/etag").waitFor();
  assert.equal(await page.getByTestId("workspace-title").inputValue(), "app");
  await page.getByTestId("workspace-confirm").click();
  await page.getByTestId("workspace-app").waitFor();
});

test("a branch becomes a task, and its gates stand failed first", async () => {
  await page.keyboard.press("2");
  await page.getByTestId("add-first-task").click();
  await page.getByTestId("branch-fix/etag").check();
  await page.getByTestId("task-confirm").click();
  await page.getByTestId("gate-no_churn").waitFor();
  assert.equal(await page.getByTestId("gate-no_churn").getAttribute("data-state"), "fail");
  const first = await page.locator("tr[data-state]").first().getAttribute("data-testid");
  assert.equal(first, "gate-no_churn");
  await page.getByTestId("evidence-no_churn").click();
  await page.locator("#evidence-no_churn").getByText("package-lock.json").first().waitFor();
});

test("a review asks first and is refused while reviews are off", async () => {
  await page.getByTestId("review-start").click();
  const asked = (await page.getByTestId("confirm").textContent()) ?? "";
  assert.match(asked, /fix: key the cache by id|fix\/etag/);
  assert.match(
    asked,
    new RegExp(repository.git("rev-parse", "--short=7", "fix/etag").toString().trim()),
  );
  assert.match(asked, /at most \$1\.50/);
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("toast").getByText("The review did not start").waitFor();
});

test("the place in the window survives a restart", async () => {
  const hash = new URL(page.url()).hash;
  assert.match(hash, /^#\/task\/\d+$/);
  await page.goto(served.url);
  await page.getByTestId("gate-no_churn").waitFor();
  assert.equal(new URL(page.url()).hash, hash);
});

test("reviews are turned on by the person, and a review runs to its card", async () => {
  makeReviewer(bridge.folder, CHANGES);
  await page.goto(`${served.url}/?on#/settings/reviews`);
  await page.getByTestId("review-enable").click();
  await page.locator("[data-testid=review-enable][aria-checked=true]").waitFor();
  await page.keyboard.press("2");
  await page
    .getByTestId(/^task-row-/)
    .first()
    .click();
  await page.getByTestId("review-start").click();
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("verdict-chip").waitFor({ timeout: 60_000 });
  assert.match((await page.getByTestId("verdict-chip").textContent()) ?? "", /CHANGES/);
  const finding = page.getByTestId("finding-1");
  assert.match((await finding.textContent()) ?? "", /The note <b>lies<\/b>/);
  assert.equal(await finding.locator("b:text('lies')").count(), 0);
  assert.match((await finding.locator("li.cited code").textContent()) ?? "", /keyed by id/);
});

test("copied findings name the commit and the verdict, and pass through the clipboard", async () => {
  await page.getByTestId("copy-findings").click();
  await page.getByTestId("toast").getByText("Copied 1 finding").waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const [first] = text.split("\n");
  assert.match(first ?? "", /CHANGES/);
  assert.match(
    first ?? "",
    new RegExp(repository.git("rev-parse", "fix/etag").toString().slice(0, 7)),
  );
  assert.match(text, /no_churn/);
  assert.match(text, /cache\.txt/);
});

test("the review is an entry; done leaves the list and undo brings it back", async () => {
  await page.keyboard.press("1");
  const row = page.getByTestId(/^entry-/);
  await row.waitFor();
  assert.match((await row.textContent()) ?? "", /CHANGES/);
  await page.keyboard.press("j");
  await page.keyboard.press("e");
  await row.waitFor({ state: "detached" });
  await page.getByTestId("toast-undo").click();
  await row.waitFor();
});

test("an open card turns stale before the reader's eyes", async () => {
  await page.getByTestId(/^entry-/).click();
  await page.getByTestId("verdict-chip").waitFor();
  writeFileSync(join(repository.path, "cache.txt"), "keyed by name\n");
  repository.git("commit", "-qam", "fix: say what is true");
  await page.getByTestId("stale-banner").waitFor({ timeout: 60_000 });
  assert.equal(await page.getByTestId("verdict-chip").count(), 0);
});

test("the window never complained, nor broke its own CSP", () => {
  assert.deepEqual(complaints, []);
});
