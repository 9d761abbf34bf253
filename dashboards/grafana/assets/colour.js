// Grafana's names of colours.
import { color } from "./theme.js";

const shades = {
  green: ["#37872D", "#56A64B", "#73BF69", "#96D98D", "#C8F2C2"],
  yellow: ["#E0B400", "#F2CC0C", "#FADE2A", "#FFEE52", "#FFF899"],
  red: ["#C4162A", "#E02F44", "#F2495C", "#FF7383", "#FFA6B0"],
  blue: ["#1F60C4", "#3274D9", "#5794F2", "#8AB8FF", "#C0D8FF"],
  orange: ["#FA6400", "#FF780A", "#FF9830", "#FFB357", "#FFCB7D"],
  purple: ["#8F3BB8", "#A352CC", "#B877D9", "#CA95E5", "#DEB6F2"],
};
const order = ["dark-", "semi-dark-", "", "light-", "super-light-"];
const names = {};
for (const [hue, values] of Object.entries(shades)) values.forEach((v, i) => { names[order[i] + hue] = v; });

const palette = ["green", "semi-dark-yellow", "blue", "orange", "red", "purple", "dark-green", "dark-yellow", "dark-blue", "dark-orange", "dark-red", "dark-purple", "light-green", "light-yellow", "light-blue", "light-orange", "light-red", "light-purple"];

// named is the colour of a name; a colour that is written as #… or rgb(…) is itself.
export function named(name) {
  if (name === "text") return color("--text");
  if (name === "transparent") return "transparent";
  if (names[name]) return names[name];
  return /^(#[0-9a-f]{3,8}|rgba?\([\d., %]+\)|[a-z]+)$/i.test(name ?? "") ? name : color("--quiet");
}

export function classic(index) { return names[palette[index % palette.length]]; }

// onTop is black or white, whichever is read better on a colour.
export function onTop(background) {
  const m = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(background);
  if (!m) return color("--text");
  const [r, g, b] = m.slice(1).map((h) => parseInt(h, 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111217" : "#ffffff";
}

// Points of the colour scheme Cividis, which looks alike to all kinds of colour vision.
export const cividis = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
