// Takes back exactly the steps it is given: never what was done since, and never what is not theirs.
import { call, refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";

/** Says what came of it; a step that cannot be taken back any more keeps none of the others. */
export async function undoSteps(steps: number[]): Promise<void> {
  const results = await Promise.allSettled(steps.map((step) => call("inbox_undo", { step })));
  const refused = results.find((result) => result.status === "rejected");
  if (refused) notices.failed("Not undone", refusal(refused.reason));
  else notices.say("Undone");
}
