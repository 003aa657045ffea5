// Starting a review spends money, so it asks once, naming what and how much.
import { call, refusal } from "../../host";
import { asking } from "../../lib/ask.svelte";
import { short, usd } from "../../lib/format";
import { notices } from "../../lib/notices.svelte";

export type Subject = {
  task: number;
  title: string;
  sha: string | null;
  budgetUsd: number | null;
};

/** The budget of one review, as the config file has it in force. */
export async function budgetInForce(): Promise<number | null> {
  const config = await call("config_check", {});
  const found = config.effective.find((one) => one.key === "review.budgetUsd");
  const amount = Number(found?.value);
  return found && Number.isFinite(amount) ? amount : null;
}

/** Asks, starts, and answers the review's number; null when it did not start. */
export async function startReview(subject: Subject): Promise<number | null> {
  try {
    const budget = subject.budgetUsd ?? (await budgetInForce());
    const yes = await asking.ask({
      title: `Review task ${subject.task}?`,
      body: "A seat reads this commit in its boundary. It costs money and asks no more until it is done.",
      facts: [
        { name: "Task", value: `#${subject.task} ${subject.title}` },
        {
          name: "Commit",
          value: subject.sha === null ? "the head at the start" : short(subject.sha),
          mono: true,
        },
        {
          name: "Budget",
          value: budget === null ? "as the config file says" : `at most ${usd(budget)}`,
        },
      ],
      ok: "Start the review",
    });
    if (!yes) return null;
    const started = await call("review_start", { task: subject.task });
    notices.done(`Review ${started.review} started on ${short(started.sha)}`);
    return started.review;
  } catch (cause) {
    notices.failed("The review did not start", refusal(cause));
    return null;
  }
}
