/** Where a key is entered. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Box } from "../shell/box.tsx";
import { asking, isKept, isKey, key, useKey } from "./key.ts";

export function KeyDialog(): JSX.Element | null {
  const now = asking.value;
  if (now === null) return null;
  const close = (): void => void (asking.value = null);
  return (
    <Box title="Key of the service" done={close}>
      {now.why !== "" && <p class="said">{now.why}</p>}
      <KeyForm done={close} />
    </Box>
  );
}

export function KeyForm(props: { done?: () => void }): JSX.Element {
  const text = useSignal("");
  const keep = useSignal(isKept());
  const wrong = useSignal("");
  const use = (event: Event): void => {
    event.preventDefault();
    const given = text.value.trim();
    if (!isKey(given)) {
      wrong.value = given === "" ? "Enter a key; it begins with msk_." : "A key has no spaces, and no letters outside of ASCII.";
      return;
    }
    useKey(given, keep.value);
    props.done?.();
  };
  const forget = (): void => {
    useKey("", false);
    props.done?.();
  };
  return (
    <form class="key" onSubmit={use}>
      <label>
        Key
        <input
          type="password" name="memstow-key" autocomplete="off" spellcheck={false} value={text.value} aria-describedby="key-said" aria-invalid={wrong.value !== ""}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      <label class="tick">
        <input type="checkbox" checked={keep.value} onChange={(event) => (keep.value = event.currentTarget.checked)} />
        keep it in this tab when the page is loaded again
      </label>
      <p id="key-said" class={wrong.value === "" ? "quiet" : "failed"} role={wrong.value === "" ? undefined : "alert"}>
        {wrong.value === "" ? "It is sent to this service only, in a header, and is forgotten with this page." : wrong.value}
      </p>
      <p class="buttons">
        <button type="submit" class="main">Use it</button>
        {key.value !== "" && <button type="button" onClick={forget}>Forget the key</button>}
      </p>
    </form>
  );
}
