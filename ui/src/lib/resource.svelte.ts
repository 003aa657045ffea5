// A view of the core that stays true: fetched, fetched again on its topics, the last good one kept.
import { type CommandName, call, hearTopics, type Refusal, type Request, refusal } from "../host";

/** Topics were lost on the way: everything may have changed. */
const EVERYTHING = "*";

export interface Resource<T> {
  /** The last good answer. */
  readonly data: T | undefined;
  /** Why the newest fetch failed; with `data`, what is shown is old. */
  readonly error: Refusal | null;
  readonly loading: boolean;
  /** When `data` was fetched, in epoch milliseconds. */
  readonly at: number | null;
  refetch(): Promise<void>;
}

/** Loads what `load` answers for `key`, again when the key changes or a topic of `topics` is heard. */
export function resourceOf<K, T>(
  key: () => K | null,
  load: (key: K) => Promise<T>,
  topics: (topic: string) => boolean,
  // `keep`: a new key is another slice of the same list, so the old one stays until it is here.
  onNewKey: "keep" | "drop" = "drop",
): Resource<T> {
  let data = $state.raw<T | undefined>(undefined);
  let error = $state.raw<Refusal | null>(null);
  let loading = $state(true);
  let at = $state<number | null>(null);
  // Answers of an older question are dropped; heard topics coalesce while a fetch is on its way.
  let asked = 0;
  let busy = false;
  let again = false;
  // Who made it has gone: its key may read what is there no more.
  let gone = false;

  async function fetchNow(): Promise<void> {
    if (gone) return;
    const wanted = key();
    if (wanted === null) return;
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const mine = asked;
    try {
      const answer = await load(wanted);
      if (mine === asked) {
        data = answer;
        error = null;
        at = Date.now();
      }
    } catch (cause) {
      if (mine === asked) error = refusal(cause);
    } finally {
      busy = false;
      if (mine === asked) loading = false;
      if (again || mine !== asked) {
        again = false;
        await fetchNow();
      }
    }
  }

  $effect(() => () => {
    gone = true;
  });
  // Heard before the first fetch, so that no change falls between the two.
  $effect(() =>
    hearTopics((topic) => {
      if (topic === EVERYTHING || topics(topic)) void fetchNow();
    }),
  );

  let last: string | undefined;
  $effect(() => {
    const wanted = key();
    const name = JSON.stringify(wanted);
    if (name === last) return;
    last = name;
    asked += 1;
    if (onNewKey === "drop") data = undefined;
    error = null;
    loading = wanted !== null;
    void fetchNow();
  });
  return {
    get data() {
      return data;
    },
    get error() {
      return error;
    },
    get loading() {
      return loading;
    },
    get at() {
      return at;
    },
    refetch: fetchNow,
  };
}

/** A resource that is the answer of one command. */
export function resource<N extends CommandName>(
  name: N,
  request: () => Request<N> | null,
  ...topics: string[]
): Resource<import("../host").Response<N>> {
  return resourceOf(
    request,
    (wanted: Request<N>) => call(name, wanted),
    (topic) => topics.includes(topic),
  );
}
