import { FUNCTIONS } from '../template/functions.ts';
import { templateOf } from '../template/parse.ts';
import { type BlockNode, type Template, TemplateError, type Term, type Value } from '../template/tree.ts';

/** An operand. */
export type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  /** `BUILD.score`, `{{BUILD.score}}`, `(length x)`. `offset` converts the term's own offsets to the expression's. */
  | { readonly kind: 'term'; readonly term: Term; readonly offset: number }
  /** Quoted text with templates inside, or a block template: rendered, then a value. */
  | { readonly kind: 'text'; readonly template: Template; readonly text: string; readonly offset: number };

/** `{{#if TEST}}…{{else}}…{{/if}}` with operators in its branches: each branch is an expression. */
interface ChoiceToken {
  readonly kind: 'choice';
  readonly test: Term;
  readonly isNegated: boolean;
  /** A branch as written, padded with spaces, so that its offsets are those of the expression. */
  readonly whenTrue: string;
  /** Null without `{{else}}`. */
  readonly otherwise: string | null;
}

export type Token = { readonly offset: number } & (
  | { readonly kind: 'sign'; readonly sign: string }
  | { readonly kind: 'operand'; readonly operand: Operand }
  | ChoiceToken
);

const SPACE = /\s+/y;

const SIGN = /<=|>=|==|!=|&&|\|\||[<>!()]/y;

const NUMBER = /-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?(?![^\s<>=!&|()])/y;

const QUOTED = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/sy;

const SEGMENT = String.raw`(?:\[[^\]]*\]|[^\s!"#%&'()*+,./;<=>@[\\\]^${'`'}{|}~]+)`;

const PATH = new RegExp(String.raw`${SEGMENT}(?:\.${SEGMENT})*`, 'y');

const CALL = /\(\s*([a-zA-Z_]+)\s+(?![\s<>=!&|)])/y;

const BLOCK_TAG = /\{\{~?\s*([#^/])([^}]*)/g;

const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

const LITERALS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Splits an expression into operators and operands. Throws TemplateError `invalid` with the position. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const space = match(SPACE, text, at);
    if (space !== null) {
      at += space.length;
      continue;
    }
    const { token, end } = tokenAt(text, at);
    tokens.push(token);
    at = end;
  }
  return tokens;
}

export function invalid(offset: number, message: string): TemplateError {
  return new TemplateError('invalid', `at character ${offset + 1}: ${message}`);
}

interface Cut {
  readonly token: Token;
  readonly end: number;
}

function tokenAt(text: string, at: number): Cut {
  if (text.startsWith('{{', at)) return template(text, at);
  if (match(CALL, text, at) !== null) {
    const name = /[a-zA-Z_]+/.exec(text.slice(at))?.[0] ?? '';
    if (FUNCTIONS.has(name)) return call(text, at);
  }
  const sign = match(SIGN, text, at);
  if (sign !== null) return { token: { kind: 'sign', sign, offset: at }, end: at + sign.length };
  const quoted = match(QUOTED, text, at);
  if (quoted !== null) return operand(at, quotedOperand(quoted, at), at + quoted.length);
  const number = match(NUMBER, text, at);
  if (number !== null) return operand(at, { kind: 'literal', value: Number(number) }, at + number.length);
  const path = match(PATH, text, at);
  if (path === null) throw invalid(at, `unexpected ${JSON.stringify(text.slice(at, at + 10))}`);
  const literal = LITERALS.get(path);
  if (literal !== undefined) return operand(at, { kind: 'literal', value: literal }, at + path.length);
  return operand(at, term(path, at), at + path.length);
}

function match(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

function operand(offset: number, found: Operand, end: number): Cut {
  return { token: { kind: 'operand', operand: found, offset }, end };
}

/** A path or a call as the template language reads it; `at` is where `inside` begins. */
function term(inside: string, at: number): Operand {
  const [node, ...more] = parsed(`{{${inside}}}`, at).nodes;
  if (node?.kind !== 'value' || more.length > 0) throw invalid(at, 'expected one value');
  return { kind: 'term', term: node.term, offset: at - 2 };
}

function call(text: string, at: number): Cut {
  let depth = 0;
  for (let index = at; index < text.length; index += 1) {
    const quoted = match(QUOTED, text, index);
    if (quoted !== null) index += quoted.length - 1;
    else if (text[index] === '(') depth += 1;
    else if (text[index] === ')') depth -= 1;
    if (depth === 0) return operand(at, term(text.slice(at + 1, index), at + 1), index + 1);
  }
  throw invalid(at, 'the bracket is not closed');
}

/** `{{path}}`, `{{helper path}}`, or a whole block up to its end. */
function template(text: string, at: number): Cut {
  const end = templateEnd(text, at);
  const source = text.slice(at, end);
  const { nodes } = parsed(source, at);
  const [node] = nodes;
  if (nodes.length !== 1 || node === undefined) throw invalid(at, 'expected one value in {{…}}');
  if (node.kind === 'value') return operand(at, { kind: 'term', term: node.term, offset: at }, end);
  if (node.kind !== 'text' && hasOperators(source))
    return { token: { offset: at, ...choiceOf(node, source, at) }, end };
  return operand(at, { kind: 'text', template: { nodes }, text: source, offset: at }, end);
}

/** Whether text outside the tags has operators. */
export const hasOperators = (source: string): boolean =>
  /[<>=&|]|(?:^|\})\s*!/.test(source.replace(/\{\{[^}]*\}\}/g, '}'));

function choiceOf({ kind, subject, includeZero }: BlockNode, source: string, at: number): ChoiceToken {
  if ((kind !== 'if' && kind !== 'unless') || includeZero)
    throw invalid(at, `operators inside {{#${kind}}} are not evaluated: write the comparison around the block`);
  const tags = outerTags(source);
  const [first, next] = tags;
  const last = tags.at(-1);
  if (first === undefined || next === undefined || last === undefined) throw invalid(at, 'the block is not closed');
  const branch = (from: number, to: number): string => ' '.repeat(at + from) + source.slice(from, to);
  const whenTrue = branch(first.end, next.start);
  const part = { kind: 'choice', test: subject, isNegated: kind === 'unless', whenTrue } as const;
  if (next === last) return { ...part, otherwise: null };
  // `{{else if X}}` is a block of its own, with the same end.
  const chained = /^else\s+(if|unless)\s/.exec(next.inside);
  if (chained === null) return { ...part, otherwise: branch(next.end, last.start) };
  const [, block = 'if'] = chained;
  const test = next.inside.slice('else '.length).trimStart();
  return {
    ...part,
    otherwise: `${' '.repeat(at + next.start)}{{#${test}}}${source.slice(next.end, last.start)}{{/${block}}}`,
  };
}

interface Tag {
  readonly start: number;
  readonly end: number;
  readonly inside: string;
}

const TAG = /\{\{~?\s*([^}]*?)\s*~?\}\}/g;

