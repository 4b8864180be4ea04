/** Formulas of sizes, as docs/shapes.md describes them: read letter by letter, and counted with exact whole numbers. */
import { ReadError } from "./json.ts";

/** The value of each symbol. */
export type Values = ReadonlyMap<string, bigint>;
export type Formula = (at: Values) => bigint;

export const LIMIT = 2n ** 62n;
const DEEPEST = 64;
const LONGEST = 2000;
const TOKEN = /[ \t\r\n]*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(\/\/|[-+*%(),]))/y;

type Operation = (left: bigint, right: bigint) => bigint;

const SUMS: Record<string, Operation> = {
  "+": (left, right) => within(left + right),
  "-": (left, right) => within(left - right),
};
const PRODUCTS: Record<string, Operation> = {
  "*": (left, right) => within(left * right),
  "//": (left, right) => floored(left, divisor(right)),
  "%": (left, right) => left - floored(left, divisor(right)) * right,
};
const OF_TWO: Record<string, Operation> = {
  ceil_div: (left, right) => -floored(-left, divisor(right)),
  align: (left, right) => within(-floored(-left, divisor(right)) * right),
};
const OF_MANY: Record<string, (of: bigint[]) => bigint> = {
  min: (of) => of.reduce((least, one) => (one < least ? one : least)),
  max: (of) => of.reduce((most, one) => (one > most ? one : most)),
};

/** A ReadError where the text is no formula of these symbols. */
export function readFormula(text: string, symbols: ReadonlySet<string>): Formula {
  if (text.length > LONGEST) throw new ReadError(`a formula has more than ${LONGEST} characters`);
  const reader = new Reader(text, symbols);
  const formula = reader.sum();
  reader.end();
  return formula;
}

/** What is counted or read, where a fault of a formula is told by whoever knows what it is for. */
export function withReason<T>(work: () => T, fail: (what: string) => never): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ReadError) fail(error.message);
    throw error;
  }
}

export function floored(left: bigint, right: bigint): bigint {
  const quotient = left / right;
  return left < 0n && quotient * right !== left ? quotient - 1n : quotient;
}

function within(value: bigint): bigint {
  if (value > LIMIT || value < -LIMIT) throw new ReadError("a number on the way to a size is not within -2^62 and 2^62");
  return value;
}

function divisor(value: bigint): bigint {
  if (value <= 0n) throw new ReadError(`a divisor of ${value} is not positive`);
  return value;
}

class Reader {
  #text: string;
  #symbols: ReadonlySet<string>;
  #at = 0;
  /** The token that comes next; empty at the end. */
  #next = "";
  #depth = 0;

  constructor(text: string, symbols: ReadonlySet<string>) {
    this.#text = text;
    this.#symbols = symbols;
    this.#pass();
  }

  sum(): Formula {
    return this.#chain(SUMS, () => this.#chain(PRODUCTS, () => this.#factor()));
  }

  end(): void {
    if (this.#next !== "") this.#fail();
  }

  /** Operations of one precedence, from left to right. */
  #chain(operations: Record<string, Operation>, part: () => Formula): Formula {
    const first = part();
    const rest: [Operation, Formula][] = [];
    for (let operation = own(operations, this.#next); operation !== undefined; operation = own(operations, this.#next)) {
      this.#pass();
      rest.push([operation, part()]);
    }
    if (rest.length === 0) return first;
    return (at) => rest.reduce((value, [operation, operand]) => operation(value, operand(at)), first(at));
  }

  #factor(): Formula {
    const token = this.#next;
    if (/^[0-9]/.test(token)) {
      this.#pass();
      const value = BigInt(token);
      return () => within(value);
    }
    if (/^[A-Za-z_]/.test(token)) {
      this.#pass();
      return this.#named(token);
    }
    if (token === "-") {
      const operand = this.#inside(() => this.#factor());
      return (at) => -operand(at);
    }
    if (token !== "(") this.#fail();
    const inner = this.#inside(() => this.sum());
    this.#expect(")");
    return inner;
  }

  #named(name: string): Formula {
    const two = own(OF_TWO, name);
    const many = own(OF_MANY, name);
    if (two === undefined && many === undefined) {
      if (!this.#symbols.has(name)) throw new ReadError(`${JSON.stringify(name)} is no symbol`);
      return (at) => within(at.get(name) ?? 0n);
    }
    if (this.#next !== "(") this.#fail();
    const operands: Formula[] = this.#inside(() => {
      const all = [this.sum()];
      while (this.#next === ",") {
        this.#pass();
        all.push(this.sum());
      }
      return all;
    });
    this.#expect(")");
    if (many !== undefined) return (at) => many(operands.map((one) => one(at)));
    const [first, second] = operands;
    if (two === undefined || first === undefined || second === undefined || operands.length !== 2) throw new ReadError(`${name} takes two arguments`);
    return (at) => two(first(at), second(at));
  }

  /** Passes what opens, and reads what is within. */
  #inside<T>(read: () => T): T {
    if (++this.#depth > DEEPEST) throw new ReadError(`a formula is more than ${DEEPEST} parentheses deep`);
    this.#pass();
    const value = read();
    this.#depth--;
    return value;
  }

  #expect(sign: string): void {
    if (this.#next !== sign) this.#fail();
    this.#pass();
  }

  #pass(): void {
    TOKEN.lastIndex = this.#at;
    const token = TOKEN.exec(this.#text);
    if (token === null && this.#text.slice(this.#at).trim() !== "") this.#fail();
    this.#next = token === null ? "" : (token[1] ?? token[2] ?? token[3] ?? "");
    this.#at = token === null ? this.#text.length : TOKEN.lastIndex;
  }

  #fail(): never {
    throw new ReadError(`the formula ${JSON.stringify(this.#text.slice(0, 60))} cannot be read at character ${this.#at + 1}`);
  }
}

/** A name such as `constructor` is no function. */
function own<T>(all: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}
