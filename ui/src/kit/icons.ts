// The app's icons: paths on a 24 grid, drawn with a round 1.75 stroke.
export const ICONS = {
  key: "M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9m3.3 7.8 8.9 8.9m-4-4 2.4-2.4m.3 4.7 2.2-2.2",
  inbox: "M4.5 13h4l1.8 3h3.4l1.8-3h4M6.6 5h10.8L20 13v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5z",
  tasks: "m4 7 2 2 3.2-4M4 16l2 2 3.2-4M13 7h7m-7 9h7",
  settings:
    "M4 7h9.6m4.8 0H20M4 17h1.6m4.8 0H20M16 4.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4M8 14.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4",
  search: "M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12m4.4 10.4L20 20",
  check: "m5 13 4.2 4.2L19 7",
  exclaim: "M12 4.5v9.5m0 4.5v.4",
  cross: "m6 6 12 12M18 6 6 18",
  minus: "M6 12h12",
  plus: "M12 6v12M6 12h12",
  dots: "M6 12h.01M12 12h.01M18 12h.01",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16m0 4v4.3l2.8 1.8",
  speech: "M20 5H4v11h5v4l5-4h6z",
  play: "M8 5.5v13l10-6.5z",
  pause: "M8.5 6v12m7-12v12",
  gear: "M12 8.6a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.8M12 3v3m0 12v3M3 12h3m12 0h3M5.6 5.6l2.2 2.2m8.4 8.4 2.2 2.2m0-12.8-2.2 2.2m-8.4 8.4-2.2 2.2",
  copy: "M9 9h11v11H9zM5.5 15H4V4h11v1.5",
  right: "m9 5 7 7-7 7",
  down: "m5 9 7 7 7-7",
  left: "m15 5-7 7 7 7",
  menu: "M4 7h16M4 12h16M4 17h16",
  star: "m12 4 2.4 5.1 5.6.7-4.1 3.9 1 5.5-4.9-2.7-4.9 2.7 1-5.5L4 9.8l5.6-.7z",
  folder: "M3.5 6h6l2 2.5h9V19h-17z",
  branch:
    "M7 8v8m0-8a2 2 0 1 0 0-4 2 2 0 0 0 0 4m0 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4M17 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4m0 0c0 4-10 2-10 6",
  image: "M4 5h16v14H4zm0 11 5-5 4 4 2.5-2.5L20 17M15.5 8.8v.1",
  editor: "m8 8-4 4 4 4m8-8 4 4-4 4M13.5 5l-3 14",
  warning: "M12 4 2.8 20h18.4zm0 6v4.5m0 2.7v.3",
  unplugged: "m4 4 16 16M9 7V3m6 4V3M7 7h10v4a5 5 0 0 1-1.2 3.2M12 16v5",
  shield: "M12 3.5 5 6v5.5c0 4.3 2.9 7.4 7 9 4.1-1.6 7-4.7 7-9V6z",
  wrap: "M4 6h16M4 12h12a3 3 0 0 1 0 6h-4m2-2-2 2 2 2M4 18h4",
} as const;

export type IconName = keyof typeof ICONS;
