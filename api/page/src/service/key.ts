/** The key of the service: in memory, and in this tab's storage only if asked. It is never part of an address. */
import { signal } from "@preact/signals";

const NAME = "memstow-key";

export const key = signal(stored());
/** Whether the dialog for the key is open, and why. */
export const asking = signal<{ why: string } | null>(null);

function stored(): string {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function isKept(): boolean {
  return stored() !== "";
}

/** Text that can be in a header. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]{1,400}$/.test(text);
}

export function useKey(text: string, keep: boolean): void {
  try {
    if (keep && text !== "") sessionStorage.setItem(NAME, text);
    else sessionStorage.removeItem(NAME);
  } catch {
    // Without storage the key lives as long as the page.
  }
  key.value = text;
}
