/** What the service adds to the page. A page of its own adds nothing, and holds nothing of it. */
import type { JSX } from "preact";
import type { Amount } from "../model/columns.ts";
import type { Shown } from "../model/shown.ts";

/** How files are opened. */
export interface Opening {
  /** Whether the fragment says what is seen. */
  restore?: boolean;
  /** Whether only two plans are enough. */
  both?: boolean;
  /** Keeps what is seen until the new plan is there, and then looks at the same part of it: it is for the same problem. */
  update?: boolean;
  /** Only the plan of this point of a front. */
  point?: number;
  /** Values of the symbols of a plan of formulas. */
  at?: bigint[];
  /** Whether it is the same plan as before, at other values. */
  moved?: boolean;
}

type Part = () => JSX.Element | null;

export interface Parts {
  /** In the bar: where else to go. */
  navigation: Part;
  /** In the place of the start, at other addresses. */
  place: Part;
  /** Below the drop zone. */
  start: Part;
  /** Above the plan. */
  status: Part;
  /** Beside the map. */
  side: (props: { shown: Shown }) => JSX.Element | null;
  /** Beside the map: what would free bytes, why there is no plan, and what the peak would be without the chosen buffer. */
  less: (props: { shown: Shown }) => JSX.Element | null;
  noPlan: (props: { shown: Shown }) => JSX.Element | null;
  withoutIt: (props: { shown: Shown; place: number; buffer: number }) => JSX.Element | null;
  /** Below what the peak would be without a buffer, where counting does not tell: of the pool, at most so much. */
  without: (props: { shown: Shown; place: number; buffer: number; most: Amount }) => JSX.Element | null;
  /** Whether there is a service that can ask the solver. */
  asks: boolean;
  /** Below the maps: what the program does. */
  loops: (props: { shown: Shown }) => JSX.Element | null;
  /** Beside the map: what the program does with the chosen buffer. */
  usesOf: (props: { shown: Shown; buffer: number }) => JSX.Element | null;
  dialogs: Part;
  /** A front: its chart and its points. */
  front: Part;
  /** Above the plan of a point of a front. */
  point: Part;
  /** What a key does where a front, symbols or loops are; false: nothing. */
  frontKey: (event: KeyboardEvent) => boolean;
  /** Takes files that the page cannot read itself; false: it can. */
  takes: (files: File[]) => boolean;
  /** Another plan is shown than before. */
  opened: (shown: Shown, how: Opening) => void;
  /** What the address of the page says besides. */
  link: (address: URLSearchParams) => void;
  /** What writes the plan that is shown in a format, named so; null: nothing here does. */
  formats: () => ((format: string, name: string) => Promise<Blob>) | null;
  /** Below a message that files cannot be shown. */
  failed: Part;
}

const nothing = (): null => null;

export const parts: Parts = {
  navigation: nothing, place: nothing, start: nothing, status: nothing, side: nothing, less: nothing, noPlan: nothing, withoutIt: nothing, without: nothing, asks: false, loops: nothing, usesOf: nothing, dialogs: nothing,
  front: nothing, point: nothing, frontKey: () => false, takes: () => false, opened: () => undefined, link: () => undefined, formats: () => null, failed: nothing,
};
