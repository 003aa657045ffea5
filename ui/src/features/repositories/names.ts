// Names of repositories and pulls as people write or paste them.

const NAME = /^([\w-][\w.-]*)\/([\w.-]+?)(?:\.git)?$/;

/** The path of an address of any git host, or the text itself. */
function pathOf(text: string): string {
  const ssh = /^(?:ssh:\/\/)?git@[^:/]+[:/](.+)$/.exec(text);
  if (ssh?.[1]) return ssh[1];
  const web = /^https:\/\/[^/]+\/(.+)$/.exec(text);
  return web?.[1] ?? text;
}

/** `owner/name` in what was typed or pasted, or nothing. */
export function nameIn(text: string): string | null {
  const words = pathOf(text.trim().replace(/[?#].*$/, ""))
    .replace(/\/+$/, "")
    .split("/");
  const found = NAME.exec(words.slice(0, 2).join("/"));
  return found ? `${found[1]}/${found[2]}` : null;
}

/** A pull request in what was typed or pasted: `owner/name#12` or its address. */
export function pullIn(text: string): { name: string; number: number } | null {
  const bare = text.trim();
  const short = /^(\S+\/\S+)#([1-9]\d{0,9})$/.exec(bare);
  const web = /^https:\/\/[^/]+\/([^/]+\/[^/]+)\/pull\/([1-9]\d{0,9})(?:[/?#].*)?$/.exec(bare);
  const found = short ?? web;
  const name = found?.[1] === undefined ? null : nameIn(found[1]);
  return name === null ? null : { name, number: Number(found?.[2]) };
}
