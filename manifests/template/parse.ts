import { FUNCTIONS } from './functions.ts';
import { TemplateSource } from './source.ts';
import {
  type Base,
  type BlockKind,
  LOOP_NAMES,
  type Template,
  TemplateError,
  type TemplateNode,
  type Term,
} from './tree.ts';

const BLOCKS = new Map<string, BlockKind>([
  ['if', 'if'],
  ['unless', 'unless'],
  ['each', 'each'],
  ['with', 'with'],
]);

/** Parses a Handlebars text into a checked tree. Throws TemplateError `invalid` with the line. */
function parseTemplate(text: string): Template {
  const source = new TemplateSource(text);
  return { nodes: new Builder(source).nodes(source.parse(), []) };
}

/** Converts the parser's tree to ours; everything that templates may not contain is refused. */
class Builder {
  readonly #source: TemplateSource;

  constructor(source: TemplateSource) {
    this.#source = source;
  }

  nodes(program: hbs.AST.Program, params: readonly string[]): TemplateNode[] {
    return program.body.flatMap((statement) => this.#node(statement, params));
  }

  #node(statement: hbs.AST.Statement, params: readonly string[]): TemplateNode[] {
    if (isContent(statement)) return statement.value === '' ? [] : [{ kind: 'text', text: statement.value }];
    if (statement.type === 'CommentStatement') return [];
    if (isMustache(statement)) return [{ kind: 'value', term: this.#head(statement, params) }];
    if (isBlock(statement)) return [this.#block(statement, params)];
    const name = statement.type.startsWith('Partial') ? 'partials' : 'decorators';
    throw fault(statement, `${name} are not available`);
  }

  #block(block: hbs.AST.BlockStatement, outer: readonly string[]): TemplateNode {
    const kind = block.params.length === 0 ? 'section' : BLOCKS.get(plainName(block.path) ?? '');
    if (kind === undefined) throw fault(block, `there is no block ${shorten(this.#source.written(block.path.loc))}`);
    const [first] = block.params;
    if (first !== undefined && block.params.length > 1) throw fault(block, `#${kind} takes one argument`);
    if (kind === 'section' && BLOCKS.has(plainName(block.path) ?? '')) {
      throw fault(block, `#${String(plainName(block.path))} needs an argument`);
    }
    const main: hbs.AST.Program | undefined = block.program;
    const inverse: hbs.AST.Program | undefined = block.inverse;
    const params = main?.blockParams ?? [];
    if (params.length > 0 && kind !== 'each' && kind !== 'with')
      throw fault(block, `#${kind} takes no block parameters`);
    return {
      kind,
      subject: first === undefined ? this.#head(block, outer) : this.#term(first, outer),
      includeZero: this.#includeZero(block, kind),
      params,
      body: main === undefined ? [] : this.nodes(main, [...params, ...outer]),
      otherwise: inverse === undefined ? null : this.nodes(inverse, outer),
    };
  }

  #includeZero(block: hbs.AST.BlockStatement, kind: BlockKind): boolean {
    // The parser omits the hash when there is none.
    const hash: hbs.AST.Hash | undefined = block.hash;
    let includeZero = false;
    for (const pair of hash?.pairs ?? []) {
      const known = pair.key === 'includeZero' && (kind === 'if' || kind === 'unless') && isBoolean(pair.value);
      if (!known) throw fault(block, `#${kind} has no option ${shorten(pair.key)}`);
      if (isBoolean(pair.value)) includeZero = pair.value.value;
    }
    return includeZero;
  }

  /** `{{path}}`, `{{function args}}`, and the path of `{{#path}}`. */
  #head(node: hbs.AST.MustacheStatement | hbs.AST.BlockStatement, params: readonly string[]): Term {
    if (isBlock(node)) this.#includeZero(node, 'section');
    const written = this.#source.written(node.path.loc);
    const name = plainName(node.path);
    if (node.params.length === 0 && node.type === 'MustacheStatement') noHash(node, node.hash);
    const isFunction = name !== null && FUNCTIONS.has(name) && !params.includes(name) && !written.startsWith('[');
    if (isFunction || node.params.length > 0) return this.#call(node, params);
    if (isPath(node.path)) return this.#path(node.path, params);
    // The parser reads `{{12}}` and `{{true}}` as literals; as the head of an expression they are names.
    return {
      kind: 'path',
      base: { kind: 'context', depth: 0 },
      parts: [unquoted(written)],
      written,
      offset: this.#source.offset(node.path.loc.start),
    };
  }