/** The opening tag of a block, its `{{else}}` and its end; not the tags of blocks inside. */
function outerTags(source: string): Tag[] {
  const found: Tag[] = [];
  let depth = 0;
  for (const { 0: whole, 1: inside = '', index } of source.matchAll(TAG)) {
    const tag = { start: index, end: index + whole.length, inside };
    if (/^(#|\^\S)/.test(inside)) {
      depth += 1;
      if (depth === 1) found.push(tag);
    } else if (inside.startsWith('/')) {
      depth -= 1;
      if (depth === 0) found.push(tag);
    } else if (depth === 1 && (inside === '^' || /^else(\s|$)/.test(inside))) found.push(tag);
  }
  return found;
}

function templateEnd(text: string, at: number): number {
  const close = text.indexOf('}}', at);
  if (close === -1) throw invalid(at, '{{ is not closed');
  let end = close + 2;
  while (text[end] === '}') end += 1;
  if (!/^\{\{~?\s*[#^]/.test(text.slice(at, at + 40))) return end;
  let depth = 0;
  BLOCK_TAG.lastIndex = at;
  for (let tag = BLOCK_TAG.exec(text); tag !== null; tag = BLOCK_TAG.exec(text)) {
    const [whole, sign, rest = ''] = tag;
    if (sign === '/') depth -= 1;
    else if (sign === '#' || rest.replace('~', '').trim() !== '') depth += 1;
    const tagEnd = tag.index + whole.length;
    if (depth === 0) return text.startsWith('}}', tagEnd) ? tagEnd + 2 : text.length;
  }
  throw invalid(at, 'the block is not closed');
}

function quotedOperand(quoted: string, at: number): Operand {
  const inside = quoted.slice(1, -1);
  if (inside.includes('{{')) {
    return { kind: 'text', template: parsed(inside, at), text: inside, offset: at + 1 };
  }
  const value = inside.replace(/\\(.)/gs, (_whole, letter: string) => ESCAPES.get(letter) ?? letter);
  return { kind: 'literal', value };
}

function parsed(source: string, at: number) {
  try {
    return templateOf(source);
  } catch (thrown) {
    if (thrown instanceof TemplateError) throw invalid(at, thrown.message);
    throw thrown;
  }
}
