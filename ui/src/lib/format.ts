// Figures and times as the window writes them.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, short: `now`, `2 min`, `3 h`, `5 d`, then the date. */
export function age(at: string, now: number): string {
  const then = Date.parse(at);
  if (Number.isNaN(then)) return "unknown";
  const ms = now - then;
  if (ms < -MINUTE) return inTime(-ms);
  if (ms < MINUTE) return "now";
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  if (ms < 14 * DAY) return `${Math.floor(ms / DAY)} d`;
  return day(then);
}

/** The same as a phrase: `just now`, `2 min ago`, `on 3 Nov 2026`. */
export function ago(at: string, now: number): string {
  const short = age(at, now);
  if (short === "now") return "just now";
  if (short.startsWith("in ") || short === "unknown") return short;
  return /^\d+ (min|h|d)$/.test(short) ? `${short} ago` : `on ${short}`;
}

function inTime(ms: number): string {
  if (ms < HOUR) return `in ${Math.ceil(ms / MINUTE)} min`;
  if (ms < DAY) return `in ${Math.round(ms / HOUR)} h`;
  return `in ${Math.round(ms / DAY)} d`;
}

function day(then: number): string {
  return new Date(then).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
  });
}

/** The exact time, with its zone. */
export function exact(at: string): string {
  const then = new Date(at);
  if (Number.isNaN(then.getTime())) return at;
  return then.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
}

/** Age of a tick in seconds up to two minutes, since a tick is expected every minute. */
export function tickAge(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  return seconds < 120 ? `${seconds} s ago` : ago(at, now);
}

/** A span: `12 s`, `3 min 12 s`, `1 h 4 min`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Money; null is said, never shown as nothing. */
export function usd(amount: number | null): string {
  return amount === null ? "cost unknown" : `$${amount.toFixed(2)}`;
}

/** A cap or a budget: whole dollars without cents. */
export function cap(amount: number): string {
  return Number.isInteger(amount) ? `$${amount}` : usd(amount);
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
}

export function number(n: number): string {
  return n.toLocaleString("en-US");
}

/** A commit as one reads it. */
export function short(sha: string): string {
  return sha.slice(0, 7);
}

/** When a snooze ends, in the person's own zone, so that daylight saving keeps the clock time. */
export function snoozeChoices(now: Date): { id: string; label: string; until: Date }[] {
  const evening = new Date(now);
  evening.setHours(18, 0, 0, 0);
  const tomorrow = new Date(now);
  tomorrow.setDate(tomorrow.getDate() + 1);
  tomorrow.setHours(8, 0, 0, 0);
  const week = new Date(now);
  week.setDate(week.getDate() + (((8 - week.getDay()) % 7) + (week.getDay() === 1 ? 7 : 0)));
  week.setHours(8, 0, 0, 0);
  const choices = [{ id: "hour", label: "1 hour", until: new Date(now.getTime() + HOUR) }];
  if (evening.getTime() > now.getTime()) {
    choices.push({ id: "evening", label: "This evening", until: evening });
  }
  choices.push({ id: "tomorrow", label: "Tomorrow", until: tomorrow });
  choices.push({ id: "week", label: "Next week", until: week });
  return choices;
}
