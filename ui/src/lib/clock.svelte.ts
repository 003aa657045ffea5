// The window's clock: slow for ages, fast only while something is under way and in sight.

class Clock {
  #now = $state(Date.now());
  #fast = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    this.#run();
    globalThis.document?.addEventListener("visibilitychange", () => this.#run());
  }

  /** The time now, good to 15 s, or to 1 s while somebody asked for seconds. */
  get now(): number {
    return this.#now;
  }

  /** Ticks every second until the returned function is called. */
  seconds(): () => void {
    this.#fast += 1;
    this.#run();
    return () => {
      this.#fast -= 1;
      this.#run();
    };
  }

  #run(): void {
    clearInterval(this.#timer);
    if (globalThis.document?.hidden) return;
    this.#now = Date.now();
    this.#timer = setInterval(
      () => {
        this.#now = Date.now();
      },
      this.#fast > 0 ? 1000 : 15_000,
    );
  }
}

export const clock = new Clock();
