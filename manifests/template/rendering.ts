import { FUNCTIONS } from './functions.ts';
import { templateOf } from './parse.ts';
import {
  type BlockKind,
  type BlockNode,
  Budget,
  type Found,
  isList,
  isMap,
  jsonInText,
  type LoopName,
  Missing,
  memberOf,
  type PathTerm,
  TemplateError,
  type TemplateNode,
  type Term,
  type Value,
  type ValueMap,
} from './tree.ts';

/** `this` at a position in a template, and the names of the enclosing blocks. */
interface Frame {
  readonly context: Value;
  readonly outer: Frame | null;
  readonly params: ReadonlyMap<string, Value>;
  readonly loop: Readonly<Record<LoopName, Value>> | null;
}

/** The text for a missing path, as a value or as the argument of `#each` or `#with`. */
type Placeholder = (written: string, use: 'value' | BlockKind) => string;

/** Called with each path that is read, as the author wrote it, and with its value. */
export type OnRead = (written: string, found: Found) => void;

const NO_PARAMS: ReadonlyMap<string, Value> = new Map();

/** One rendering of one template over one scope. Walks the tree; no code is generated. */
export class Rendering {
  readonly #scope: ValueMap;
  readonly #budget: Budget;
  readonly #placeholder: Placeholder;
  readonly #texts: JsonTexts | null;
  readonly #onRead: OnRead | undefined;
  readonly #output: string[] = [];

  constructor(
    scope: ValueMap,
    budget: Budget,
    placeholder: Placeholder,
    texts: JsonTexts | null = null,
    onRead?: OnRead,
  ) {
    this.#scope = scope;
    this.#budget = budget;
    this.#placeholder = placeholder;
    this.#texts = texts;
    this.#onRead = onRead;
  }

  text(nodes: readonly TemplateNode[]): string {
    this.#nodes(nodes, this.#rootFrame());
    return this.#output.join('');
  }

  value(term: Term): Found {
    return this.#value(term, this.#rootFrame());
  }

  #rootFrame(): Frame {
    return { context: this.#scope, outer: null, params: NO_PARAMS, loop: null };
  }

  #nodes(nodes: readonly TemplateNode[], frame: Frame): void {
    for (const node of nodes) {
      this.#budget.step();
      if (node.kind === 'text') this.#write(node.text);
      else if (node.kind === 'value') this.#writeValue(this.#value(node.term, frame));
      else this.#block(node, frame);
    }
  }

  #write(text: string): void {
    this.#budget.output(text.length);
    this.#output.push(text);
  }

  #writeValue(value: Found): void {
    this.#write(value instanceof Missing ? this.#placeholder(value.written, 'value') : this.#budget.textOf(value));
  }

  #block(block: BlockNode, frame: Frame): void {
    const subject = this.#value(block.subject, frame);
    const { kind } = block;
    if (kind === 'if' || kind === 'unless') this.#test(block, subject, frame);
    else if (subject instanceof Missing) this.#without(block, subject, frame);
    else if (kind === 'each' || (kind === 'section' && isList(subject))) this.#each(block, subject, frame);
    else if (kind === 'section' && subject === true) this.#nodes(block.body, frame);
    else if (stepsInto(kind, subject)) this.#inside(block, subject, frame);
    else this.#otherwise(block, frame);
  }

  #otherwise(block: BlockNode, frame: Frame): void {
    if (block.otherwise !== null) this.#nodes(block.otherwise, frame);
  }

  #test(block: BlockNode, subject: Found, frame: Frame): void {
    const isTrue = !(subject instanceof Missing) && (isFilled(subject) || (block.includeZero && subject === 0));
    if (isTrue === (block.kind === 'if')) this.#nodes(block.body, frame);
    else this.#otherwise(block, frame);
  }

  /**
   * A missing or empty subject of a block: renders the author's `{{else}}`, or shows the missing key. `{{#path}}` is a test.
   */
  #without(block: BlockNode, missing: Missing, frame: Frame): void {
    if (block.otherwise === null && block.kind !== 'section')
      this.#write(this.#placeholder(missing.written, block.kind));
    else this.#otherwise(block, frame);
  }

  #each(block: BlockNode, subject: Value, frame: Frame): void {
    const keys = isMap(subject) ? Object.keys(subject) : null;
    this.#budget.keys(keys?.length ?? 0);
    const size = isList(subject) ? subject.length : (keys?.length ?? 0);
    if (size === 0) this.#otherwise(block, frame);
    for (let index = 0; index < size; index += 1) {
      this.#budget.loopBody();
      const key = keys?.[index] ?? index;
      const item = memberOf(subject, String(key)) ?? null;
      const loop = { index, key, first: index === 0, last: index === size - 1 };
      this.#nodes(block.body, { context: item, outer: frame, params: paramsOf(block, [item, key], frame), loop });
    }
  }

  #inside(block: BlockNode, subject: Value, frame: Frame): void {
    this.#nodes(block.body, { context: subject, outer: frame, params: paramsOf(block, [subject], frame), loop: null });
  }

  #value(term: Term, frame: Frame): Found {
    this.#budget.step();
    if (term.kind === 'literal') return term.value;
    if (term.kind === 'path') return this.#path(term, frame);
    const called = FUNCTIONS.get(term.name);
    if (called === undefined) return new Missing(term.written);
    const args: Value[] = [];
    for (const arg of term.args) {
      const value = this.#value(arg, frame);
      if (!(value instanceof Missing)) args.push(value);
      else if (called.missingIsNull?.(args) === true) args.push(null);
      else return value;
    }
    return called.apply(
      args,
      term.args.map((arg) => arg.written),
      this.#budget,
    );
  }

  #path(path: PathTerm, frame: Frame): Found {
    this.#budget.step(path.parts.length);
    let value = this.#start(path, frame);
    for (const part of path.parts) {
      if (value === undefined) break;
      const member: Value | undefined = memberOf(value, part);
      value = member === undefined ? this.#texts?.memberOf(value, part, this.#budget) : member;
    }
    const found = value === undefined ? new Missing(path.written) : value;
    this.#onRead?.(path.written, found);
    return found;
  }

  #start({ base }: PathTerm, frame: Frame): Value | undefined {
    switch (base.kind) {
      case 'root':
        return this.#scope;
      case 'param':
        return frame.params.get(base.name);
      case 'context': {
        let at: Frame | null = frame;
        for (let up = 0; up < base.depth && at !== null; up += 1) at = at.outer;
        return at?.context;
      }
      case 'loop': {
        let up = base.depth;
        for (let at: Frame | null = frame; at !== null; at = at.outer) {
          if (at.loop === null) continue;
          if (up === 0) return at.loop[base.name];
          up -= 1;
        }
        return undefined;
      }
    }
  }
}

