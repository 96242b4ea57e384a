import { Budget } from './budget.ts';
import { TemplateError } from './fault.ts';
import { templateOf } from './parsed.ts';
import { type Placeholder, Rendering } from './rendering.ts';
import type { ValueMap } from './value.ts';

export interface RenderOptions {
  /** State that renders, named in placeholders. */
  readonly state: string;
  /** Longest result, in UTF-16 units. */
  readonly maxChars: number;
  /** Nodes and values visited; MAX_STEPS by default. */
  readonly maxSteps?: number;
}

/**
 * Renders a template over plain data (spec 3, Template variables, Helpers, Missing key). A path that leads nowhere
 * renders `[missing: PATH in STATE]`. Throws TemplateError: `invalid`, `too_long`, `too_much_work`.
 */
export function renderTemplate(text: string, scope: ValueMap, options: RenderOptions): string {
  return renderWith(text, scope, (written) => `[missing: ${written} in ${options.state}]`, options);
}

/** The same with placeholders of the caller's own. */
export function renderWith(
  text: string,
  scope: ValueMap,
  placeholder: Placeholder,
  options: { readonly maxChars: number; readonly maxSteps?: number },
): string {
  const { nodes } = templateOf(text);
  try {
    return new Rendering(scope, new Budget(options.maxChars, options.maxSteps), placeholder).text(nodes);
  } catch (thrown) {
    // JSON.stringify on a value nested too deep for the stack.
    if (thrown instanceof RangeError) throw new TemplateError('too_much_work', 'a value is nested too deep');
    throw thrown;
  }
}
