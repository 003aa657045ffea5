// Members of the roster: how one is named, and what its row says in a few words.
import type { MemberView } from "../../api/generated/MemberView";
import type { NeedView } from "../../api/generated/NeedView";
import { count } from "../../lib/format";

/** `agent@host`, as addresses and the core's own targets name a member. */
export function nameOf(member: Pick<MemberView, "agent" | "host">): string {
  return `${member.agent}@${member.host}`;
}

/** True when an address means this member: without case, spaces collapsed. */
export function isCalled(member: Pick<MemberView, "agent" | "host">, name: string): boolean {
  const fold = (text: string): string => text.trim().replace(/\s+/g, " ").toLowerCase();
  return fold(nameOf(member)) === fold(name);
}

/** What else is to be said of a member than its state. */
export function noteOf(member: MemberView): string {
  const open = member.needs.length;
  return [
    ...(member.absent === null ? [] : [`declared ${member.absent}`]),
    ...(open === 0 ? [] : [count(open, "open question")]),
    ...(member.detail === "" || member.flagged !== null ? [] : [member.detail]),
  ].join(" · ");
}

/** True when every word of a search stands in the text. */
function holds(text: string, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text.toLowerCase().includes(word));
}

/** The members that a search lets through. */
export function search(members: MemberView[], query: string): MemberView[] {
  return members.filter((one) =>
    holds(
      `${nameOf(one)} ${one.project ?? ""} ${one.state} ${one.pane ?? ""} ${one.flagged ?? ""} ${noteOf(one)}`,
      query,
    ),
  );
}

/** The questions that a search lets through. */
export function searchNeeds(needs: NeedView[], query: string): NeedView[] {
  return needs.filter((one) =>
    holds(
      `${nameOf(one)} ${one.project ?? ""} ${one.topic} ${one.question} ${one.state} ${one.answer?.words ?? ""}`,
      query,
    ),
  );
}
