// What a person does with GitHub, on the real core and a GitHub double: sign-in seen, a repository
// watched, its board walked, its mode widened, a review sent as a comment, and the line cut.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeReviewer, startBridge } from "./bridge.mjs";
import { launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const LOOKED_WITHIN_MS = 60_000;
const SUBMISSION = {
  verdict: "CHANGES",
  summary: "The key is not by id. Ask @octo, or see octo/app#2.",
  findings: [
    {
      title: "Nothing is keyed",
      file: "src/fix_etag.rs",
      line: 1,
      why: "The function is empty.",
      check: "a renamed repository keeps its entry",
      severity: "high",
    },
  ],
};

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
  served = await serve(bridge.url);
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(20_000);
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

/** @param {string} name */
const text = async (name) => (await page.getByTestId(name).textContent()) ?? "";

/**
 * Waits until the page and the core agree on something.
 * @param {string} what @param {() => Promise<boolean>} holds
 */
async function until(what, holds) {
  const late = Date.now() + LOOKED_WITHIN_MS;
  while (!(await holds())) {
    assert.ok(Date.now() < late, `${what} did not come`);
    await page.waitForTimeout(100);
  }
}

test("the account says where its token is, and what it may do once GitHub was asked", async () => {
  await page.goto(`${served.url}/#/settings/accounts`);
  assert.match(await text("token-place"), /FROM THE ENVIRONMENT/);
  await bridge.call("review_enable", { on: true });
  await page.getByTestId("account-check").click();
  await page.getByTestId("scope-public_repo").getByText("GRANTED").waitFor();
  assert.match(await text("unneeded"), /delete_repo/);
  assert.equal(await page.getByTestId("account-sign-out").count(), 0);
});

test("a page in a browser takes no token, and names the command that does", async () => {
  await page.getByTestId("sign-in").click();
  const dialog = page.getByTestId("sign-in-dialog");
  await dialog.getByText("steward auth login").waitFor();
  assert.equal(await dialog.locator("input").count(), 1);
  await page.keyboard.press("Escape");
});

test("the wizard offers what the account has, and watches one", async () => {
  await page.keyboard.press("3");
  await page.getByTestId("add-first-repository").click();
  await page.getByTestId("offer-octo/docs").waitFor();
  await page.getByTestId("repository-name").fill("app");
  await page.getByTestId("offer-octo/app").check();
  await page.getByTestId("repository-confirm").click();
  await page.getByTestId("board-head").waitFor();
  assert.match(await text("mode-chip"), /OBSERVE/);
});

test("a look fills the board by whose move it is, and foreign text stays text", async () => {
  if ((await page.getByTestId(/^pull-\d+$/).count()) === 0)
    await page.getByTestId("look-now").click();
  await page.getByTestId("pull-1").waitFor({ timeout: LOOKED_WITHIN_MS });
  for (const group of [
    "Your review wanted",
    "Checks failing",
    "With the author",
    "Drafts",
    "Issues",
  ]) {
    await page.getByRole("heading", { name: group }).waitFor();
  }
  const hostile = page.getByText("<img src=x onerror=alert(1)> & **bold**");
  await hostile.waitFor();
  assert.equal(await page.locator(".board img").count(), 0);
  assert.match(await text("pull-5"), /202e/i);
});

test("each open pull request is a task by itself, and its gates are real", async () => {
  await page.getByTestId("pull-1").click();
  await page.getByTestId("pull-facts").waitFor();
  await page.getByTestId("gate-ci").waitFor({ timeout: LOOKED_WITHIN_MS });
  assert.equal(await page.getByTestId("gate-ci").getAttribute("data-state"), "pass");
  assert.equal(await page.getByTestId("gate-pr_hygiene").getAttribute("data-state"), "pass");
});

test("a wider mode is shown as a difference and holds once it is confirmed", async () => {
  await page.keyboard.press("Escape");
  await page.getByTestId("board-head").waitFor();
  await page.keyboard.press("m");
  await page.getByTestId("mode-suggest").check();
  await page.getByTestId("mode-save").click();
  assert.match(await text("confirm"), /observe → suggest/);
  await page.getByTestId("confirm-cancel").click();
  await page.getByTestId("unconfirmed").waitFor();
  await page.getByTestId("show-powers").click();
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("unconfirmed").waitFor({ state: "detached" });
  assert.match(await text("mode-chip"), /SUGGEST/);
});

test("a review of the pull request becomes a suggestion that is sent only when asked", async () => {
  makeReviewer(bridge.folder, SUBMISSION);
  await page.getByTestId("pull-1").click();
  await page.getByTestId("review-start").click();
  const head = String(await bridge.world("head", { pull: 1 }));
  assert.match(await text("confirm"), new RegExp(head.slice(0, 7)));
  await page.getByTestId("confirm-ok").click();
  await page.getByTestId("verdict-chip").waitFor({ timeout: LOOKED_WITHIN_MS });
  await page.keyboard.press("1");
  await page
    .getByTestId(/^entry-/)
    .filter({ hasText: "octo/app" })
    .first()
    .waitFor();
  const { effects } = await bridge.call("effect_list", { open: true, limit: 10 });
  assert.equal(effects.length, 1);
  await page.goto(`${served.url}/?effect#/effect/${effects[0].id}`);
  assert.match(await text("effect-content"), new RegExp(head));
  await page.keyboard.press("Control+Enter");
  const asked = await text("confirm");
  for (const word of ["octo/app", "#1", head.slice(0, 7)]) assert.ok(asked.includes(word), asked);
  assert.deepEqual(await bridge.world("comments", { pull: 1 }), []);
  await page.getByTestId("confirm-ok").click();
  await page
    .getByTestId("effect-state")
    .getByText("SENT", { exact: true })
    .waitFor({ timeout: LOOKED_WITHIN_MS });
  const comments = await bridge.world("comments", { pull: 1 });
  assert.equal(comments.length, 1);
  assert.equal(comments[0].text.trim(), effects[0].content.trim());
});

test("a push makes the review stale on the board", async () => {
  await bridge.world("push", { branch: "fix/etag" });
  await page.goto(`${served.url}/?stale#/repository/octo/app`);
  await page.getByTestId("look-now").click();
  await page.getByTestId("pull-1").getByText("STALE").waitFor({ timeout: LOOKED_WITHIN_MS });
});

test("with the line cut what was seen stays, with its age, and comes back alone", async () => {
  await bridge.world("offline");
  await page.goto(`${served.url}/?offline#/repositories`);
  await page.getByTestId("repository-octo/app").waitFor();
  await page.keyboard.press("r");
  await page.getByTestId("observer-note").waitFor({ timeout: LOOKED_WITHIN_MS });
  assert.match(await text("observer-note"), /cannot be reached|not seen whole/);
  assert.equal(await page.getByTestId("repository-octo/app").count(), 1);
  await bridge.world("calm");
  await until("the line", async () => {
    await bridge.call("observe_now", {}).catch(() => null);
    return (await page.getByTestId("observer-note").count()) === 0;
  });
});

test("a pull request of any repository becomes a task by its address", async () => {
  await page.keyboard.press("2");
  await page.getByTestId("add-task").click();
  await page.getByTestId("task-from-pull").check();
  await page.getByTestId("task-pull").fill("octo/docs#1");
  await page.getByTestId("task-pull-confirm").click();
  await page.getByRole("heading", { name: "Spell a word right" }).waitFor();
});

test("watching ends after a question, and its task stays", async () => {
  await page.goto(`${served.url}/?end#/repository/octo/app`);
  await page.getByTestId("repository-menu").click();
  await page.getByTestId("repository-menu-remove").click();
  assert.match(await text("confirm"), /octo\/app/);
  await page.getByTestId("confirm-ok").click();
  await page.getByText("No repository is watched").waitFor();
  assert.ok((await bridge.call("task_list", { limit: 50 })).tasks.length > 0);
});

test("GitHub's own description was kept, and the window never complained", async () => {
  assert.deepEqual(await bridge.world("contract"), []);
  assert.deepEqual(complaints, []);
});
