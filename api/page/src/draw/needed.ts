/** Without a plan the map shows how many bytes must be live, against the capacity. */
import type { Pen } from "./pen.ts";
import { type Picture, scaleOf } from "./picture.ts";
import { columnsOf } from "./scale.ts";

export function drawNeededBytes(pen: Pen, picture: Picture): void {
  const { theme, pool, layout: { map } } = picture;
  const scale = scaleOf(picture);
  const columns = columnsOf(pool.profile.live, picture.positions, scale);
  const bottom = map.y + map.tall;
  const outline = (cut: (value: number) => number): number[] => {
    const points = [map.x, bottom];
    let before = -1;
    columns.forEach((value, column) => {
      if (value === before) return;
      points.push(map.x + column, points[points.length - 1] as number, map.x + column, scale.y(cut(value)));
      before = value;
    });
    points.push(map.x + map.wide, points[points.length - 1] as number, map.x + map.wide, bottom);
    return points;
  };
  const capacity = picture.scene.pools[picture.place]?.capacity ?? null;
  const limit = capacity === null ? Infinity : Number(capacity);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    pen.hatch(outline((value) => value), theme.paper, theme.capacity);
    pen.area(outline((value) => Math.min(value, limit)), theme.live);
    pen.line(outline((value) => value).slice(2, -2), theme.liveLine, 1);
  });
}
