import { checkExpression } from '../../expression/check.ts';
import { expressionReferences } from '../../expression/references.ts';
import { checkTemplate } from '../../template/check.ts';
import { type Reference, templateReferences } from '../../template/references.ts';

/** What a text refers to, or why it cannot be read. */
export interface Reading {
  readonly references: readonly Reference[];
  readonly fault: string | null;
}

export function readTemplate(text: string): Reading {
  const fault = checkTemplate(text);
  return fault === null ? { references: templateReferences(text), fault } : { references: [], fault };
}

export function readExpression(text: string): Reading {
  const fault = checkExpression(text);
  return fault === null ? { references: expressionReferences(text), fault } : { references: [], fault };
}
