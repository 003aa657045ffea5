// FOR DRAWING ONLY. Made-up answers to draw the window against while the core is being built.
// Nothing here is the product, and no test that says the product works may use it.
//   node tests/ui/dev/server.mjs 4199, then `npm run dev` in ui/
import { createServer } from "node:http";
import { agent, config, doctor, inboxOf, reviews, status, tasks, workspaces } from "./drawing.mjs";
import { checks, cut, edit, items, shadow, wanting, why } from "./engine.mjs";
import {
  accounts,
  boardOf,
  effects,
  entries as fromGithub,
  observer,
  offers,
  powers,
  repositories,
} from "./github.mjs";
import { asked, capture, needs, roster } from "./questions.mjs";

const port = Number(process.argv[2] ?? 4199);
/** @type {Set<import("node:http").ServerResponse>} */
const listeners = new Set();
const bare = process.argv[3] === "empty";
const entries = [
  ...inboxOf(bare ? 0 : Number(process.argv[3] ?? 9)),
  ...(bare ? [] : [...fromGithub, ...asked, ...wanting]),
];
/** @type {{ id: number, step: number, before: import("../../../ui/src/api/generated/EntryView").EntryView }[]} */
const history = [];
let steps = 0;

/** @type {import("../../../ui/src/api/generated/ListenView").ListenView} */
const door = {
  on: false,
  port: 7437,
  address: null,
  problem: null,
  tokenFile: "~/.local/share/steward/http-token",
};
let shadowRun = { running: false, read: 0, of: 0, stopped: false };

/** @param {string} topic */
function say(topic) {
  for (const listener of listeners) listener.write(`data: ${topic}\n\n`);
}

/** @param {string} message */
function refuse(message, code = "not_found", hint = "this is the drawing server") {
  return Object.assign(new Error(message), { answer: { code, message, hint } });
}

/** @param {number} id */
function review(id) {
  const found = reviews.find((one) => one.id === id);
  if (!found) throw refuse(`no review ${id}`);
  return found;
}

