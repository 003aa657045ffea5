// The bridge over the real core: the one named by STEWARD_BRIDGE, or one started for this run in a
// fresh home.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** @typedef {{ url: string, folder: string, close: () => Promise<void> }} Bridge */

/** @returns {Promise<Bridge>} */
export async function startBridge() {
  const folder = mkdtempSync(join(tmpdir(), "steward-ui-"));
  const clean = () => rmSync(folder, { recursive: true, force: true });
  const named = process.env.STEWARD_BRIDGE;
  if (named) return { url: named, folder, close: async () => clean() };
  if (!existsSync(BINARY)) {
    throw new Error(`${BINARY} is not built: cargo build -p steward-kit --bin steward-bridge`);
  }
  const child = spawn(BINARY, [], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: folder, STEWARD_HOME: join(folder, "home") },
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
  return {
    url,
    folder,
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
