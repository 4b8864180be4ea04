/** A set of indices below a limit that knows the neighbours of each: bitmaps of words, of words that are not empty,
 * and so on. Adding, removing and finding a neighbour take a few steps, whatever is in it. */
export class OrderedSet {
  readonly #levels: Uint32Array[] = [];

  constructor(limit: number) {
    let words = limit;
    do {
      words = Math.ceil(words / 32) || 1;
      this.#levels.push(new Uint32Array(words));
    } while (words > 1);
  }

  add(index: number): void {
    let at = index;
    for (const level of this.#levels) {
      const word = at >>> 5;
      level[word] = (level[word] as number) | (1 << (at & 31));
      at = word;
    }
  }

  remove(index: number): void {
    let at = index;
    for (const level of this.#levels) {
      const word = at >>> 5;
      level[word] = (level[word] as number) & ~(1 << (at & 31));
      if (level[word] !== 0) return;
      at = word;
    }
  }

  /** The nearest below; -1 if there is none. */
  before(index: number): number {
    let at = index;
    for (let depth = 0; depth < this.#levels.length; depth++) {
      const below = ((this.#levels[depth] as Uint32Array)[at >>> 5] as number) & ((1 << (at & 31)) - 1);
      if (below !== 0) return this.#highest(depth, (at & ~31) + 31 - Math.clz32(below));
      at >>>= 5;
    }
    return -1;
  }

  /** The nearest above; -1 if there is none. */
  after(index: number): number {
    let at = index;
    for (let depth = 0; depth < this.#levels.length; depth++) {
      const word = ((this.#levels[depth] as Uint32Array)[at >>> 5] ?? 0) as number;
      const above = (at & 31) === 31 ? 0 : word & (-1 << ((at & 31) + 1));
      if (above !== 0) return this.#lowest(depth, (at & ~31) + trailing(above));
      at >>>= 5;
    }
    return -1;
  }

  #highest(depth: number, found: number): number {
    let at = found;
    for (let level = depth - 1; level >= 0; level--) {
      at = (at << 5) + 31 - Math.clz32((this.#levels[level] as Uint32Array)[at] as number);
    }
    return at;
  }

  #lowest(depth: number, found: number): number {
    let at = found;
    for (let level = depth - 1; level >= 0; level--) {
      at = (at << 5) + trailing((this.#levels[level] as Uint32Array)[at] as number);
    }
    return at;
  }
}

function trailing(word: number): number {
  return 31 - Math.clz32(word & -word);
}
