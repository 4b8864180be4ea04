/** Parts of the page that are loaded where they are needed. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

type Part<Props> = (props: Props) => JSX.Element | null;

/** A part that is loaded when it is first drawn. */
export function lazy<Props extends object = object>(load: () => Promise<Part<Props>>, waiting: () => JSX.Element | null): Part<Props> {
  let loaded: Part<Props> | null = null;
  return function Loaded(props: Props): JSX.Element | null {
    const now = useSignal(loaded !== null);
    const failed = useSignal(false);
    useEffect(() => {
      if (loaded !== null) return;
      load().then((part) => {
        loaded = part;
        now.value = true;
      }, () => (failed.value = true));
    }, []);
    const Known = loaded;
    if (now.value && Known !== null) return <Known {...props} />;
    return failed.value ? <Missing /> : waiting();
  };
}

function Missing(): JSX.Element {
  return (
    <main class="start">
      <h1>A part of this page could not be loaded.</h1>
      <p class="said" role="alert">The service may be away, or of another version by now: load the page again.</p>
    </main>
  );
}
