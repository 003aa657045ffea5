// Names of repositories and pulls as people write or paste them.

const NAME = /^([\w-][\w.-]*)\/([\w.-]+?)(?:\.git)?$/;

/** A repository as it was named; no host when its name alone was. */
export type Named = { host: string | null; name: string };

/** Host and path of an address of any git host; of anything else, no host and the text itself. */
function partsOf(text: string): [string | null, string] {
  // The port and the user of ssh say nothing about where the repository is in a browser.
  const ssh =
    /^ssh:\/\/(?:[^@/]+@)?([^:/@]+)(?::\d+)?\/(.+)$/.exec(text) ??
    /^[\w.-]+@([^:/@]+):(.+)$/.exec(text);
  const web = /^https:\/\/(?:[^@/]*@)?([^/@]+)\/(.+)$/.exec(text);
  const [, host, path] = ssh ?? web ?? [];
  if (host === undefined || path === undefined) return [null, text];
  return [host.toLowerCase().replace(/^(?:www|ssh)\.github\.com$/, "github.com"), path];
}

/** The repository in what was typed or pasted, or nothing. */
export function repositoryIn(text: string): Named | null {
  const [host, path] = partsOf(text.trim().replace(/[?#].*$/, ""));
  const words = path.replace(/\/+$/, "").split("/");
  const found = NAME.exec(words.slice(0, 2).join("/"));
  return found ? { host, name: `${found[1]}/${found[2]}` } : null;
}

/** Where a repository is, so that no other host's is taken for it. */
export function addressOf(host: string, name: string): string {
  return `https://${host}/${name}`;
}

/** A pull request in what was typed or pasted: `owner/name#12` or its address. */
export function pullIn(text: string): { name: string; number: number } | null {
  const bare = text.trim();
  const short = /^(\S+\/\S+)#([1-9]\d{0,9})$/.exec(bare);
  const web = /^https:\/\/[^/]+\/([^/]+\/[^/]+)\/pull\/([1-9]\d{0,9})(?:[/?#].*)?$/.exec(bare);
  const found = short ?? web;
  const named = found?.[1] === undefined ? null : repositoryIn(found[1]);
  return named === null ? null : { name: named.name, number: Number(found?.[2]) };
}
