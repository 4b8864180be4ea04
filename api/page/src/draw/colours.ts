/** Colours of both themes. The ramp is that of `planner/show/drawing.py`: its order survives colour blindness
 * and print in grey. The hues of groups are six of Okabe and Ito's, which stay apart for all kinds of colour blindness. */

export interface Theme {
  dark: boolean;
  paper: string;
  ink: string;
  quiet: string;
  frame: string;
  hole: string;
  hatch: string;
  live: string;
  liveLine: string;
  reserved: string;
  met: string;
  open: string;
  capacity: string;
  moment: string;
  chosen: string;
  /** Short lives to long ones, small buffers to large ones. */
  ramp: readonly string[];
  groups: readonly string[];
  other: string;
  faded: string;
  atPeak: string;
  same: string;
  higher: string;
  lower: string;
  elsewhere: string;
}

const RAMP = [
  "#dbb35d", "#beb14d", "#9bae4a", "#73ab54", "#40a564", "#009d75",
  "#009185", "#008390", "#007395", "#006392", "#215389", "#34447b",
];
const DARK_RAMP = [
  "#5566a8", "#3f6fb0", "#1f7fb4", "#008fb3", "#009ca8", "#12a896",
  "#35b182", "#62ba72", "#8dc26a", "#b5c66b", "#d3c777", "#ecc98a",
];
const GROUPS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"];

export const LIGHT: Theme = {
  dark: false, paper: "#ffffff", ink: "#16181d", quiet: "#5b616d", frame: "#dcdcd7", hole: "#f6f4ef", hatch: "#dedad0",
  live: "#dfe2e7", liveLine: "#8b95a5", reserved: "#8b909a", met: "#157347", open: "#c2410c", capacity: "#b3261e",
  moment: "#c2410c", chosen: "#16181d", ramp: RAMP, groups: GROUPS, other: "#8b909a", faded: "#e4e6ea",
  atPeak: "#d9702f", same: "#c9ccd3", higher: "#2f7fc1", lower: "#de7a24", elsewhere: "#b0619b",
};

export const DARK: Theme = {
  dark: true, paper: "#0f1116", ink: "#f2f3f5", quiet: "#a3a9b5", frame: "#2b2f38", hole: "#171a20", hatch: "#2a2e37",
  live: "#2b3240", liveLine: "#6f7d95", reserved: "#7b818c", met: "#6ee7a0", open: "#fb923c", capacity: "#ff7b72",
  moment: "#fb923c", chosen: "#ffffff", ramp: DARK_RAMP, groups: GROUPS, other: "#7b818c", faded: "#262a33",
  atPeak: "#ee8a4a", same: "#3c414c", higher: "#4b97d8", lower: "#e08a3c", elsewhere: "#cf86bd",
};

export type Rgb = readonly [number, number, number];

export function rgb(colour: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as unknown as Rgb;
}

export function hex(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** The same, a little darker, or lighter where it is dark: neighbours of one colour are told apart. */
export function tint(colour: string): string {
  const isDark = luminance(colour) < 0.1;
  return hex(rgb(colour).map((part) => Math.round(isDark ? part + (255 - part) * 0.14 : part * 0.86)) as unknown as Rgb);
}

/** Black or white, whichever is read better on the colour. */
export function inkOn(colour: string): string {
  const light = luminance(colour);
  return 1.05 / (light + 0.05) > (light + 0.05) / (luminance(LIGHT.ink) + 0.05) ? "#ffffff" : LIGHT.ink;
}

/** The same hue, dark or light enough to be told from the ground: three to one. */
export function rim(colour: string, ground: string): string {
  const under = luminance(ground);
  let parts = rgb(colour);
  const towards = under > 0.2 ? 0 : 255;
  for (let step = 0; step < 20; step++) {
    const light = luminance(hex(parts));
    if ((Math.max(light, under) + 0.05) / (Math.min(light, under) + 0.05) >= 3) break;
    parts = parts.map((part) => Math.round(part + (towards - part) * 0.08)) as unknown as Rgb;
  }
  return hex(parts);
}

function luminance(colour: string): number {
  const [red, green, blue] = rgb(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
