import { isList, isMap, type Json, type JsonMap, memberOf } from './manifest.ts';

/** A path without a value; `written` is its text in the template. */
class Nowhere {
  readonly written: string;
  constructor(written: string) {
    this.written = written;
  }
}

type Found = Json | Nowhere;

interface Place {
  readonly scope: JsonMap;
  readonly state: string;
  /** `this` of a block, and its index. */
  readonly item?: Json;
  readonly index?: number;
}

/** Values as text: without escapes; lists and maps are JSON. */
function textOf(value: Json): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const placeholder = (path: string, state: string): string => `[missing: ${path} in ${state}]`;

const TAG = /\{\{(.+?)\}\}/;

/** The template of a state as text, as the section "Template variables" defines it. */
export function render(template: string, scope: JsonMap, state: string): string {
  return body(template, { scope, state });
}

/** For a text that is one `{{…}}` the value, for all others the text; for values of built-in commands. */
export function renderJson(value: Json, scope: JsonMap, state: string): Json {
  if (isList(value)) return value.map((item) => renderJson(item, scope, state));
  if (isMap(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renderJson(item, scope, state)]));
  }
  if (typeof value !== 'string') return value;
  const [, whole] = /^\{\{([^#/{}]+)\}\}$/.exec(value) ?? [];
  if (whole === undefined) return render(value, scope, state);
  const found = evaluate(whole.trim(), { scope, state });
  return found instanceof Nowhere ? placeholder(found.written, state) : found;
}

function body(template: string, place: Place): string {
  const tag = TAG.exec(template);
  if (tag === null) return template;
  const [whole, inner = ''] = tag;
  const before = template.slice(0, tag.index);
  const rest = template.slice(tag.index + whole.length);
  if (!inner.startsWith('#')) return before + shown(evaluate(inner.trim(), place), place) + body(rest, place);
  const [kind = ''] = inner.slice(1).split(' ');
  const { inside, otherwise, behind } = blockOf(rest, kind);
  return before + block(kind, inner.slice(kind.length + 2), { inside, otherwise }, place) + body(behind, place);
}

const shown = (found: Found, { state }: Place): string =>
  found instanceof Nowhere ? placeholder(found.written, state) : textOf(found);

interface Parts {
  readonly inside: string;
  /** Null: without `{{else}}`. */
  readonly otherwise: string | null;
}

/** Up to the end of the block, with the blocks inside it. */
function blockOf(text: string, kind: string): Parts & { readonly behind: string } {
  let depth = 0;
  let elseAt: number | null = null;
  for (const found of text.matchAll(/\{\{(#|\/|else)([^}]*)\}\}/g)) {
    if (found[1] === '#') depth += 1;
    else if (found[1] === 'else' && depth === 0) elseAt = found.index;
    else if (found[1] === '/') {
      if (depth > 0) {
        depth -= 1;
        continue;
      }
      const behind = text.slice(found.index + found[0].length);
      if (elseAt === null) return { inside: text.slice(0, found.index), otherwise: null, behind };
      const otherwise = text.slice(elseAt + '{{else}}'.length, found.index);
      return { inside: text.slice(0, elseAt), otherwise, behind };
    }
  }
  throw new Error(`{{#${kind}}} has no end`);
}

function block(kind: string, argument: string, { inside, otherwise }: Parts, place: Place): string {
  const found = evaluate(argument.trim(), place);
  const without = (): string => (otherwise === null ? '' : body(otherwise, place));
  if (kind === 'if' || kind === 'unless') return isFilled(found) === (kind === 'if') ? body(inside, place) : without();
  if (found instanceof Nowhere) return otherwise === null ? shown(found, place) : without();
  if (kind === 'with') return isFilled(found) || found === 0 ? body(inside, { ...place, item: found }) : without();
  const items = isList(found) ? found : isMap(found) ? Object.values(found) : [];
  if (items.length === 0) return without();
  return items.map((item, index) => body(inside, { ...place, item, index })).join('');
}

/** Truth as in Handlebars: empty texts and lists, 0, null and missing keys are false. */
function isFilled(found: Found): boolean {
  if (found instanceof Nowhere) return false;
  return isList(found) ? found.length > 0 : Boolean(found);
}

/** A path, a literal, `helper argument…`, or one of them in parentheses. */
function evaluate(written: string, place: Place): Found {
  const parts = partsOf(written);
  const [first = '', ...args] = parts;
  if (args.length > 0) return call(first, args, place);
  if (first.startsWith('(')) return evaluate(first.slice(1, -1), place);
  const [, text] = /^["'](.*)["']$/s.exec(first) ?? [];
  if (text !== undefined) return text;
  if (/^-?\d+(\.\d+)?$/.test(first)) return Number(first);
  if (first === 'true' || first === 'false') return first === 'true';
  if (first === 'null') return null;
  return pathOf(first, place);
}

/** Splits at spaces, but not in parentheses and quotes. */
function partsOf(written: string): string[] {
  const parts: string[] = [];
  let part = '';
  let depth = 0;
  let quote: string | null = null;
  for (const char of written) {
    if (quote === null && depth === 0 && char === ' ') {
      if (part !== '') parts.push(part);
      part = '';
      continue;
    }
    if (quote === null && (char === '"' || char === "'")) quote = char;
    else if (quote === char) quote = null;
    else if (quote === null && char === '(') depth += 1;
    else if (quote === null && char === ')') depth -= 1;
    part += char;
  }
  return part === '' ? parts : [...parts, part];
}

function pathOf(path: string, place: Place): Found {
  if (path === '@index') return place.index ?? new Nowhere(path);
  const [root = '', ...keys] = path.split('.');
  let value = root === 'this' ? place.item : memberOf(place.scope, root);
  for (const key of keys) value = memberOf(value, key) ?? memberOf(jsonIn(value), key);
  return value === undefined ? new Nowhere(path) : value;
}

/** A path continues into a text that contains JSON. */
function jsonIn(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    const parsed: Json = JSON.parse(value);
    return parsed;
  } catch {
    return undefined;
  }
}

function call(helper: string, args: readonly string[], place: Place): Found {
  const found = args.map((arg) => evaluate(arg, place));
  const [one = null, other = null] = found.map((value) => (value instanceof Nowhere ? null : value));
  if (helper === 'eq') return isEqual(one, other);
  if (helper === 'default' && (one === null || one === '')) return found[1] ?? null;
  const missing = found.find((value) => value instanceof Nowhere);
  if (helper === 'default') return one;
  if (missing !== undefined) return missing;
  switch (helper) {
    case 'length':
      if (typeof one === 'string' || isList(one)) return one.length;
      return isMap(one) ? Object.keys(one).length : 0;
    case 'upper':
      return textOf(one).toUpperCase();
    case 'lower':
      return textOf(one).toLowerCase();
    case 'trim':
      return textOf(one).trim();
    case 'json':
      return JSON.stringify(one);
    case 'first_line':
      return textOf(one).split('\n')[0] ?? '';
    case 'add':
      return Number(one) + Number(other);
    case 'parseJson':
      return jsonIn(one) ?? null;
    case 'lookup':
      return memberOf(one, textOf(other)) ?? new Nowhere(`${args[0]}.${textOf(other)}`);
    default:
      throw new Error(`no helper ${helper}`);
  }
}

/** Equality as `==` of expressions: a number equals its text. */
export function isEqual(one: Json, other: Json): boolean {
  if (one === null || other === null) return one === other;
  const [a, b] = [numberIn(one), numberIn(other)];
  const isNumeric = typeof one === 'number' || typeof other === 'number';
  if (isNumeric && a !== undefined && b !== undefined) return a === b;
  return textOf(one) === textOf(other);
}

export function numberIn(value: Json): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}

/** For expressions, where a missing key is null. */
export function valueIn(written: string, scope: JsonMap, state: string): Json {
  const found = evaluate(written, { scope, state });
  return found instanceof Nowhere ? null : found;
}
