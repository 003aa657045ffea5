// The bridge over the real core, started for one test file in a fresh home.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BINARY = fileURLToPath(
  new URL(
    `${process.env.CARGO_TARGET_DIR ?? "../../target"}/debug/steward-bridge`,
    import.meta.url,
  ),
);
const STARTS_WITHIN_MS = 20_000;

/**
 * @typedef {{
 *   url: string,
 *   folder: string,
 *   call: (name: string, request: unknown) => Promise<any>,
 *   world: (verb: string, asked?: unknown) => Promise<any>,
 *   close: () => Promise<void>,
 * }} Bridge
 */

/** A folder of a test's own, which goes when its bridge is closed. */
export function makeFolder() {
  return mkdtempSync(join(tmpdir(), "steward-ui-"));
}

/**
 * @param {{ github?: boolean, folder?: string, tmux?: string }} [how] with `github` the home is signed in
 *   to a seeded world; `tmux` names the server whose panes it sees
 * @returns {Promise<Bridge>}
 */
export async function startBridge(how = {}) {
  const folder = how.folder ?? makeFolder();
  const clean = () => rmSync(folder, { recursive: true, force: true });
  if (!existsSync(BINARY)) {
    throw new Error(`${BINARY} is not built: cargo build -p steward-bridge`);
  }
  const child = spawn(BINARY, [], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      STEWARD_HOME: join(folder, "home"),
      STEWARD_AGENT_KEY: "made-up-credential",
      ...(how.tmux ? { TMUX: how.tmux } : {}),
      ...(how.github ? { STEWARD_BRIDGE_WORLD: "1", STEWARD_GITHUB_TOKEN: "made-up-token" } : {}),
    },
  });
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((found, failed) => {
    const late = setTimeout(() => failed(new Error("the bridge did not start")), STARTS_WITHIN_MS);
    lines.once("line", (line) => {
      clearTimeout(late);
      found(line.trim());
    });
    child.once("exit", (code) => failed(new Error(`the bridge ended with ${code}`)));
  });
  /** @param {string} path @param {unknown} body */
  const post = async (path, body) => {
    const answer = await fetch(`${url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
  return {
    url,
    folder,
    call: (name, request) => post(`call/${name}`, request),
    world: (verb, asked = {}) => post(`world/${verb}`, asked),
    close: async () => {
      const ended = new Promise((done) => child.once("exit", done));
      // The bridge ends when its input does, so that none is left behind by a killed test.
      child.stdin.end();
      await ended;
      clean();
    },
  };
}

/**
 * A git folder with a branch to judge: one text change and one lockfile without its manifest.
 * @param {string} folder
 */
export function makeRepository(folder) {
  const path = join(folder, "app");
  /** @param {string[]} words */
  const git = (...words) =>
    execFileSync("git", ["-C", path, ...words], {
      stdio: "pipe",
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "A",
        GIT_AUTHOR_EMAIL: "a@example.org",
        GIT_COMMITTER_NAME: "A",
        GIT_COMMITTER_EMAIL: "a@example.org",
      },
    });
  execFileSync("git", ["init", "-q", "-b", "main", path], { stdio: "pipe" });
  writeFileSync(join(path, "README.md"), "# app\n");
  writeFileSync(join(path, "package.json"), "{}\n");
  writeFileSync(join(path, "package-lock.json"), "{}\n");
  git("add", ".");
  git("commit", "-qm", "chore: start");
  git("switch", "-qc", "fix/etag");
  writeFileSync(join(path, "cache.txt"), "keyed by id\n");
  writeFileSync(join(path, "package-lock.json"), '{ "lockfileVersion": 3 }\n');
  git("add", ".");
  git("commit", "-qm", "fix: key the cache by id");
  return { path, git };
}

/**
 * Makes a shell script the reviewer: it speaks the contract of a command seat and hands this in.
 * @param {string} folder
 * @param {unknown} submission
 */
export function makeReviewer(folder, submission) {
  const script = join(folder, "reviewer");
  writeFileSync(
    script,
    `#!/bin/sh
hash=$(sha256sum "$STEWARD_DIGEST" | cut -d' ' -f1)
echo '{"type":"usage","usd":0.25,"tokens":1000,"turns":2}'
cat > "$STEWARD_SUBMISSION.new" <<SUBMISSION
{"digestHash":"$hash","submission":${JSON.stringify(submission)}}
SUBMISSION
mv "$STEWARD_SUBMISSION.new" "$STEWARD_SUBMISSION"
`,
  );
  chmodSync(script, 0o755);
  const seats = join(folder, "home", "seats");
  mkdirSync(seats, { recursive: true });
  writeFileSync(join(seats, "reviewer.yaml"), `adapter: command\ncommand: ["${script}"]\n`);
}

export const CHANGES = {
  verdict: "CHANGES",
  summary: "The key is right; the note is not.",
  findings: [
    {
      title: "The note <b>lies</b>",
      file: "cache.txt",
      line: 1,
      why: "It says by id, and nothing keys by id.",
      check: "cache.txt names the key that is used",
      severity: "high",
    },
  ],
};
