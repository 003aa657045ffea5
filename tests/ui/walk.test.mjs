// The walk over every page, in every look and width, on the real core with a task in it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CHANGES, makeFolder, makeRepository, makeReviewer, startBridge } from "./bridge.mjs";
import { DEAF, ENDED, IDLE, prompting, startTmux, WORKING } from "./panes.mjs";

const ACCEPTED = { verdict: "ACCEPTED", summary: "As it should be." };

test("every page in every look and width is accessible and fits", {
  timeout: 1_200_000,
}, async () => {
  const folder = makeFolder();
  const panes = startTmux(folder);
  // One member of each state.
  const pane = {
    asker: panes.script(prompting(join(panes.home, "key"))),
    worker: panes.script(WORKING),
    idler: panes.script(IDLE),
    ended: panes.script(ENDED),
    deaf: panes.script(DEAF),
  };
  const bridge = await startBridge({ github: true, folder, tmux: panes.address });
  try {
    const { path, git } = makeRepository(bridge.folder);
    const { call } = bridge;
    /** @param {string} what @param {() => Promise<boolean>} holds */
    const until = async (what, holds) => {
      const late = Date.now() + 90_000;
      while (!(await holds())) {
        assert.ok(Date.now() < late, `${what} did not come`);
        await new Promise((next) => setTimeout(next, 100));
      }
    };
    /** @param {number} task @param {unknown} submission */
    const judged = async (task, submission) => {
      makeReviewer(bridge.folder, submission);
      const { review } = await call("review_start", { task });
      await until(`the end of review ${review} of task ${task}`, async () => {
        const { state } = await call("review_show", { id: review });
        return state === "published" || state === "ended";
      });
    };
    /** @param {string} branch @param {unknown} submission */
    const reviewed = async (branch, submission) =>
      judged((await call("task_add", { workspace: "app", branch })).id, submission);
    const roster = [
      `{agent: asker, project: app, pane: "${pane.asker}", adapter: claude}`,
      `{agent: worker, project: app, pane: "${pane.worker}", adapter: claude}`,
      `{agent: idler, project: app, pane: "${pane.idler}", adapter: claude}`,
      `{agent: ended, project: docs, pane: "${pane.ended}", adapter: claude}`,
      `{agent: deaf, project: docs, pane: "${pane.deaf}"}`,
      `{agent: lost, project: docs, pane: "%99"}`,
      `{agent: night, project: docs, pane: "%98", declaredAbsent: sleeping}`,
    ];
    appendFileSync(
      join(folder, "home", "config.yaml"),
      `questions:\n  enabled: true\n  owner: leon\n  keys: true\n  roster:\n${roster.map((one) => `    - ${one}\n`).join("")}`,
    );
    await call("workspace_add", { title: "app", path });
    await call("review_enable", { on: true });
    // One review of each kind that a script can make: changes, accepted, no valid verdict, stale.
    await reviewed("fix/etag", CHANGES);
    for (const branch of ["feat/clean", "feat/silent", "feat/moved"]) {
      git("switch", "-qc", branch, "main");
      git("commit", "-q", "--allow-empty", "-m", `feat: ${branch}`);
      await reviewed(branch, branch === "feat/silent" ? { verdict: "MAYBE" } : ACCEPTED);
    }
    git("commit", "-q", "--allow-empty", "-m", "feat: moved on");
    // Two watched repositories: one that suggests, with an effect of each end, and one whose wider
    // power waits.
    for (const name of ["octo/app", "octo/docs"]) await call("repository_add", { name });
    await call("repository_mode", { name: "octo/app", mode: "suggest" });
    await call("power_confirm", { change: (await call("power_show", {})).change });
    await call("repository_mode", { name: "octo/docs", mode: "act", act: ["comment_review"] });
    /** @returns {Promise<any[]>} */
    const pulls = async () => (await call("repository_board", { name: "octo/app" })).pulls;
    await call("observe_now", {}).catch(() => null);
    await until("both boards", async () => {
      const { repositories } = await call("repository_list", {});
      return repositories.every((/** @type {any} */ one) => one.observedAt !== null);
    });
    for (const number of [1, 2, 4]) {
      const pull = (await pulls()).find((one) => one.number === number);
      await judged(pull.task, ACCEPTED);
    }
    /** @returns {Promise<any[]>} */
    const effects = async () => (await call("effect_list", { open: false, limit: 10 })).effects;
    await until("three suggestions", async () => (await effects()).length === 3);
    const [sent, dismissed] = await effects();
    await call("effect_send", { id: sent.id, hash: sent.hash });
    await call("effect_dismiss", { id: dismissed.id });
    await until("the sent one", async () =>
      (await effects()).some((one) => one.id === sent.id && one.state === "done"),
    );
    // Questions: open with options, answered and not fetched, answered and come back, put away.
    /** @param {string} topic @param {string} where */
    const raised = async (topic, where) =>
      (
        await call("need_raise", {
          source: "mcp",
          who: { pane: where },
          topic,
          question: `What of ${topic}?\nSee <b>docs/${topic}.md</b>.`,
          options: ["Keep it for another release, and warn", "Drop it now"],
        })
      ).id;
    await raised("storage", pane.worker);
    const waits = await raised("names", pane.idler);
    await call("need_answer", { id: waits, text: "Keep it, but say so." });
    const back = await raised("returns", pane.deaf);
    await call("need_answer", { id: back, text: "Keep it." });
    await call("need_type", { id: back });
    await call("need_drop", { id: await raised("tea", pane.ended), who: {} });
    await until("an answer that came back", async () => {
      const { answer } = await call("need_show", { id: back });
      return answer.stage === "returned";
    });
    await until("a member of each state", async () => {
      const { members } = await call("roster_list", {});
      return new Set(members.map((/** @type {any} */ one) => one.state)).size === 6;
    });
    await until("the prompt", async () => {
      const { needs } = await call("need_list", { closed: false, limit: 50 });
      return needs.some((/** @type {any} */ one) => one.may.press);
    });
    const walk = spawn(process.execPath, [fileURLToPath(new URL("walk.mjs", import.meta.url))], {
      env: { ...process.env, STEWARD_BRIDGE: bridge.url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    walk.stdout.on("data", (part) => (said += part));
    walk.stderr.on("data", (part) => (said += part));
    const code = await new Promise((done) => walk.once("exit", done));
    assert.equal(code, 0, said);
  } finally {
    panes.close();
    await bridge.close();
  }
});
