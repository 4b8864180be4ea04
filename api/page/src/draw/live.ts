/** Live bytes over all of the time: where the most are needed is the moment that decides. */
import type { Amount } from "../model/columns.ts";
import { fullWindow, type Picture } from "./picture.ts";
import { bytes, time } from "./format.ts";
import type { Pen } from "./pen.ts";
import { columnsOf, Scale } from "./scale.ts";

/** All of the axis, whatever part of it the map shows. */
export function liveScale(picture: Picture): Scale {
  const all = fullWindow(picture.shown, picture.place, picture.positions);
  return new Scale(picture.layout.live, { ...all, low: 0, high: Math.max(1, picture.pool.livest) });
}

export function drawLive(pen: Pen, picture: Picture): void {
  const { theme, layout: { live }, pool } = picture;
  const scale = liveScale(picture);
  const bottom = live.y + live.tall;
  const top: number[] = [];
  columnsOf(pool.profile.live, picture.positions, scale).forEach((value, column, all) => {
    if (column > 0 && value === all[column - 1] && column < all.length - 1) return;
    const y = scale.y(value);
    if (top.length > 0) top.push(live.x + column, top[top.length - 1] as number);
    top.push(live.x + column, y);
  });
  top.push(live.x + live.wide, top[top.length - 1] ?? bottom);
  pen.area([live.x, bottom, ...top, live.x + live.wide, bottom], theme.live);
  pen.line(top, theme.liveLine, 1);
  pen.line([live.x, bottom + 0.5, live.x + live.wide, bottom + 0.5], theme.frame, 1);
  const words = live.x < 70 ? ["live"] : ["live", "bytes"];
  words.forEach((word, line) => pen.text(live.x - 8, bottom - 4 - 13 * (words.length - 1 - line), word, { fill: theme.quiet, anchor: "end" }));
  drawSeen(pen, picture, scale);
}

/** The part of the time that the map shows. */
function drawSeen(pen: Pen, picture: Picture, scale: Scale): void {
  const { live } = picture.layout;
  const from = scale.x(picture.window.left);
  const to = scale.x(picture.window.right);
  if (from <= live.x + 1 && to >= live.x + live.wide - 1) return;
  pen.outline(from, live.y - 2.5, Math.max(2, to - from), live.tall + 5, picture.theme.ink, 1.5);
}

/** The moment that is looked at: at first the one with the most live bytes, which decides. */
export function drawMoment(pen: Pen, picture: Picture): void {
  const { theme, layout: { live, map }, pool, scene, moment } = picture;
  if (!(pool.profile.most > 0)) return;
  const scale = liveScale(picture);
  const bottom = map.y + map.tall;
  const value = pool.profile.live[moment] as Amount;
  const x = momentX(picture, scale);
  const y = scale.y(Number(value));
  pen.line([x, y, x, live.y + live.tall], theme.moment, 2);
  pen.area(circle(x, y, 3.5), theme.moment);
  const most = value === pool.profile.most;
  const when = scene.axis.kind === "time" ? `t = ${time(scene.axis.times[moment] as number)}: ` : "";
  const words = `${when}${bytes(value)} live${most ? ", the most" : ""}`;
  const half = pen.measure(words, 11, true) / 2;
  const middle = Math.min(Math.max(x, live.x + half), live.x + live.wide - half);
  pen.text(middle, live.y - 9, words, { fill: theme.ink, bold: true, anchor: "middle" });
  const inMap = momentX(picture, new Scale(map, picture.window));
  if (inMap >= map.x && inMap <= map.x + map.wide) {
    pen.line([inMap, live.y + live.tall + 8, inMap, bottom], theme.dark ? "#ffffff" : "#16181d", 1, [2, 3]);
  }
}

function momentX(picture: Picture, scale: Scale): number {
  return Math.round(scale.x(picture.positions[picture.moment] as number)) + 0.5;
}

function circle(x: number, y: number, radius: number): number[] {
  return Array.from({ length: 16 }, (_, part) => part / 8 * Math.PI).flatMap((angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
}
