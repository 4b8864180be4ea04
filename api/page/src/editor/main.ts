/** The editor of `/new`: CodeMirror's parts, with faults at their places and completion from our schemas.
 *
 * It lives in a shadow tree: there its styles are constructed sheets, which a strict policy allows, and no style element.
 */
import { autocompletion, closeBrackets, closeBracketsKeymap, type Completion, type CompletionContext, completionKeymap, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, forceLinting, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, StateEffect, StateField, type Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { namesAt, type Option, valuesAt } from "./schema.ts";
import { isJson, placeAt, rangeOfPath } from "./text.ts";
import type { Editor, EditorOptions, Fault, OpenEditor, Schemas } from "./types.ts";

const SHOWN = 12;

const LOOKS = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--link)" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--soft)", color: "var(--quiet)", borderRight: "1px solid var(--frame)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--chosen)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--soft)", outline: "1px solid var(--quiet)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--soft)", color: "var(--quiet)", borderColor: "var(--frame)" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--frame)", maxWidth: "460px" },
  // Arrow keys choose; the list itself never scrolls.
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "none", overflow: "hidden" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--link)", color: "var(--paper)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "1" },
  ".cm-diagnostic": { color: "var(--ink)" },
});

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--link)" },
  { tag: tags.string, color: "var(--met)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--open)" },
]);

const setFaults = StateEffect.define<readonly Fault[]>();
const setSchemas = StateEffect.define<Schemas>();

/** What the service has found, moved with the text since. */
const faults = StateField.define<readonly Diagnostic[]>({
  create: () => [],
  update(now, change) {
    for (const effect of change.effects) {
      if (effect.is(setFaults)) return effect.value.map((fault) => diagnosticOf(change.state.doc.toString(), fault));
    }
    if (!change.docChanged) return now;
    return now.map((one) => ({ ...one, from: change.changes.mapPos(one.from), to: change.changes.mapPos(one.to) }));
  },
});

const schemas = StateField.define<Schemas | null>({
  create: () => null,
  update: (now, change) => change.effects.reduce<Schemas | null>((last, effect) => (effect.is(setSchemas) ? effect.value : last), now),
});

function diagnosticOf(text: string, fault: Fault): Diagnostic {
  return { ...rangeOfPath(text, fault.path), severity: "error", message: fault.message };
}

/** JSON that cannot be read is told while it is written; another format is left to the service. */
function look(view: EditorView): Diagnostic[] {
  const text = view.state.doc.toString();
  const diagnostics = isJson(text) ? jsonParseLinter()(view) : [];
  return diagnostics.length > 0 ? diagnostics : [...view.state.field(faults)];
}

function complete(context: CompletionContext): CompletionResult | null {
  const known = context.state.field(schemas);
  const text = context.state.doc.toString();
  if (known === null || !/^\s*[{[]?/.test(text)) return null;
  const place = placeAt(text, context.pos);
  if (place.expects === null || (place.from === context.pos && !context.explicit)) return null;
  const quoted = text[place.from] === '"';
  const to = quoted && text[context.pos] === '"' ? context.pos + 1 : context.pos;
  const options = place.expects === "name"
    ? namesAt(known, place.path, place.names).map((one) => nameOption(one, /^\s*:/.test(text.slice(to, to + 20))))
    : valuesAt(known, place.path).map((one) => ({ label: one.text, detail: one.kind, info: one.info }));
  // Labels of names have quotes as well, so that what is typed matches.
  return options.length === 0 ? null : { from: place.from, to, options, filter: true };
}

function nameOption(one: Option, hasValue: boolean): Completion {
  const text = JSON.stringify(one.text);
  const inserted = hasValue ? text : `${text}: ${one.opens}`;
  const inside = !hasValue && one.opens !== "" ? 1 : 0;
  return {
    label: text, displayLabel: one.text, detail: one.kind, info: one.info, type: "property", boost: one.required ? 1 : 0,
    apply: (view, _completion, from, to) => view.dispatch({
      changes: { from, to, insert: inserted }, selection: { anchor: from + inserted.length - inside }, userEvent: "input.complete",
    }),
  };
}

/** What is typed changes the text at once. Left to the browser, it would copy colours in style attributes, which the policy forbids. */
const typing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const text = event.data;
    if (event.inputType !== "insertText" || text === null || event.isComposing || view.composing || view.state.readOnly) return false;
    const { from, to } = view.state.selection.main;
    const insert = (): Transaction => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert))) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

export const open: OpenEditor = (host: HTMLElement, options: EditorOptions): Editor => {
  const tree = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const state = EditorState.create({
    doc: options.text,
    extensions: [
      lineNumbers(), foldGutter(), lintGutter(), history(), drawSelection(), highlightActiveLine(), indentOnInput(), bracketMatching(), closeBrackets(),
      json(), typing, syntaxHighlighting(COLOURS), LOOKS, faults, schemas, linter(look, { delay: 400, needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(setFaults))) }),
      autocompletion({ override: [complete], icons: false, maxRenderedOptions: SHOWN }),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...foldKeymap, ...defaultKeymap]),
      EditorView.contentAttributes.of({ "aria-label": options.label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) options.changed(update.state.doc.toString());
      }),
    ],
  });
  const view = new EditorView({ state, parent: tree, root: tree });
  return {
    text: () => view.state.doc.toString(),
    replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, effects: setFaults.of([]) }),
    mark: (diagnostics) => {
      view.dispatch({ effects: setFaults.of(diagnostics) });
      forceLinting(view);
    },
    reveal: (fault) => {
      const marked = view.state.field(faults).find((one) => one.message === fault.message);
      const { from, to } = marked ?? rangeOfPath(view.state.doc.toString(), fault.path);
      view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
    complete: (known) => view.dispatch({ effects: setSchemas.of(known) }),
    close: () => view.destroy(),
  };
};
