// A tmux server of a test's own, with scripts in its panes that draw what agents draw.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RULE = "─".repeat(98);

/**
 * @param {string} folder where its socket and scripts lie
 */
export function startTmux(folder) {
  const home = join(folder, "tmux");
  const socket = join(home, "socket");
  mkdirSync(home, { recursive: true });
  // A shell under another name: with a shell in front an agent counts as ended.
  const agent = join(home, "agent");
  copyFileSync("/bin/sh", agent);
  let scripts = 0;
  /** @param {string[]} words */
  const tmux = (...words) => {
    const { TMUX: _, ...env } = process.env;
    return execFileSync("tmux", ["-u", "-f", "/dev/null", "-S", socket, ...words], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...env, LC_ALL: "C.UTF-8" },
    }).trimEnd();
  };
  /** @param {string} pane */
  const shows = (pane) => tmux("capture-pane", "-p", "-J", "-t", pane);
  return {
    home,
    /** What a program in one of its panes has as `TMUX`. */
    address: `${socket},1,0`,
    tmux,
    shows,
    /**
     * Runs a script in a new pane and gives the pane's number.
     * @param {string} lines
     */
    script(lines) {
      scripts += 1;
      const file = join(home, `script-${scripts}`);
      writeFileSync(file, lines);
      const size = ["-x", "100", "-y", "30"];
      return tmux("new-session", "-d", "-P", "-F", "#{pane_id}", ...size, "--", agent, file);
    },
    close() {
      tmux("kill-server");
    },
  };
}

/** @typedef {ReturnType<typeof startTmux>} Panes */

/** @param {string[]} lines */
const draw = (lines) => `printf '%s\\033[K\\n' ${lines.map((line) => `'${line}'`).join(" ")}\n`;
const STAY = "exec sleep 600\n";
const COMPOSER = [RULE, "❯ ", RULE, "  ⏸ manual mode on · ? for shortcuts"];

/**
 * Claude Code's permission prompt; the one key that answers it goes into a file.
 * @param {string} answered
 */
export const prompting = (answered) =>
  draw([
    "⏺ Bash(touch built)",
    "",
    RULE,
    " Bash command",
    "",
    "   touch built",
    "   Make the file <b>built</b>",
    "",
    " Do you want to proceed?",
    " ❯ 1. Yes",
    "   2. Yes, and always allow access to built from this project",
    "   3. No",
    "",
    " Esc to cancel · Tab to amend",
  ]) +
  `stty raw -echo; key=$(dd bs=1 count=1 2>/dev/null); stty sane
printf '%s' "$key" > '${answered}'; clear; echo 'it went on'; ${STAY}`;

/** Claude Code at work: its spinner moves. */
export const WORKING = `while :; do for sign in ✢ ✳ ✶ ✻ ✽; do
printf '\\033[H'
${draw(["⏺ On it.", ""])}printf '%s Moseying… \\033[K\\n\\n' "$sign"
${draw([RULE, "❯ ", RULE, "  ⏸ manual mode on · esc to interrupt"])}
sleep 0.9; done; done\n`;

/** Claude Code with nothing to do. */
export const IDLE = draw(["⏺ Done: all tests pass.", "", ...COMPOSER]) + STAY;

/** An agent that has ended: its shell stands there. */
export const ENDED = "echo 'See you.'; exec sh -i\n";

/** A line editor like an agent's: a prompt sign, the text that is typed, and what was sent above it. */
export const EDITOR = `printf 'hello\\n\\n> '; while IFS= read -r line; do
printf '%s\\n' "$line" >> "$0.got"; printf 'taken\\n\\n> '; done\n`;

/** A program that takes no words. */
export const DEAF = `echo 'building'; ${STAY}`;
