/** A dialog. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as state from "./state.ts";

/** A dialog above the page; `done` is called when it is closed. */
export function Box(props: { title: string; children: ComponentChildren; wide?: boolean; done?: () => void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
    // Who opens a form means to write: not on the button that closes it, which is first.
    box.current?.querySelector<HTMLElement>("form input")?.focus();
  }, []);
  const close = props.done ?? (() => void (state.dialog.value = null));
  return (
    <dialog ref={box} class={props.wide ? "wide" : ""} aria-label={props.title} onClose={close} onClick={(event) => event.target === box.current && close()}>
      <h2>{props.title}<button type="button" class="round close" aria-label="close" onClick={close}>×</button></h2>
      {props.children}
    </dialog>
  );
}
