/** Tables that are ordered by a click on the head of a column: once, the other way round, and as they were. */
import { type Signal, signal } from "@preact/signals";
import type { JSX } from "preact";

export interface Column<Row> {
  title: string;
  /** What the title is short for. */
  about?: string;
  by: (one: Row, other: Row) => number;
  /** Whether the largest come first at the first click. */
  down?: boolean;
}

export type Sort = Signal<{ title: string; down: boolean } | null>;

export function unsorted(): Sort {
  return signal(null);
}

/** The rows in the order that was asked for; of equal ones the order stays. */
export function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort): readonly Row[] {
  const order = sort.value;
  const column = columns.find((one) => one.title === order?.title);
  if (order === null || column === undefined) return rows;
  return [...rows].sort(order.down ? (one, other) => column.by(other, one) : column.by);
}

function turned(now: Sort["value"], title: string, down: boolean): Sort["value"] {
  if (now?.title !== title) return { title, down };
  return now.down === down ? { title, down: !down } : null;
}

/** The heads of such columns. */
export function Heads<Row>(props: { columns: readonly Column<Row>[]; sort: Sort; before?: JSX.Element | null; after?: JSX.Element }): JSX.Element {
  const { columns, sort } = props;
  const now = sort.value;
  return (
    <thead>
      <tr role="row">
        {props.before}
        {columns.map(({ title, about, down = false }) => (
          <th key={title} role="columnheader" scope="col" title={about} aria-sort={now?.title !== title ? "none" : now.down ? "descending" : "ascending"}>
            <button type="button" class="sort" onClick={() => (sort.value = turned(sort.peek(), title, down))}>{title}</button>
          </th>
        ))}
        {props.after}
      </tr>
    </thead>
  );
}
