import { type Reference, templateReferences, termReferences } from '../template/references.ts';
import { expressionOf } from './parse.ts';
import type { Expression } from './tree.ts';

/**
 * Every variable that an expression reads, as written, in order.
 * Throws TemplateError `invalid`.
 */
export function expressionReferences(text: string): readonly Reference[] {
  return referencesOf(expressionOf(text));
}

function referencesOf(expression: Expression): readonly Reference[] {
  switch (expression.kind) {
    case 'literal':
      return [];
    case 'term':
      return moved(termReferences(expression.term), expression.offset);
    case 'text':
      return moved(templateReferences(expression.text), expression.offset);
    case 'not':
      return referencesOf(expression.term);
    case 'and':
    case 'or':
      return expression.terms.flatMap(referencesOf);
    case 'compare':
      return [...referencesOf(expression.left), ...referencesOf(expression.right)];
  }
}

function moved(references: readonly Reference[], by: number): readonly Reference[] {
  return references.map((reference) => ({ ...reference, offset: reference.offset + by }));
}
