/** Icons, drawn on a grid of 20 by 20. They decorate a text that says the same. */

const PATHS = {
  ask: "M4 4.5h12v8.5H9.5L6 16v-3H4z",
  compare: "M3.5 4.5h5.5v11H3.5zM11 4.5h5.5v11H11z",
  documents: "M5.5 2.5h6l3.5 3.5v11.5h-9.5zM11.5 2.5V6H15M8 10h5M8 13h5",
  graph:
    "M6 6.5 14 5M6.5 7.5l3 6M13.5 6.5l-3 7M5 4.5a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zM15 3a1.8 1.8 0 1 0 0 3.6A1.8 1.8 0 0 0 15 3zM10 13.4a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  health: "M2.5 10.5h3.5l2-5 3.5 9.5 2.2-4.5h3.8",
  close: "M5 5l10 10M15 5 5 15",
  send: "M10 16V4.5M5 9.5l5-5 5 5",
  stop: "M6 6h8v8H6z",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M15.7 4.3l-1.4 1.4M5.7 14.3l-1.4 1.4",
  moon: "M15.8 12.2A6.3 6.3 0 0 1 7.8 4.2a6.3 6.3 0 1 0 8 8z",
  system: "M3 4.5h14v9H3zM7.5 16.5h5M10 13.5v3",
  upload: "M10 13V4M6.5 7.5 10 4l3.5 3.5M4 13v3h12v-3",
  trash: "M4.5 6h11M8 6V4h4v2M6 6l.7 10h6.6L14 6",
  open: "M11 4h5v5M16 4l-7 7M13.5 11.5V16h-9.5V6.5h4.5",
  back: "M12 4.5 6.5 10l5.5 5.5",
  missing: "M8.7 3.2a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM12.8 12.8 17 17M7 7l3.5 3.5M10.5 7 7 10.5",
  warning: "M10 3 17.5 16.5h-15zM10 8v4M10 14.2v.3",
  check: "M4 10.5l4 4 8-9",
  filter: "M3.5 5.5h13M6 10h8M8.5 14.5h3",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4.2l2.8 1.8",
  plus: "M10 4v12M4 10h12",
  settings: "M3.5 6h7M14.5 6h2M12.5 4v4M3.5 14h2M9.5 14h7M7.5 12v4",
  key: "M12.5 3.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM9.6 10.4 3.5 16.5M5.5 14.5 7.5 16.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M9.5 10.5 22 8.5M9 12l5.5 10.5M22.5 10.5 16.5 22" />
      <circle cx="8.5" cy="10.5" r="3" />
      <circle cx="23" cy="8.5" r="3" />
      <circle class="logo-mark" cx="15.5" cy="23.5" r="3.8" />
    </svg>
  );
}
