/** The list of a library's site: filters, sorts and shows its instances a page at a time.
 *
 * The document has the first rows already, as Python has written them; what is drawn here is the same. */
import { count, percentUp } from "../draw/format.ts";

type Amount = number | bigint;

/** What `planner/instance_library/site_pages.py` writes of an instance; numbers beyond 2^53 as text. */
type Written = [
  id: string, title: string, family: number, buffers: number, state: number, term: string, best: number | string | null,
  bound: number | string | null, by: number, date: string, kinds: number[], pictured: 0 | 1,
];

interface Held {
  families: string[];
  states: string[];
  people: string[];
  kinds: string[];
  rows: Written[];
}

interface Row {
  id: string;
  title: string;
  family: string;
  buffers: number;
  state: string;
  term: string;
  best: Amount | null;
  bound: Amount | null;
  gap: number | null;
  by: string;
  date: string;
  kinds: string[];
  pictured: boolean;
  /** What a search looks through. */
  text: string;
}

declare global {
  // eslint-disable-next-line no-var
  var memstowLibrary: Held | undefined;
}

const EACH = 100;
const SIZES: Record<string, [number, number]> = { "100": [0, 100], "1000": [101, 1000], "10000": [1001, 10000], more: [10001, Infinity] };
/** The columns that can be sorted by, and whether the largest come first. */
const COLUMNS: Record<string, { by: (row: Row) => string | Amount | null; down?: boolean }> = {
  id: { by: (row) => row.id },
  family: { by: (row) => row.family },
  buffers: { by: (row) => row.buffers, down: true },
  state: { by: (row) => row.state },
  best: { by: (row) => row.best, down: true },
  bound: { by: (row) => row.bound, down: true },
  gap: { by: (row) => row.gap, down: true },
  by: { by: (row) => row.by },
  date: { by: (row) => row.date, down: true },
};

function amount(written: number | string | null): Amount | null {
  return typeof written === "string" ? BigInt(written) : written;
}

function rowsOf(held: Held): Row[] {
  return held.rows.map(([id, title, family, buffers, state, term, best, bound, by, date, kinds, pictured]) => {
    const [value, least] = [amount(best), amount(bound)];
    const row = {
      id, title, buffers, term, date, best: value, bound: least,
      family: held.families[family] ?? "", state: held.states[state] ?? "", by: held.people[by] ?? "",
      kinds: kinds.map((kind) => held.kinds[kind] ?? ""), pictured: pictured === 1,
      gap: value === null || least === null ? null : value === least ? 0 : (Number(value) - Number(least)) / Number(value),
    };
    return { ...row, text: `${id} ${title} ${row.family} ${row.by} ${row.kinds.join(" ")}`.toLowerCase() };
  });
}

function part(name: string, className: string, ...inside: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...inside);
  return element;
}

function link(place: string, ...inside: (Node | string)[]): HTMLAnchorElement {
  const anchor = document.createElement("a");
  anchor.href = place;
  anchor.append(...inside);
  return anchor;
}

function drawn(row: Row): HTMLElement {
  const picture = part("td", "picture");
  const place = `instances/${row.id}.html`;
  if (row.pictured) {
    const image = document.createElement("img");
    Object.assign(image, { loading: "lazy", width: 120, height: 48, alt: "", src: `thumbnails/${row.id}.svg` });
    const around = link(place, image);
    around.tabIndex = -1;
    around.setAttribute("aria-hidden", "true");
    picture.append(around);
  }
  const name = part("th", "", link(place, row.id), part("span", "quiet", row.title), part("span", "quiet kinds", row.kinds.join(", ")));
  name.setAttribute("scope", "row");
  const best = part("td", "best number", row.best === null ? "–" : count(row.best));
  if (row.term !== "") best.append(part("span", "quiet", row.term));
  return part(
    "tr", "", picture, name, part("td", "family", row.family), part("td", "buffers number", count(row.buffers)),
    part("td", `state ${row.state}`, row.state), best, part("td", "bound number", row.bound === null ? "–" : count(row.bound)),
    part("td", "gap number", row.gap === null ? "–" : percentUp(row.gap)), part("td", "by", row.by), part("td", "date", row.date),
  );
}

function compared(one: string | Amount | null, other: string | Amount | null): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
  return one < other ? -1 : one > other ? 1 : 0;
}

class List {
  private readonly rows: Row[];
  private readonly form = document.querySelector<HTMLFormElement>("form.filters")!;
  private readonly table = document.querySelector<HTMLTableElement>("table.instances")!;
  private readonly body = this.table.tBodies[0]!;
  private readonly heads = [...this.table.querySelectorAll<HTMLElement>("thead th[data-by]")];
  private readonly counted = document.querySelector<HTMLElement>(".counted")!;
  private readonly pager = document.querySelector<HTMLElement>(".pager")!;
  private readonly onlyOpen = this.table.dataset["only"] === "open";
  private sort = { by: this.table.dataset["by"] ?? "id", down: this.table.dataset["down"] === "true" };
  private page = 0;

