/** Numbers for people: the same rules as `planner/show/formatting.py`. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Bytes to three digits, in the unit that suits them: "13 MiB", "1.4 GiB". */
export function bytes(amount: number | bigint): string {
  let value = Number(amount);
  let unit = 0;
  // 999.5 would round to four digits.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  if (unit === 0) return `${amount} B`;
  return `${trimmed(value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0))} ${UNITS[unit]}`;
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Every digit, in groups of three. */
export function count(value: number | bigint): string {
  const digits = String(value);
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A time; huge ones in short. */
export function time(value: number | bigint): string {
  const digits = String(value);
  if (digits.length <= 15) return count(value);
  const sign = digits.startsWith("-") ? "-" : "";
  const plain = digits.slice(sign.length);
  return `${sign}${plain[0]}.${plain.slice(1, 4)}e${plain.length - 1}`;
}

/** A time with every digit, where it is told by itself; only those that no line holds are short. */
export function exactTime(value: number | bigint): string {
  return String(value).length <= 30 ? count(value) : time(value);
}

/** A share as per cent, rounded up: a gap is never told smaller than it is. */
export function percentUp(part: number): string {
  const percent = part * 100;
  if (percent === 0) return "0 %";
  if (percent < 0.01) return "0.01 %";
  const digits = percent < 1 ? 2 : percent < 10 ? 1 : 0;
  const scale = 10 ** digits;
  return `${(Math.ceil(percent * scale - 1e-9) / scale).toFixed(digits)} %`;
}

/** Control characters and line breaks of hostile names shown as what they are. */
export function plain(text: string, most = 80): string {
  const shown = [...text].slice(0, most + 1).map((letter) => {
    const code = letter.codePointAt(0) ?? 0;
    const hidden = code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f)
      || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0xfeff;
    return hidden ? `\\u${code.toString(16).padStart(4, "0")}` : letter;
  });
  return shown.length > most ? `${shown.slice(0, most - 1).join("")}…` : shown.join("");
}
