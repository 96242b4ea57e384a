import { type ExecutionEvent, isLastEvent } from '../follow.ts';
import { isObject, numberOf, textOf } from '../json.ts';
import { counted } from '../output.ts';
import { type Paint, plain, printable } from './paint.ts';
import { widthOf } from './width.ts';

interface EventLinesOptions {
  readonly write: (line: string) => void;
  readonly paint?: Paint;
  /** Before every line. */
  readonly prefix?: string;
  /** Wraps output lines at this width, so that a long paragraph shows while it streams. */
  readonly wrapAt?: number;
  /** Maximum number of output lines of an iteration; the others are counted. */
  readonly maxOutputLines?: number;
}

/** Execution events as lines for people, with the output as it streams. */
export class EventLines {
  readonly #options: EventLinesOptions;
  readonly #paint: Paint;
  #partial = '';
  #streamed = '';
  #shown = 0;
  #hidden = 0;

  constructor(options: EventLinesOptions) {
    this.#options = options;
    this.#paint = options.paint ?? plain;
  }

  add(event: ExecutionEvent): void {
    if (event.name === 'iteration_output') {
      this.#stream(textOf(event.payload, 'output'));
      return;
    }
    // After a crash and a repeat the final output may differ from the streamed one: then it is shown again.
    const output = textOf(event.payload, 'output');
    if (event.name === 'iteration_completed' && output.trimEnd() !== this.#streamed.trimEnd()) {
      if (this.#streamed !== '') this.#end();
      this.#stream(output);
    }
    this.#end();
    this.#line(describeEvent(event, this.#paint));
    if (isLastEvent(event)) this.#end();
  }

  #stream(text: string): void {
    this.#streamed += text;
    const lines = `${this.#partial}${text}`.split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#output(line);
    const width = this.#options.wrapAt ?? 0;
    while (width > 0 && widthOf(this.#partial) > width) {
      const fits = charsWithin(this.#partial, width);
      const space = this.#partial.lastIndexOf(' ', fits);
      const at = space > fits / 2 ? space : fits;
      this.#output(this.#partial.slice(0, at));
      this.#partial = this.#partial.slice(at).trimStart();
    }
  }

  #output(line: string): void {
    if (this.#shown >= (this.#options.maxOutputLines ?? Number.POSITIVE_INFINITY)) {
      this.#hidden += 1;
      return;
    }
    this.#shown += 1;
    this.#line(`  ${this.#paint.dim(printable(line))}`);
  }

  #end(): void {
    if (this.#partial !== '') this.#output(this.#partial);
    if (this.#hidden > 0) this.#line(this.#paint.dim(`  … ${counted(this.#hidden, 'more line')}`));
    this.#partial = '';
    this.#streamed = '';
    this.#shown = 0;
    this.#hidden = 0;
  }

  #line(text: string): void {
    this.#options.write(`${this.#options.prefix ?? ''}${text}`.trimEnd());
  }
}

/** Number of UTF-16 units at the start of a text that fit a width. */
function charsWithin(text: string, width: number): number {
  let chars = 0;
  let used = 0;
  for (const letter of text) {
    used += widthOf(letter);
    if (used > width) break;
    chars += letter.length;
  }
  return Math.max(chars, 1);
}

/** One line, without the output itself. */
export function describeEvent({ name, payload }: ExecutionEvent, paint: Paint = plain): string {
  const iteration = `iteration ${numberOf(payload, 'iteration_number')}`;
  switch (name) {
    case 'execution_started':
      return `execution ${textOf(payload, 'execution_id')} started`;
    case 'iteration_started':
      return `${iteration} started (${textOf(payload, 'action')})`;
    case 'iteration_completed':
      return paint.green(`${iteration} accepted`);
    case 'iteration_failed': {
      const error = isObject(payload.error) ? payload.error : {};
      const verb = textOf(error, 'error_type') === 'validation_failed' ? 'rejected' : 'failed';
      return paint.yellow(`${iteration} ${verb}: ${printable(textOf(error, 'message'))}`);
    }
    case 'refinement_applied':
      return paint.yellow('refinement applied: the next iteration gets the error');
    case 'execution_completed':
      return paint.green(`completed after ${iterations(payload)}`);
    case 'execution_failed':
      return paint.red(`failed after ${iterations(payload)}: ${printable(textOf(payload, 'reason'))}`);
    default:
      return name;
  }
}

function iterations(payload: ExecutionEvent['payload']): string {
  const count = numberOf(payload, 'total_iterations');
  return counted(count, 'iteration');
}
