/** What the page and the editor know of each other: the editor is a part of its own, loaded at `/new` only. */

/** A place in the text, as the service names it (`$.buffers[3].size`), and what is wrong there. */
export interface Fault {
  path: string;
  message: string;
}

/** A JSON schema, as far as it is looked at. */
export interface Schema {
  $ref?: string;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema | boolean;
  prefixItems?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

export interface Schemas {
  /** Of the whole text. */
  root: Schema;
  /** By the names in references. */
  named: Record<string, Schema>;
}

export interface Editor {
  text: () => string;
  replace: (text: string) => void;
  /** Marks faults at their places; they move with the text. */
  mark: (faults: readonly Fault[]) => void;
  /** Puts the cursor where a fault is. */
  reveal: (fault: Fault) => void;
  complete: (schemas: Schemas) => void;
  close: () => void;
}

export interface EditorOptions {
  text: string;
  label: string;
  changed: (text: string) => void;
}

/** Opens an editor in an element. */
export type OpenEditor = (host: HTMLElement, options: EditorOptions) => Editor;
