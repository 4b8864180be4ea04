/** Ids of buffers as one block of text: a million strings would take longer to move than to read. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface PackedNames {
  readonly text: Uint8Array;
  /** Where each begins, and the end of the last. */
  readonly starts: Int32Array;
}

export class NameColumn {
  #text = new Uint8Array(1 << 12);
  #starts: number[] = [0];
  #end = 0;

  push(name: string): void {
    // A character takes at most three bytes for each unit of UTF-16.
    if (this.#end + name.length * 3 > this.#text.length) {
      const larger = new Uint8Array((this.#end + name.length * 3) * 2);
      larger.set(this.#text.subarray(0, this.#end));
      this.#text = larger;
    }
    this.#end += encoder.encodeInto(name, this.#text.subarray(this.#end)).written;
    this.#starts.push(this.#end);
  }

  packed(): PackedNames {
    return { text: this.#text.slice(0, this.#end), starts: Int32Array.from(this.#starts) };
  }
}

export function nameAt(names: PackedNames, index: number): string {
  return decoder.decode(names.text.subarray(names.starts[index], names.starts[index + 1]));
}

/** Whether both have the same name at this index. */
export function sameName(one: PackedNames, other: PackedNames, index: number): boolean {
  if (index >= nameCount(one) || index >= nameCount(other)) return false;
  const [from, against] = [one.starts[index] as number, other.starts[index] as number];
  const long = (one.starts[index + 1] as number) - from;
  if ((other.starts[index + 1] as number) - against !== long) return false;
  for (let at = 0; at < long; at++) if (one.text[from + at] !== other.text[against + at]) return false;
  return true;
}

/** Their order, with numbers in them by their value: t2 before t10. */
export function compareNames(names: PackedNames, one: number, other: number): number {
  const { text, starts } = names;
  let [at, against] = [starts[one] as number, starts[other] as number];
  const [end, until] = [starts[one + 1] as number, starts[other + 1] as number];
  while (at < end && against < until) {
    const [left, right] = [text[at] as number, text[against] as number];
    if (isDigit(left) && isDigit(right)) {
      const [last, lastOther] = [afterDigits(text, at, end), afterDigits(text, against, until)];
      while (at < last && text[at] === ZERO) at++;
      while (against < lastOther && text[against] === ZERO) against++;
      if (last - at !== lastOther - against) return last - at - (lastOther - against);
      for (; at < last; at++, against++) if (text[at] !== text[against]) return (text[at] as number) - (text[against] as number);
    } else {
      if (left !== right) return left - right;
      at++;
      against++;
    }
  }
  return end - at - (until - against);
}

const ZERO = 48;

function isDigit(letter: number): boolean {
  return letter >= ZERO && letter < ZERO + 10;
}

function afterDigits(text: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && isDigit(text[at] as number)) at++;
  return at;
}

export function nameCount(names: PackedNames): number {
  return names.starts.length - 1;
}

/** Finds buffers by their ids. */
export class NameIndex {
  #all: Map<string, number> | null = null;

  constructor(readonly names: PackedNames) {}

  find(name: string): number {
    return this.#map().get(name) ?? -1;
  }

  /** The ids that occur more than once. */
  repeated(): string | null {
    const map = this.#map();
    if (map.size === nameCount(this.names)) return null;
    for (let index = 0; index < nameCount(this.names); index++) {
      const name = nameAt(this.names, index);
      if (map.get(name) !== index) return name;
    }
    return null;
  }

  #map(): Map<string, number> {
    if (this.#all === null) {
      this.#all = new Map();
      for (let index = 0; index < nameCount(this.names); index++) this.#all.set(nameAt(this.names, index), index);
    }
    return this.#all;
  }
}

/** The first names that contain the text, whatever its case; those that begin with it first. */
export function search(names: PackedNames, text: string, most: number): number[] {
  const wanted = text.toLowerCase();
  const begin: number[] = [];
  const within: number[] = [];
  for (let index = 0; index < nameCount(names) && begin.length < most; index++) {
    const place = nameAt(names, index).toLowerCase().indexOf(wanted);
    if (place === 0) begin.push(index);
    else if (place > 0 && within.length < most) within.push(index);
  }
  return [...begin, ...within].slice(0, most);
}
