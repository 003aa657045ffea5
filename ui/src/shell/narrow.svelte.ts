// Which panes fit: under 900 px one of two, under 680 px no rail.
class Narrow {
  panes = $state(false);
  rail = $state(false);

  constructor() {
    for (const [name, width] of [
      ["panes", 899],
      ["rail", 680],
    ] as const) {
      const query = globalThis.matchMedia?.(`(max-width: ${width}px)`);
      if (!query) continue;
      this[name] = query.matches;
      query.addEventListener("change", () => {
        this[name] = query.matches;
      });
    }
  }
}

export const narrow = new Narrow();