  #call(
    node: hbs.AST.MustacheStatement | hbs.AST.BlockStatement | hbs.AST.SubExpression,
    params: readonly string[],
  ): Term {
    const name = plainName(node.path);
    const known = name === null ? undefined : FUNCTIONS.get(name);
    if (name === null || known === undefined) {
      throw fault(node, `there is no helper ${shorten(this.#source.written(node.path.loc))}`);
    }
    noHash(node, node.hash);
    if (node.params.length !== known.parameters.length) {
      throw fault(node, `${name} takes ${known.parameters.join(' and ')}, got ${node.params.length} arguments`);
    }
    const args = node.params.map((param) => this.#term(param, params));
    return { kind: 'call', name, args, written: this.#source.written(node.loc) };
  }

  #term(expression: hbs.AST.Expression, params: readonly string[]): Term {
    const written = this.#source.written(expression.loc);
    if (isPath(expression)) return this.#path(expression, params);
    if (isCall(expression)) return this.#call(expression, params);
    if (isString(expression) || isNumber(expression) || isBoolean(expression)) {
      return { kind: 'literal', value: expression.value, written };
    }
    if (expression.type === 'NullLiteral' || expression.type === 'UndefinedLiteral') {
      return { kind: 'literal', value: null, written };
    }
    throw fault(expression, `${shorten(written)} is not a value`);
  }

  #path(path: hbs.AST.PathExpression, params: readonly string[]): Term {
    const written = this.#source.written(path.loc);
    const offset = this.#source.offset(path.loc.start);
    const [first = '', ...rest] = path.parts;
    const kept = { kind: 'path', written, offset } as const;
    if (path.data) return { ...kept, base: loopBase(path, first), parts: rest };
    const isScoped = path.depth > 0 || /^(?:\.|this(?:[./\s]|$))/.test(written);
    if (!isScoped && params.includes(first)) return { ...kept, base: { kind: 'param', name: first }, parts: rest };
    return { ...kept, base: { kind: 'context', depth: path.depth }, parts: path.parts };
  }
}

function loopBase(path: hbs.AST.PathExpression, name: string): Base {
  if (name === 'root') return { kind: 'root' };
  const known = LOOP_NAMES.find((each) => each === name);
  if (known === undefined) throw fault(path, `there is no @${shorten(name)}`);
  return { kind: 'loop', name: known, depth: path.depth };
}

function noHash(node: hbs.AST.Node, hash: hbs.AST.Hash | undefined): void {
  if ((hash?.pairs.length ?? 0) > 0) throw fault(node, 'helpers take no named arguments');
}

/** The one segment of a simple path; null for paths with more, `this`, `../` and `@`. */
function plainName(path: hbs.AST.Node): string | null {
  if (!isPath(path) || path.data || path.depth > 0 || path.parts.length !== 1) return null;
  return path.original === path.parts[0] ? path.original : null;
}

function fault(node: hbs.AST.Node, message: string): TemplateError {
  return new TemplateError('invalid', `line ${node.loc.start.line}: ${message}`);
}

const unquoted = (written: string) => written.replace(/^(["'])(.*)\1$/s, '$2');

const shorten = (written: string) => written.slice(0, 80);

const isContent = (node: hbs.AST.Node): node is hbs.AST.ContentStatement => node.type === 'ContentStatement';

const isMustache = (node: hbs.AST.Node): node is hbs.AST.MustacheStatement => node.type === 'MustacheStatement';

const isBlock = (node: hbs.AST.Node): node is hbs.AST.BlockStatement => node.type === 'BlockStatement';

const isPath = (node: hbs.AST.Node): node is hbs.AST.PathExpression => node.type === 'PathExpression';

const isCall = (node: hbs.AST.Node): node is hbs.AST.SubExpression => node.type === 'SubExpression';

const isString = (node: hbs.AST.Node): node is hbs.AST.StringLiteral => node.type === 'StringLiteral';

const isNumber = (node: hbs.AST.Node): node is hbs.AST.NumberLiteral => node.type === 'NumberLiteral';

const isBoolean = (node: hbs.AST.Node): node is hbs.AST.BooleanLiteral => node.type === 'BooleanLiteral';

/** Caches the most recently used results of `make` by text, bounded by number and by characters of text. */
export class RecentByText<T> {
  readonly #make: (text: string) => T;
  readonly #maxEntries: number;
  readonly #maxChars: number;
  readonly #entries = new Map<string, T>();
  #chars = 0;

  constructor(make: (text: string) => T, maxEntries: number, maxChars: number) {
    this.#make = make;
    this.#maxEntries = maxEntries;
    this.#maxChars = maxChars;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(text: string): T {
    const kept = this.#entries.get(text);
    if (kept !== undefined) {
      this.#entries.delete(text);
      this.#entries.set(text, kept);
      return kept;
    }
    const made = this.#make(text);
    this.#entries.set(text, made);
    this.#chars += text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#chars <= this.#maxChars) break;
      this.#entries.delete(oldest);
      this.#chars -= oldest.length;
    }
    return made;
  }
}

const recent = new RecentByText(parseTemplate, 2_000, 4 * 1_024 * 1_024);

/** The tree of a template, cached. Throws TemplateError `invalid`. */
export function templateOf(text: string): Template {
  return recent.get(text);
}
