import { lateLibrary } from '../re2.ts';

/** Start of a path: the context `depth` blocks up, a block parameter, or `@name` of the loop `depth` loops up. */
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

/** A term: anything with a value. */
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

/** A parsed and checked template. */
export interface Template {
  readonly nodes: readonly TemplateNode[];
}

const handlebars = lateLibrary<typeof import('handlebars')>('handlebars');

/** Parses a template to Handlebars' syntax tree; throws its error. */
export const parseSyntax = (text: string): hbs.AST.Program => handlebars().parse(text);

/** Limit of nodes and values that one rendering visits; about 20 ms. */
const MAX_STEPS = 200_000;

const MAX_LOOP_BODIES = 10_000;

/** Limit of text that one rendering handles besides its result: values as JSON, arguments of helpers. */
const WORKING_CHARS = 4 * 1_024 * 1_024;

/**
 * The remaining budget of one rendering. It counts and uses no clock, so the same template with the same data always ends the
 * same way.
 */
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

  /** Characters handled besides the result. */
  working(chars: number): void {
    this.#working += chars;
    if (this.#working > WORKING_CHARS) {
      throw new TemplateError('too_much_work', `the template handles more than ${WORKING_CHARS} characters of values`);
    }
  }

  /** Keys of a map that are listed; each costs about as much as 16 characters. */
  keys(count: number): void {
    this.working(16 * count);
  }

  /** A value as text: text unchanged, null as empty text, everything else as JSON. */
  textOf(value: Value): string {
    if (typeof value === 'string') return value;
    if (value === null) return '';
    return typeof value === 'object' ? this.jsonOf(value) : String(value);
  }

  jsonOf(value: Value): string {
    this.#measure(value);
    return JSON.stringify(value);
  }

  /** Counts before it writes, so that a huge value costs no more than the limit. */
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

/** Plain JSON as templates and expressions read it; the runtime's Json is assignable to it. */
export type Value = null | boolean | number | string | readonly Value[] | ValueMap;

export type ValueMap = { readonly [key: string]: Value };

/** Placeholder of a missing path; `written` is the path as the author wrote it. */
export class Missing {
  readonly written: string;

  constructor(written: string) {
    this.written = written;
  }
}

export type Found = Value | Missing;

const INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The member of a value: own keys of maps, indexes and `length` of lists, `length` of text. Never a prototype's. */
export function memberOf(value: Value, key: string): Value | undefined {
  if (typeof value === 'string') return key === 'length' ? value.length : undefined;
  if (isList(value)) {
    if (key === 'length') return value.length;
    return INDEX.test(key) ? value[Number(key)] : undefined;
  }
  if (isMap(value)) return Object.hasOwn(value, key) ? value[key] : undefined;
  return undefined;
}

/** The JSON in a text, also inside one Markdown fence; undefined when it is neither a list nor a map. */
export function jsonInText(text: string): Value | undefined {
  const inside = /^\s*```[^\n`]*\r?\n([\s\S]*?)\r?\n?```\s*$/.exec(text)?.[1] ?? text;
  if (!/^\s*[[{]/.test(inside)) return undefined;
  try {
    const value: Value = JSON.parse(inside);
    return value;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

const NUMERIC = /^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?$/;

/** The number in a text, ignoring white space around it; null when it is not one. */
export function numberIn(text: string): number | null {
  // Longer numbers carry no information, and a pattern should not run over megabytes.
  if (text.length > 1_000) return null;
  const trimmed = text.trim();
  return NUMERIC.test(trimmed) ? Number(trimmed) : null;
}

export function numberOf(value: Value): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? numberIn(value) : null;
}

/**
 * `==` of expressions and `eq` of templates. Null equals only null. A number and a numeric text compare as numbers,
 * everything else as text: lists and maps as JSON, true and false as these words.
 */
export function isEqual(left: Value, right: Value, budget: Budget): boolean {
  if (left === null || right === null) return left === right;
  if (typeof left === 'number' || typeof right === 'number') {
    const a = numberOf(left);
    const b = numberOf(right);
    if (a !== null && b !== null) return a === b;
  }
  return budget.textOf(left) === budget.textOf(right);
}

/**
 * Why a template or an expression has no result. `invalid`: the check refuses it. `too_long`: the text exceeds its limit.
 * `too_much_work`: it exceeds the limit of steps or of handled text.
 */
type TemplateFaultCode = 'invalid' | 'too_long' | 'too_much_work';

export class TemplateError extends Error {
  readonly code: TemplateFaultCode;

  constructor(code: TemplateFaultCode, message: string) {
    super(message);
    this.name = 'TemplateError';
    this.code = code;
  }
}
