import Handlebars from 'handlebars';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';

/** Loop bodies one rendering may run, and the text they may produce together. */
const MAX_STEPS = 10_000;

/** Throws `invalid_manifest` naming `path` when the template does not parse or uses what prompts do not have. */
export function checkTemplate(template: string, path: string): void {
  try {
    new NoPartials().accept(Handlebars.parse(template));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not parse';
    throw new SvcError('invalid_manifest', `${path}: expected a Handlebars template: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}

/**
 * Renders a checked template: no HTML escaping, no prototype access, no partials, bounded work and length. An unknown
 * simple name renders as `[missing: NAME]`, so it is seen. Throws `payload_too_large` or `invalid_argument`.
 */
export function renderTemplate(template: string, variables: JsonObject, maxBytes: number): string {
  const budget = new RenderBudget(maxBytes);
  const render = environment(budget).compile(template, { noEscape: true });
  try {
    const text = render(variables, { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false });
    budget.checkLength(text.length);
    return text;
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    if (thrown instanceof RangeError) throw budget.tooLong();
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'unknown';
    throw new SvcError('invalid_argument', `the prompt template cannot be rendered: ${reason}`, {
      field: 'spec.task.prompt_template',
    });
  }
}

/** Partials and decorators could multiply the work without a loop. */
class NoPartials extends Handlebars.Visitor {
  override PartialStatement(): void {
    throw new Error('partials are not available in prompts');
  }
  override PartialBlockStatement(): void {
    throw new Error('partials are not available in prompts');
  }
  override Decorator(): void {
    throw new Error('decorators are not available in prompts');
  }
  override DecoratorBlock(): void {
    throw new Error('decorators are not available in prompts');
  }
}

class RenderBudget {
  readonly #maxChars: number;
  #steps = 0;
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  spend(chars: number): void {
    this.#steps += 1;
    this.#chars += chars;
    if (this.#steps > MAX_STEPS) {
      throw new SvcError('invalid_argument', `the prompt template runs more than ${MAX_STEPS} loop bodies`, {
        field: 'spec.task.prompt_template',
      });
    }
    // Nested loops count inner text once a level, so a little more than the result is allowed for.
    if (this.#chars > this.#maxChars * 8) throw this.tooLong();
  }

  checkLength(chars: number): void {
    if (chars > this.#maxChars) throw this.tooLong();
  }

  tooLong(): SvcError {
    return new SvcError('payload_too_large', `the rendered prompt is longer than ${this.#maxChars} bytes`, {
      field: 'spec.task.prompt_template',
    });
  }
}

function environment(budget: RenderBudget): typeof Handlebars {
  const own = Handlebars.create();
  own.unregisterHelper('log');
  const each = own.helpers.each;
  own.registerHelper('each', function (this: unknown, list: unknown, options: Handlebars.HelperOptions) {
    if (each === undefined || options === undefined) throw new Error('#each needs a list');
    const fn: typeof options.fn = (item, extra) => {
      const text = options.fn(item, extra);
      budget.spend(text.length);
      return text;
    };
    return each.call(this, list, { ...options, fn });
  });
  own.registerHelper('helperMissing', (...args: unknown[]) => {
    const options = args.at(-1);
    if (typeof options !== 'object' || options === null || !('name' in options)) return '';
    if (args.length > 1) throw new Error(`there is no helper ${String(options.name)}`);
    return 'fn' in options ? undefined : `[missing: ${String(options.name)}]`;
  });
  return own;
}
