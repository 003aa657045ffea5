// Confirming a wider power: asked once, with the whole difference, and only exactly that is confirmed.
import type { PowerView } from "../../api/generated/PowerView";
import { call, refusal, tellTopic } from "../../host";
import { asking } from "../../lib/ask.svelte";
import { notices } from "../../lib/notices.svelte";

/** Shows what waits and asks; true when it was confirmed. */
export async function askForPowers(shown?: PowerView): Promise<boolean> {
  try {
    const view = shown ?? (await call("power_show", {}));
    if (view.change === null) {
      notices.done("Nothing waits to be confirmed");
      return false;
    }
    const yes = await asking.ask({
      title: "Give this power?",
      body: "The config file asks for it. From now on Steward does what stands here without asking each time; the log keeps this difference.",
      facts: view.pending.map((line) => ({
        name: line.key,
        value: `${line.now} → ${line.asked}`,
        mono: true,
      })),
      ok: "Confirm",
      danger: view.pending.some((line) => line.widens),
    });
    if (!yes) return false;
    await call("power_confirm", { change: view.change });
    for (const topic of ["powers", "config", "inbox", "repositories"]) tellTopic(topic);
    notices.done("Confirmed. It holds from now on.");
    return true;
  } catch (cause) {
    notices.failed("Not confirmed", refusal(cause));
    return false;
  }
}