/** @type {Record<string, (request: any) => unknown>} */
const answers = {
  status: () => ({
    ...status,
    inboxOpen: entries.filter((one) => one.state === "open").length,
    tasks: entries.length === 0 ? 0 : tasks.length,
    ...(bare
      ? {}
      : {
          questions: {
            open: 5,
            oldest: needs[0]?.askedAt ?? null,
            tick: roster.tick,
            tickAt: roster.tickAt,
            resolutionFail: false,
            captureFailed: 2,
            flagged: 1,
          },
        }),
  }),
  need_list: () => ({ needs: bare ? [] : needs, open: 5, queue: "" }),
  need_show: ({ id }) => {
    const found = needs.find((one) => one.id === id);
    if (!found) throw refuse(`there is no question ${id}`);
    return found;
  },
  roster_list: () => {
    if (bare) throw refuse("questions are off", "refused");
    return roster;
  },
  roster_look: () => ({ message: "the panes are looked at now" }),
  roster_capture: () => capture,
  roster_brief: ({ agent }) => ({ text: `You are ${agent}. Ask leon with steward need.` }),
  inbox_list: ({ filter, query, limit, after }) => {
    const fits = entries
      .filter((one) => (filter === "saved" ? one.saved : one.state === filter))
      .filter(
        (one) => !query || `${one.title} ${one.source}`.toLowerCase().includes(query.toLowerCase()),
      );
    const from = after ? fits.findIndex((one) => one.id === after) + 1 : 0;
    const page = fits.slice(from, from + limit);
    return {
      entries: page,
      total: fits.length,
      unread: fits.filter((one) => !one.read).length,
      saved: fits.filter((one) => one.saved).length,
      kinds: [...new Set(fits.map((one) => one.kind))].map((kind) => ({
        kind,
        total: fits.filter((one) => one.kind === kind).length,
      })),
      more: from + limit < fits.length,
    };
  },
  inbox_mark: ({ id, action }) => {
    const entry = entries.find((one) => one.id === id);
    if (!entry) throw refuse(`no entry ${id}`);
    history.push({ id, step: ++steps, before: { ...entry } });
    const change = {
      done: { state: "done" },
      reopen: { state: "open", snoozeUntil: null },
      read: { read: true },
      unread: { read: false },
      save: { saved: true },
      unsave: { saved: false },
      snooze: { state: "snoozed", snoozeUntil: action.until },
    }[/** @type {string} */ (action.action)];
    Object.assign(entry, change);
    say("inbox");
    return { entry, step: steps };
  },
  inbox_undo: ({ id, step }) => {
    const at = history.findLastIndex(
      (one) => (id === undefined || one.id === id) && (step === undefined || one.step === step),
    );
    const [last] = at < 0 ? [] : history.splice(at, 1);
    if (!last) return { entry: null, what: null };
    const entry = entries.find((one) => one.id === last.id);
    Object.assign(entry ?? {}, last.before);
    say("inbox");
    return { entry, what: "the last mark" };
  },
  task_list: ({ query }) => ({
    tasks:
      entries.length === 0
        ? []
        : tasks
            .filter((one) => !query || one.task.title.toLowerCase().includes(query.toLowerCase()))
            .map((one) => one.task),
  }),
  task_show: ({ id }) => {
    const found = tasks.find((one) => one.task.id === id);
    if (!found) throw refuse(`no task ${id}`);
    return found;
  },
  task_gates: ({ id }) => {
    const found = reviews.find((one) => one.task === id) ?? review(7);
    return {
      head: found.sha,
      base: found.base,
      at: found.now,
      gates: found.gates,
      cap: found.cap,
      stats: found.stats,
    };
  },
  review_list: () => ({ reviews: tasks.flatMap((one) => one.reviews) }),
  review_show: ({ id }) => ({ ...review(id), now: new Date().toISOString() }),
  review_copy: ({ id }) => ({
    text: `task ${review(id).task} at ${review(id).sha}: ${review(id).verdict}`,
  }),
  review_start: ({ task }) => ({ review: 11, task, sha: review(11).sha }),
  review_cancel: ({ id }) => review(id),
  frame_image: ({ id }) => ({
    id,
    url: `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFElEQVR4nGP8z8DAwMDAxMDAwMAAAA4GAQHxNyhFAAAAAElFTkSuQmCC`,
    width: 1280,
    height: 720,
  }),
  finding_mark: ({ review: of, finding, mark }) => {
    const found = review(of).findings.find((one) => one.id === finding);
    if (!found) throw refuse("no such finding");
    found.mark = mark === "clear" ? null : mark;
    return found;
  },
  finding_open: () => ({ message: "Opened in the editor" }),
  workspace_list: () => ({ workspaces: entries.length === 0 ? [] : workspaces }),
  workspace_inspect: ({ path }) => ({
    path,
    suggestedTitle: path.split("/").at(-1),
    workspace: workspaces[0],
    branches: answerBranches,
  }),
  workspace_branches: () => ({ branches: answerBranches, integration: "main" }),
  workspace_add: () => workspaces[0],
  workspace_remove: () => ({ message: "Removed" }),
  workspace_forge: () => workspaces[0],
  review_enable: ({ on }) => {
    status.reviewEnabled = on;
    say("status");
    return { message: on ? "Reviews are on" : "Reviews are off" };
  },
  repository_list: () => ({
    repositories: bare ? [] : repositories,
    observer: bare ? { ...observer, state: "off", lastTick: null, budgets: [] } : observer,
  }),
  repository_board: ({ name }) => {
    const found = repositories.find((one) => one.name === name);
    if (!found) throw refuse(`${name} is not watched`);
    return boardOf(found, tasks[0]?.reviews[0] ?? null);
  },
  item_why: ({ item }) => {
    const found = why(Number(item.split("#")[1]));
    if (!found) throw refuse(`${item} is not judged yet`);
    return found;
  },
  item_try: ({ item }) => {
    const found = items.find((one) => one.number === Number(item.split("#")[1])) ?? items[2];
    Object.assign(found ?? {}, { askedAt: new Date().toISOString() });
    say("engine");
    return found;
  },
  item_try_undo: ({ item }) => {
    const found = items.find((one) => one.number === Number(item.split("#")[1])) ?? items[2];
    Object.assign(found ?? {}, { askedAt: null });
    say("engine");
    return found;
  },
  engine_shadow: ({ name }) =>
    new Promise((done) => {
      shadowRun = { running: true, read: 0, of: 0, stopped: false };
      const turn = setInterval(() => {
        shadowRun.read += shadowRun.of === 0 ? 0 : 1;
        shadowRun.of = shadow.of;
        say(`shadow:${name}`);
        // Another repository meets GitHub's limit on its way.
        const limited = name !== "octo/app" && shadowRun.read === 17;
        if (!shadowRun.stopped && !limited && shadowRun.read < shadow.of) return;
        clearInterval(turn);
        shadowRun.running = false;
        if (limited) done(cut(17, "limited"));
        else done(shadowRun.stopped ? cut(shadowRun.read, "stopped") : shadow);
      }, 120);
    }),
  engine_shadow_state: () => shadowRun,
  engine_shadow_stop: () => {
    shadowRun.stopped = true;
    return { message: "stopped" };
  },
  repository_checks: () => checks,
  repository_checks_preview: ({ checks: names }) =>
    edit([
      "    policy:",
      "      engine:",
      `        requiredChecks: [${names.join(", ")}] # what must be well`,
    ]),
  repository_checks_set: ({ name }) => repositories.find((one) => one.name === name),
  repository_mode_preview: ({ name, mode, act }) => {
    const one = repositories.find((found) => found.name === name);
    if (one?.asked.mode === mode && act === undefined) return { ...edit([]), parts: [] };
    const shown = edit(
      [`    mode: ${mode}`, ...(act ? [`    act: [${act.join(", ")}]`] : [])],
      [`    mode: ${one?.mode ?? "observe"}`],
    );
    const pending =
      mode === "observe"
        ? []
        : [
            { key: `${name}.mode`, now: one?.mode ?? "observe", asked: mode, widens: true },
            ...(act?.length
              ? [{ key: `${name}.act`, now: "nothing", asked: act.join(", "), widens: true }]
              : []),
          ];
    return { ...shown, pending };
  },
  repository_offers: () => offers,
  repository_mode: ({ name, mode, act }) =>
    Object.assign(repositories.find((one) => one.name === name) ?? {}, {
      asked: { mode, act: act ?? [] },
      unconfirmed: true,
    }),
  repository_add: ({ name }) => ({
    ...repositories[2],
    name: name.replace(/^https:\/\/[^/]+\//, ""),
  }),
  repository_remove: ({ name }) => ({ message: `${name} is watched no more` }),
  observe_now: () => observer,
  account_list: () =>
    bare ? { accounts: [], gh: accounts.gh, keyring: null, budgets: [] } : accounts,
  account_check: () => accounts.accounts[0],
  account_from_gh: () => accounts.accounts[0],
  account_sign_out: () => ({ message: "Signed out" }),
  effect_list: () => ({ effects, more: false }),
  effect_show: ({ id }) => {
    const found = effects.find((one) => one.id === id);
    if (!found) throw refuse(`no effect ${id}`);
    return found;
  },
  power_show: () => powers,
  agent_report: () => agent,
  config_check: () => config,
  doctor: () => doctor,
  listen_show: () => door,
  listen_set: ({ on, port }) =>
    Object.assign(door, { on, port, address: on ? `http://127.0.0.1:${port || 40123}` : null }),
  listen_token_renew: () => ({ message: "a new token stands in the file" }),
  pause: ({ why }) => {
    Object.assign(status, { state: "paused", paused: { why, since: new Date().toISOString() } });
    say("status");
    return status;
  },
  resume: () => {
    Object.assign(status, { state: "running", paused: null });
    say("status");
    return status;
  },
};
const { branches: answerBranches } = await import("./drawing.mjs");

createServer((asked, answer) => {
  if (asked.url === "/topics") {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write(":\n\n");
    listeners.add(answer);
    answer.on("close", () => listeners.delete(answer));
    return;
  }
  let body = "";
  asked.on("data", (part) => {
    body += part;
  });
  asked.on("end", async () => {
    answer.setHeader("content-type", "application/json");
    try {
      const name = (asked.url ?? "").replace("/call/", "");
      const of = answers[name];
      if (!of) throw refuse(`the drawing has no ${name}`, "bad_request");
      answer.end(JSON.stringify(await of(JSON.parse(body || "{}"))));
    } catch (error) {
      const known = /** @type {any} */ (error).answer;
      answer
        .writeHead(400)
        .end(JSON.stringify(known ?? { code: "internal", message: String(error), hint: null }));
    }
  });
}).listen(port, "127.0.0.1", () => console.log(`drawing on http://127.0.0.1:${port}`));
