/** Of a graph: the operator that is chosen, those that need the most, and why no order needs less. */
import type { JSX } from "preact";
import { bytes, count, plain } from "../draw/format.ts";
import type { Amount } from "../model/columns.ts";
import { type Operator, type Program } from "../model/program.ts";
import type { Scene } from "../model/scene.ts";
import type { Shown } from "../model/shown.ts";
import { compare } from "../model/steps.ts";
import { BufferLine } from "./line.tsx";
import { type Column, Heads, sorted, unsorted } from "./sorting.tsx";
import * as state from "./state.ts";

const FEW = 7;

export function ChosenOperator(props: { shown: Shown; program: Program }): JSX.Element | null {
  const { shown, program } = props;
  const place = state.operator.value;
  const operator = program.operators[place];
  if (operator === undefined) return null;
  const { scene } = shown;
  const rows: [string, string][] = [
    ...(operator.type === "" ? [] : [["type", plain(operator.type, 60)] as [string, string]]),
    ["runs", `${count(place + 1)} of ${count(program.operators.length)}`],
    ["live then", `${count(shown.needs[place] as Amount)} (${bytes(shown.needs[place] as Amount)})`],
    ...(operator.aside === 0 ? [] : [["besides", `${count(operator.aside)} that are not planned`] as [string, string]]),
  ];
  return (
    <section>
      <h2>
        {plain(operator.id, 120)}
        <button type="button" class="round close" aria-label="choose no operator" onClick={() => state.chooseOperator(-1)}>×</button>
      </h2>
      <dl class="rows">{rows.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}</dl>
      <Uses scene={scene} title="Reads" buffers={operator.inputs} />
      <Uses scene={scene} title="Makes" buffers={operator.outputs} />
      <Uses scene={scene} title="Needs while it runs" buffers={operator.temporaries} />
    </section>
  );
}

function Uses(props: { scene: Scene; title: string; buffers: number[] }): JSX.Element | null {
  const { scene, title, buffers } = props;
  if (buffers.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      {buffers.slice(0, FEW).map((buffer) => <BufferLine key={buffer} scene={scene} buffer={buffer} />)}
      {buffers.length > FEW && <p class="quiet">and {count(buffers.length - FEW)} more</p>}
    </>
  );
}

/** Numbers in names by their value: o2 before o10. */
const inOrder = new Intl.Collator("en", { numeric: true });
const operatorSort = unsorted();

function operatorColumns(shown: Shown, isFull = true): Column<number>[] {
  const text = (place: number, field: "id" | "type"): string => shown.scene.program?.operators[place]?.[field] ?? "";
  const by = (field: "id" | "type") => (one: number, other: number) => inOrder.compare(text(one, field), text(other, field));
  return [
    { title: "operator", by: by("id") },
    ...(isFull ? [{ title: "type", by: by("type") }] : []),
    { title: "runs", by: (one, other) => one - other },
    { title: "live then", by: (one, other) => compare(shown.needs[one] as Amount, shown.needs[other] as Amount), down: true },
  ];
}

/** Operators by what is live while they run, or as the heads of their tables ask for. */
export function sortedOperators(shown: Shown): readonly number[] {
  const ranked = Array.from(shown.needs.keys()).sort((one, other) => (
    compare(shown.needs[other] as Amount, shown.needs[one] as Amount) || one - other
  ));
  return sorted(ranked, operatorColumns(shown), operatorSort);
}

export function operatorOrder(): string {
  return operatorSort.value === null ? "most bytes live first" : `by ${operatorSort.value.title}`;
}

export function Operators(props: { shown: Shown; program: Program }): JSX.Element | null {
  const order = sortedOperators(props.shown);
  if (order.length === 0) return null;
  return (
    <section>
      <h2>Operators, {operatorOrder()}</h2>
      <OperatorTable shown={props.shown} program={props.program} operators={order.slice(0, FEW)} />
      {order.length > FEW && <button type="button" class="link" onClick={() => (state.dialog.value = "operators")}>{count(order.length - FEW)} more</button>}
    </section>
  );
}

export function OperatorTable(props: { shown: Shown; program: Program; operators: readonly number[]; full?: boolean }): JSX.Element {
  const { shown, program, operators, full = false } = props;
  const { critical } = shown;
  return (
    <table>
      <Heads columns={operatorColumns(shown, full)} sort={operatorSort} />
      <tbody>
        {operators.map((place) => {
          const operator = program.operators[place] as Operator;
          return (
            <tr key={place} class={place === state.operator.value ? "chosen" : ""}>
              <th scope="row">
                <button type="button" class="line" onClick={() => state.chooseOperator(place)}>
                  {place === critical && <i class="swatch critical" />}
                  <span class="name">{plain(operator.id, 60)}</span>
                </button>
              </th>
              {full && <td>{plain(operator.type, 30)}</td>}
              <td>{count(place + 1)}</td>
              <td>{bytes(shown.needs[place] as Amount)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
