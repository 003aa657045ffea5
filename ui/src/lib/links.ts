// Links that leave the window: https alone, in the system's browser.
import { host, refusal } from "../host";
import { notices } from "./notices.svelte";

/** The address when it may be opened; the shell checks it once more. */
export function webPage(url: string | null): string | null {
  if (url === null) return null;
  try {
    const parsed = new URL(url);
    const plain = parsed.protocol === "https:" && parsed.username === "" && parsed.password === "";
    return plain && parsed.host !== "" ? parsed.href : null;
  } catch {
    return null;
  }
}

/** The page of a pull request on its host. */
export function pullPage(host: string, repository: string, number: number): string {
  return `https://${host}/${repository}/pull/${number}`;
}

/** Opens a page in the browser and says why when it does not. */
export async function openPage(url: string | null): Promise<void> {
  const page = webPage(url);
  if (page === null) return;
  try {
    await host().openExternal(page);
  } catch (cause) {
    notices.failed("Not opened", refusal(cause));
  }
}
