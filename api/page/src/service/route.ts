/** Where the page is. Going elsewhere keeps it, and the key with it. */
import { signal } from "@preact/signals";
import { close } from "../shell/open.ts";

/** The path and the query. */
export const here = signal(location.pathname + location.search);

export function path(): string {
  return here.value.split("?")[0] ?? "/";
}

export function query(): URLSearchParams {
  return new URLSearchParams(here.value.split("?")[1] ?? "");
}

export function go(to: string): void {
  if (to !== location.pathname + location.search || location.hash !== "") history.pushState(null, "", to);
  arrive();
}

/** Goes there in the place of where the page is. */
export function replace(to: string): void {
  history.replaceState(null, "", to);
  here.value = to;
}

function arrive(): void {
  close();
  scrollTo(0, 0);
  // Also where it was before: who asks again wants it anew.
  here.value = "";
  here.value = location.pathname + location.search;
}

const OWN = /^\/($|new$|jobs$|jobs\/[^/]+$|reference$|compare$)/;

export function listenForLinks(): void {
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || !link) return;
    const to = new URL(link.href, location.href);
    if (to.origin !== location.origin || !OWN.test(to.pathname) || link.target !== "" || link.hasAttribute("download")) return;
    if (to.hash !== "" && to.pathname === location.pathname) return;
    event.preventDefault();
    go(to.pathname + to.search);
  });
  addEventListener("popstate", () => {
    // The part behind the # is what is seen of a plan, and no other place.
    if (location.pathname + location.search !== here.peek()) arrive();
  });
}

/** Goes to the job of a response. */
export function follow(response: Response, gone?: AbortSignal): void {
  const id = /\/v1\/jobs\/(\w+)$/.exec(response.headers.get("location") ?? "")?.[1];
  if (id === undefined) throw new Error("The service has not said which job it is.");
  if (gone?.aborted !== true) go(`/jobs/${id}`);
}
