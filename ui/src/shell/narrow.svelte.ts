// What fits: under 1080 px no table beside the rail, under 900 px one of two panes, under 680 px no rail.
class Narrow {
  table = $state(false);
  panes = $state(false);
  rail = $state(false);

  constructor() {
    for (const [name, width] of [
      ["table", 1079],
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