  constructor(held: Held) {
    this.rows = rowsOf(held);
    for (const head of this.heads) this.makeButton(head);
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("reset", () => setTimeout(() => this.changed()));
    for (const [name, step] of [["before", -1], ["after", 1]] as const) {
      this.pager.querySelector(`.${name}`)?.addEventListener("click", () => {
        this.page += step;
        this.draw();
        this.remember();
        scrollTo({ top: this.form.offsetTop - 12 });
      });
    }
    addEventListener("hashchange", () => this.recall());
    this.form.hidden = this.counted.hidden = false;
    this.recall();
  }

  private makeButton(head: HTMLElement): void {
    const button = part("button", "sort", head.textContent ?? "") as HTMLButtonElement;
    button.type = "button";
    const by = head.dataset["by"] ?? "id";
    button.addEventListener("click", () => {
      const first = COLUMNS[by]?.down ?? false;
      this.sort = { by, down: this.sort.by === by ? !this.sort.down : first };
      this.changed();
    });
    head.replaceChildren(button);
  }

  private get fields(): (HTMLInputElement | HTMLSelectElement)[] {
    return [...this.form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")];
  }

  private changed(): void {
    this.page = 0;
    this.draw();
    this.remember();
  }

  /** The fragment says what is shown, so that it can be sent to somebody. */
  private remember(): void {
    const says = new URLSearchParams();
    for (const { name, value } of this.fields) if (value !== "") says.set(name, value);
    const { by, down } = this.sort;
    if (by !== this.table.dataset["by"] || down !== (this.table.dataset["down"] === "true")) says.set("sort", `${down ? "-" : ""}${by}`);
    if (this.page > 0) says.set("page", String(this.page + 1));
    const text = String(says);
    history.replaceState(null, "", text === "" ? location.pathname + location.search : `#${text}`);
  }

  private recall(): void {
    const says = new URLSearchParams(location.hash.slice(1));
    for (const field of this.fields) field.value = says.get(field.name) ?? "";
    const sort = says.get("sort");
    if (sort !== null && sort.replace(/^-/, "") in COLUMNS) this.sort = { by: sort.replace(/^-/, ""), down: sort.startsWith("-") };
    this.page = Math.max(0, (Number(says.get("page")) || 1) - 1);
    this.draw();
  }

  private chosen(): Row[] {
    const values = Object.fromEntries(this.fields.map(({ name, value }) => [name, value]));
    const words = (values["text"] ?? "").toLowerCase().split(/\s+/).filter((word) => word !== "");
    const [least, most] = SIZES[values["size"] ?? ""] ?? [0, Infinity];
    const { family, state, kind } = values;
    const rows = this.rows.filter((row) =>
      (!this.onlyOpen || row.state === "open" || row.state === "claimed")
      && (!family || row.family === family) && (!state || row.state === state) && (!kind || row.kinds.includes(kind))
      && row.buffers >= least && row.buffers <= most && words.every((word) => row.text.includes(word)));
    const { by, down } = this.sort;
    const key = COLUMNS[by]?.by ?? ((row: Row) => row.id);
    // What has no value comes last either way.
    return rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      const order = compared(a, b);
      return (down && a !== null && b !== null ? -order : order) || compared(one.id, other.id);
    });
  }

  private draw(): void {
    const rows = this.chosen();
    const pages = Math.max(1, Math.ceil(rows.length / EACH));
    this.page = Math.min(this.page, pages - 1);
    const first = this.page * EACH;
    const shown = rows.slice(first, first + EACH);
    this.body.replaceChildren(...shown.map(drawn));
    const range = rows.length > EACH ? `${count(first + 1)}–${count(first + shown.length)} of ` : "";
    this.counted.textContent = rows.length === 0 ? "No instance is like that." : `${range}${count(rows.length)} ${rows.length === 1 ? "instance" : "instances"}`;
    this.pager.hidden = pages === 1;
    for (const head of this.heads) {
      head.setAttribute("aria-sort", head.dataset["by"] !== this.sort.by ? "none" : this.sort.down ? "descending" : "ascending");
    }
    const [before, after] = [this.pager.querySelector<HTMLButtonElement>(".before"), this.pager.querySelector<HTMLButtonElement>(".after")];
    if (before !== null) before.disabled = this.page === 0;
    if (after !== null) after.disabled = this.page === pages - 1;
    const place = this.pager.querySelector(".place");
    if (place !== null) place.textContent = `page ${count(this.page + 1)} of ${count(pages)}`;
  }
}

const held = globalThis.memstowLibrary;
if (held !== undefined && document.querySelector("table.instances") !== null) new List(held);