function paramsOf(block: BlockNode, values: readonly Value[], frame: Frame): ReadonlyMap<string, Value> {
  if (block.params.length === 0) return frame.params;
  const params = new Map(frame.params);
  for (const [index, name] of block.params.entries()) params.set(name, values[index] ?? null);
  return params;
}

/** Handlebars' own rules: `#with` accepts 0, `{{#path}}` all but null and false. */
function stepsInto(kind: BlockKind, subject: Value): boolean {
  if (kind === 'section') return subject !== null && subject !== false;
  return isFilled(subject) || subject === 0;
}

/** Handlebars' own rule: false, null, 0, empty text and empty lists are false. */
export function isFilled(value: Value): boolean {
  return isList(value) ? value.length > 0 : Boolean(value);
}

/** Members of texts that hold JSON, such as answers of agents and output of commands. Each text is parsed once. */
export class JsonTexts {
  readonly #parsed = new Map<string, Value | undefined>();

  memberOf(text: Value, key: string, budget: Budget): Value | undefined {
    if (typeof text !== 'string') return undefined;
    if (!this.#parsed.has(text)) {
      // Counted as text, and as the values parsed from it.
      budget.working(2 * text.length);
      this.#parsed.set(text, jsonInText(text));
    }
    const value = this.#parsed.get(text);
    return value === undefined ? undefined : memberOf(value, key);
  }
}

interface RenderOptions {
  /** State of the template, named in placeholders. */
  readonly state: string;
  /** Longest result, in UTF-16 units. */
  readonly maxChars: number;
  /** Limit of visited nodes and values; MAX_STEPS by default. */
  readonly maxSteps?: number;
  /** Whether paths lead into texts that hold JSON. */
  readonly jsonTexts?: boolean;
}

/**
 * Renders a template over plain data (W17). A missing path renders `[missing: PATH in STATE]`. Throws TemplateError:
 * `invalid`, `too_long`, `too_much_work`.
 */
export function renderTemplate(text: string, scope: ValueMap, options: RenderOptions): string {
  return renderWith(text, scope, missingIn(options.state), options);
}

const missingIn =
  (state: string): Placeholder =>
  (written) =>
    `[missing: ${written} in ${state}]`;

/**
 * The value of a template that consists of one `{{…}}`; every other template renders to text. A missing path gives its
 * placeholder. Throws as `renderTemplate`.
 */
export function renderValue(text: string, scope: ValueMap, options: RenderOptions): Value {
  const [node, ...more] = templateOf(text).nodes;
  if (node?.kind !== 'value' || more.length > 0) return renderTemplate(text, scope, options);
  const budget = new Budget(options.maxChars, options.maxSteps);
  return deepAware(() => {
    const found = renderingOf(scope, budget, missingIn(options.state), options).value(node.term);
    if (found instanceof Missing) return missingIn(options.state)(found.written, 'value');
    budget.output(budget.textOf(found).length);
    return found;
  });
}

/** The same with the caller's own placeholders. */
export function renderWith(
  text: string,
  scope: ValueMap,
  placeholder: Placeholder,
  options: Omit<RenderOptions, 'state'>,
): string {
  const { nodes } = templateOf(text);
  const budget = new Budget(options.maxChars, options.maxSteps);
  return deepAware(() => renderingOf(scope, budget, placeholder, options).text(nodes));
}

const renderingOf = (
  scope: ValueMap,
  budget: Budget,
  placeholder: Placeholder,
  { jsonTexts = false }: Pick<RenderOptions, 'jsonTexts'>,
): Rendering => new Rendering(scope, budget, placeholder, jsonTexts ? new JsonTexts() : null);

function deepAware<T>(render: () => T): T {
  try {
    return render();
  } catch (thrown) {
    // JSON.stringify on a value nested too deep for the stack.
    if (thrown instanceof RangeError) throw new TemplateError('too_much_work', 'a value is nested too deep');
    throw thrown;
  }
}
