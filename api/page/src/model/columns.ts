/** Columns of whole numbers, and the amounts of bytes that are computed from them.
 *
 * Where everything in a document adds up to less than 2^53, amounts are numbers; otherwise all of them are bigints.
 * Both kinds are added, subtracted and compared by the same operators, so that every rule is written once. They must
 * not be mixed in a sum: code starts from the scene's `zero` and never writes a literal amount.
 */
import type { Whole } from "./json.ts";

/** Bytes, or a cost. At run time a bigint where numbers would not be exact. */
export type Amount = number;

export interface Amounts {
  readonly length: number;
  [index: number]: Amount;
}

/** A column that grows; numbers as long as all are exact. */
export class Column {
  #numbers = new Float64Array(64);
  #wide: bigint[] | null = null;
  length = 0;

  push(value: Whole): void {
    if (this.#wide !== null) {
      this.#wide.push(BigInt(value));
    } else if (typeof value === "bigint") {
      this.#wide = Array.from(this.#numbers.subarray(0, this.length), BigInt);
      this.#wide.push(value);
    } else {
      if (this.length === this.#numbers.length) {
        const larger = new Float64Array(this.length * 2);
        larger.set(this.#numbers);
        this.#numbers = larger;
      }
      this.#numbers[this.length] = value;
    }
    this.length++;
  }

  get isWide(): boolean {
    return this.#wide !== null;
  }

  /** The values as doubles: exact if the column is not wide. */
  numbers(): Float64Array {
    return this.#wide === null ? this.#numbers.slice(0, this.length) : Float64Array.from(this.#wide, Number);
  }

  amounts(wide: boolean): Amounts {
    return wide ? (this.bigints() as unknown as Amounts) : this.numbers();
  }

  bigints(): bigint[] {
    return this.#wide ?? Array.from(this.#numbers.subarray(0, this.length), BigInt);
  }
}

/** A column of indices that grows. */
export class IndexColumn {
  #values = new Int32Array(64);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  last(): number {
    return this.#values[this.length - 1] ?? 0;
  }

  values(): Int32Array {
    return this.#values.slice(0, this.length);
  }
}

export function amount(value: Whole, wide: boolean): Amount {
  return wide ? (BigInt(value) as unknown as Amount) : Number(value);
}

/** An empty column of amounts, all zero. */
export function zeros(length: number, zero: Amount): Amounts {
  return typeof zero === "bigint" ? new Array<Amount>(length).fill(zero) : new Float64Array(length);
}

export function larger(one: Amount, other: Amount): Amount {
  return one < other ? other : one;
}
