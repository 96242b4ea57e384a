import { TemplateError } from './fault.ts';
import { templateOf } from './parsed.ts';

/**
 * Why a text is no template: it does not parse, is too long or nested too deep, has a partial or a decorator, an
 * unknown helper, or a helper with the wrong number of arguments. Null when it is one.
 */
export function checkTemplate(text: string): string | null {
  try {
    templateOf(text);
    return null;
  } catch (thrown) {
    if (thrown instanceof TemplateError) return thrown.message;
    throw thrown;
  }
}
