import { lateLibrary } from '../re2.ts';
import { isList, isMap, TemplateError, type Value } from './value.ts';

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

interface CallTerm {
  readonly kind: 'call';
  readonly name: string;
  readonly args: readonly Term[];
  readonly written: string;
}

interface LiteralTerm {
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

const handlebars = lateLibrary<typeof import('handlebars')>('handlebars');

/** Text of a template as Handlebars' syntax tree; throws its error. */
export const parseSyntax = (text: string): hbs.AST.Program => handlebars().parse(text);

/** Nodes and values one rendering may visit; about 20 ms. */
const MAX_STEPS = 200_000;

const MAX_LOOP_BODIES = 10_000;

/** Text that one rendering may handle besides its result: values made into JSON, text changed by helpers. */
const WORKING_CHARS = 4 * 1_024 * 1_024;

/** What one rendering may still do. Counts, no clock: the same template on the same data ends the same everywhere. */
export class Budget {
  readonly #maxChars: number;
  readonly #maxSteps: number;
  #steps = 0;
  #loopBodies = 0;
  #chars = 0;
  #working = 0;

  constructor(maxChars: number, maxSteps: number = MAX_STEPS) {
    this.#maxChars = maxChars;
    this.#maxSteps = maxSteps;
  }

  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#maxSteps) {
      throw new TemplateError('too_much_work', `the template runs more than ${this.#maxSteps} steps`);
    }
  }

  loopBody(): void {
    this.#loopBodies += 1;
    if (this.#loopBodies > MAX_LOOP_BODIES) {
      throw new TemplateError('too_much_work', `the template runs more than ${MAX_LOOP_BODIES} loop bodies`);
    }
  }

  /** Characters of the result. */
  output(chars: number): void {
    this.#chars += chars;
    if (this.#chars > this.#maxChars) {
      throw new TemplateError('too_long', `the rendered text is longer than ${this.#maxChars} characters`);
    }
  }

  /** Characters handled on the way. */
  working(chars: number): void {
    this.#working += chars;
    if (this.#working > WORKING_CHARS) {
      throw new TemplateError('too_much_work', `the template handles more than ${WORKING_CHARS} characters of values`);
    }
  }

  /** Keys of a map that are listed; each costs about what 16 characters do. */
  keys(count: number): void {
    this.working(16 * count);
  }

  /** A value as text: text as it is, null as nothing, lists and maps as JSON, the rest as written in JSON. */
  textOf(value: Value): string {
    if (typeof value === 'string') return value;
    if (value === null) return '';
    return typeof value === 'object' ? this.jsonOf(value) : String(value);
  }

  jsonOf(value: Value): string {
    this.#measure(value);
    return JSON.stringify(value);
  }

  /** Counts before anything is written, so that a huge value costs no more than the limit. */
  #measure(value: Value): void {
    const open: Value[] = [value];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (typeof next === 'string') this.working(next.length + 2);
      else if (isList(next)) {
        this.working(2 + next.length);
        for (const item of next) open.push(item);
      } else if (isMap(next)) {
        this.working(2);
        for (const [key, member] of Object.entries(next)) {
          this.working(key.length + 4);
          open.push(member);
        }
      } else this.working(5);
    }
  }
}
