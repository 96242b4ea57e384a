import type { Template, Term } from '../template/tree.ts';
import type { Value } from '../template/value.ts';

export type Comparison = '<' | '>' | '<=' | '>=' | '==' | '!=';

/** What stands between operators. */
export type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  /** `BUILD.score`, `{{BUILD.score}}`, `(length x)`. `offset` leads from the term's own offsets to the expression's. */
  | { readonly kind: 'term'; readonly term: Term; readonly offset: number }
  /** Quoted text with templates inside, or a block template: rendered, then a value. */
  | { readonly kind: 'text'; readonly template: Template; readonly text: string; readonly offset: number };

export type Expression =
  | Operand
  | { readonly kind: 'not'; readonly term: Expression }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Expression[] }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Expression; readonly right: Expression };
