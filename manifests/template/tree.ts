import type { Value } from './value.ts';

/** Where a path starts: the context `depth` blocks up, a block parameter, or `@name` of the loop `depth` loops up. */
export type Base =
  | { readonly kind: 'context'; readonly depth: number }
  | { readonly kind: 'param'; readonly name: string }
  | { readonly kind: 'loop'; readonly name: LoopName; readonly depth: number }
  | { readonly kind: 'root' };

export const LOOP_NAMES = ['index', 'key', 'first', 'last'] as const;
export type LoopName = (typeof LOOP_NAMES)[number];

export interface PathTerm {
  readonly kind: 'path';
  readonly base: Base;
  readonly parts: readonly string[];
  /** As the author wrote it, with brackets. */
  readonly written: string;
  readonly offset: number;
}

export interface CallTerm {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly Term[];
  readonly written: string;
}

export interface LiteralTerm {
  readonly kind: 'literal';
  readonly value: Value;
  readonly written: string;
}

/** What has a value. */
export type Term = PathTerm | CallTerm | LiteralTerm;

export type BlockKind = 'if' | 'unless' | 'each' | 'with' | 'section';

export interface BlockNode {
  readonly kind: BlockKind;
  readonly subject: Term;
  /** Only `if` and `unless`: 0 counts as true. */
  readonly includeZero: boolean;
  /** Names after `as |…|`. */
  readonly params: readonly string[];
  readonly body: readonly TemplateNode[];
  /** Null when there is no `{{else}}`. */
  readonly otherwise: readonly TemplateNode[] | null;
}

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly term: Term }
  | BlockNode;

/** A template that was parsed and checked. */
export interface Template {
  readonly nodes: readonly TemplateNode[];
}
