import { TemplateError } from '../template/fault.ts';
import { expressionOf } from './parse.ts';

/** Why a text is no boolean expression, naming the place; null when it is one. */
export function checkExpression(text: string): string | null {
  try {
    expressionOf(text);
    return null;
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown.message;
    throw thrown;
  }
}
