/** One thing that is wrong with a document: where (path, line, column; 1-based) and what was expected and came. */
export interface Problem {
  /** Such as `spec.volumes[0].mount_path`; empty for the document as a whole. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type Parsed<T> =
  | { readonly ok: true; readonly manifest: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Reports stop here, so that a hostile document cannot make a large answer. */
export const MAX_PROBLEMS = 100;

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `['spec', 'volumes', 0, 'a.b']` as `spec.volumes[0]["a.b"]`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (PLAIN_KEY.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${JSON.stringify(String(part).slice(0, 100))}]`;
  }
  return text;
}
