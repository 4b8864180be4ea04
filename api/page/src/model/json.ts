/** Reads JSON from bytes, value by value, so that a million buffers become columns and never a million objects.
 *
 * `JSON.parse` would round integers above 2^53, and a text of more than half a gigabyte is no string in a browser.
 */

/** A whole number as written: a number where that is exact, otherwise a bigint. */
export type Whole = number | bigint;

export class ReadError extends Error {}

const QUOTE = 0x22, BACKSLASH = 0x5c, COMMA = 0x2c, COLON = 0x3a, MINUS = 0x2d;
const OPEN_OBJECT = 0x7b, CLOSE_OBJECT = 0x7d, OPEN_LIST = 0x5b, CLOSE_LIST = 0x5d;
const MOST_NESTED = 200;
const EXACT_DIGITS = 15;

const decoder = new TextDecoder("utf-8", { fatal: true });

export class JsonReader {
  #at = 0;
  #depth = 0;

  constructor(
    readonly bytes: Uint8Array,
    readonly progress: (part: number) => void = () => undefined,
  ) {
    // A byte order mark is not part of the text.
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.#at = 3;
  }

  /** The first byte of the next value; -1 at the end. */
  peek(): number {
    for (;;) {
      const byte = this.bytes[this.#at];
      if (byte === undefined) return -1;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at++;
    }
  }

  /** Where the reader is. */
  get at(): number {
    return this.#at;
  }

  isString(): boolean {
    return this.peek() === QUOTE;
  }

  isList(): boolean {
    return this.peek() === OPEN_LIST;
  }

  isObject(): boolean {
    return this.peek() === OPEN_OBJECT;
  }

  /** Calls `read` for each field; it must read the value, with `skip` if it does not want it. */
  object(read: (name: string) => void): void {
    this.#expect(OPEN_OBJECT, "an object");
    this.#enter();
    if (this.peek() === CLOSE_OBJECT) {
      this.#leave();
      return;
    }
    for (;;) {
      const name = this.string();
      this.#expect(COLON, "a colon");
      read(name);
      if (this.peek() === COMMA) this.#at++;
      else break;
    }
    if (this.peek() !== CLOSE_OBJECT) this.fail("expected a comma or the end of the object");
    this.#leave();
  }

  /** Calls `read` for each item, with its index. */
  list(read: (index: number) => void): void {
    this.#expect(OPEN_LIST, "a list");
    this.#enter();
    if (this.peek() === CLOSE_LIST) {
      this.#leave();
      return;
    }
    for (let index = 0; ; index++) {
      if ((index & 0x3fff) === 0x3fff) this.progress(this.#at / this.bytes.length);
      read(index);
      if (this.peek() === COMMA) this.#at++;
      else break;
    }
    if (this.peek() !== CLOSE_LIST) this.fail("expected a comma or the end of the list");
    this.#leave();
  }

  string(): string {
    if (this.peek() !== QUOTE) this.fail("expected a string");
    const start = ++this.#at;
    let escaped = false;
    for (;;) {
      const byte = this.bytes[this.#at];
      if (byte === undefined) this.fail("the string does not end");
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        escaped = true;
        this.#at++;
      }
      this.#at++;
    }
    const end = this.#at++;
    if (!escaped && end - start < 24) {
      const short = ascii(this.bytes, start, end);
      if (short !== null) return short;
    }
    try {
      if (escaped) return JSON.parse(decoder.decode(this.bytes.subarray(start - 1, end + 1))) as string;
      return decoder.decode(this.bytes.subarray(start, end));
    } catch {
      this.#at = start;
      return this.fail("the string is not valid");
    }
  }

  /** A whole number, exact whatever its size. */
  whole(): Whole {
    const first = this.peek();
    const start = this.#at;
    let at = start + (first === MINUS ? 1 : 0);
    const digits = at;
    let value = 0;
    for (;;) {
      const digit = (this.bytes[at] ?? 0) - 0x30;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      at++;
    }
    const next = this.bytes[at];
    if (at === digits || next === 0x2e || next === 0x65 || next === 0x45) this.fail("expected a whole number");
    this.#at = at;
    if (at - digits <= EXACT_DIGITS) return first === MINUS ? 0 - value : value;
    const exact = BigInt(ascii(this.bytes, start, at) ?? "0");
    const rounded = Number(exact);
    return Number.isSafeInteger(rounded) ? rounded : exact;
  }

  /** Any number, such as a fraction of seconds. */
  number(): number {
    this.peek();
    const start = this.#at;
    while ("+-.eE0123456789".includes(String.fromCharCode(this.bytes[this.#at] ?? 0x20))) this.#at++;
    const value = Number(ascii(this.bytes, start, this.#at) || "x");
    if (Number.isNaN(value)) this.fail("expected a number");
    return value;
  }

  boolean(): boolean {
    const is = this.peek() === 0x74;
    this.#word(is ? "true" : "false");
    return is;
  }

  /** Whether a `null` was there, which is then read. */
  isNull(): boolean {
    if (this.peek() !== 0x6e) return false;
    this.#word("null");
    return true;
  }

  skip(): void {
    const byte = this.peek();
    if (byte === OPEN_OBJECT) this.object(() => this.skip());
    else if (byte === OPEN_LIST) this.list(() => this.skip());
    else if (byte === QUOTE) this.string();
    else if (byte === 0x74) this.#word("true");
    else if (byte === 0x66) this.#word("false");
    else if (byte === 0x6e) this.#word("null");
    else this.number();
  }

  /** Nothing may follow the document. */
  end(): void {
    if (this.peek() !== -1) this.fail("more text after the end of the document");
  }

  fail(message: string): never {
    let line = 1;
    let begin = 0;
    for (let at = 0; at < this.#at; at++) {
      if (this.bytes[at] === 0x0a) {
        line++;
        begin = at + 1;
      }
    }
    throw new ReadError(`line ${line}, column ${this.#at - begin + 1}: ${message}`);
  }

  #enter(): void {
    if (++this.#depth > MOST_NESTED) this.fail(`more than ${MOST_NESTED} levels`);
  }

  #leave(): void {
    this.#depth--;
    this.#at++;
  }

  #expect(byte: number, what: string): void {
    if (this.peek() !== byte) this.fail(`expected ${what}`);
    this.#at++;
  }

  #word(word: string): void {
    for (const letter of word) {
      if (this.bytes[this.#at++] !== letter.charCodeAt(0)) this.fail(`expected ${word}`);
    }
  }
}

/** These bytes as text; null where one is not plain ASCII. */
function ascii(bytes: Uint8Array, start: number, end: number): string | null {
  let text = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80 || byte < 0x20) return null;
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Like `JSON.parse`, which would round; not all browsers tell it the digits. */
export function exactJson<T>(text: string): T {
  const json = new JsonReader(new TextEncoder().encode(text));
  const value = valueIn(json);
  json.end();
  return value as T;
}

/** Any value, where it is not large; whole numbers that a double cannot hold become bigints. */
export function valueIn(json: JsonReader): unknown {
  if (json.isObject()) {
    const entries: [string, unknown][] = [];
    json.object((name) => entries.push([name, valueIn(json)]));
    return Object.fromEntries(entries);
  }
  if (json.isList()) {
    const items: unknown[] = [];
    json.list(() => items.push(valueIn(json)));
    return items;
  }
  if (json.isString()) return json.string();
  json.peek();
  const from = json.at;
  json.skip();
  const text = decoder.decode(json.bytes.subarray(from, json.at));
  const value = JSON.parse(text) as unknown;
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(text) ? BigInt(text) : value;
}

/** The members of an object of JSON, as they are written; null: it is none. */
export function membersOf(bytes: Uint8Array): Map<string, Uint8Array> | null {
  const json = new JsonReader(bytes);
  const members = new Map<string, Uint8Array>();
  try {
    if (!json.isObject()) return null;
    json.object((name) => {
      json.peek();
      const from = json.at;
      json.skip();
      members.set(name, bytes.subarray(from, json.at));
    });
    json.end();
    return members;
  } catch (error) {
    if (error instanceof ReadError) return null;
    throw error;
  }
}
