import type { Alias, CST, Document, LineCounter, Node, ParsedNode } from 'yaml';
import { yaml } from './late-libraries.ts';
import { type Json, MAX_PROBLEMS, type Position, type Problem, pathText, type YamlText } from './schema-problems.ts';

type ParsedYaml =
  | { readonly ok: true; readonly yaml: YamlText }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * One YAML 1.2 document as plain JSON, or all reasons why it is not one. Never throws: size, depth, number of elements, alias
 * expansion and duplicate keys are all checked. The caller must find broken UTF-8 before it makes a string.
 */
export function parseYaml(text: string, limits: YamlLimits = YAML_LIMITS): ParsedYaml {
  const composed = composeYaml(text, limits);
  if (composed.document === null) return { ok: false, problems: problemsOf(composed, composed.faults) };
  const plain = plainValue(composed.document, limits);
  if (plain.faults.length > 0) return { ok: false, problems: problemsOf(composed, plain.faults) };
  const root: unknown = composed.document.contents;
  return {
    ok: true,
    yaml: {
      value: plain.value,
      locate: (path) => position(composed, locateOffset(root, path, plain)),
    },
  };
}

function problemsOf(composed: Composed, faults: readonly Fault[]): Problem[] {
  return faults
    .slice(0, MAX_PROBLEMS)
    .map(({ offset, path = [], message }) => ({ path: pathText(path), ...position(composed, offset), message }));
}

function position({ lines }: Composed, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function locateOffset(root: unknown, path: readonly PropertyKey[], { aliases }: Plain): number {
  const { isAlias, isMap, isSeq } = yaml();
  let node = root;
  let offset = offsetOf(root);
  for (const part of path) {
    if (isAlias(node)) node = aliases.get(node);
    if (isMap(node)) {
      const pair = node.items.find((item) => keyText(item.key) === String(part));
      if (pair === undefined) return offset;
      offset = offsetOf(pair.key);
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number' && part < node.items.length) {
      node = node.items[part];
      offset = offsetOf(node);
    } else return offset;
  }
  return offset;
}

const PLAIN_TAGS = new Set(['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((t) => `tag:yaml.org,2002:${t}`));

/** Result of the walk: the plain value, and the values of aliases (needed to find a line again). */
interface Plain {
  readonly value: Json;
  readonly aliases: ReadonlyMap<Alias, Node>;
  readonly faults: readonly Fault[];
}

/**
 * Document nodes to plain JSON. Our own walk instead of `toJS`: duplicate keys in linear time, aliases counted as they expand,
 * and only JSON as a result.
 */
function plainValue(document: YamlDocument, limits: YamlLimits): Plain {
  const walk = new Walk(limits);
  const value = walk.node(document.contents, 1);
  return { value, aliases: walk.aliases, faults: walk.faults };
}

class Walk {
  readonly aliases = new Map<Alias, Node>();
  readonly faults: Fault[] = [];
  readonly #limits: YamlLimits;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  readonly #path: PropertyKey[] = [];
  #values = 0;
  #aliasUses = 0;

  constructor(limits: YamlLimits) {
    this.#limits = limits;
  }

  node(node: unknown, depth: number): Json {
    this.#values += 1;
    if (this.#values > this.#limits.maxValues)
      return this.#fault(node, `expected at most ${this.#limits.maxValues} values, aliases expanded`);
    if (depth > this.#limits.maxDepth + 1) return this.#fault(node, tooDeep(this.#limits));
    const { isAlias, isMap, isScalar, isSeq } = yaml();
    if (isAlias(node)) return this.#alias(node, depth);
    if (isScalar(node)) return this.#scalar(node);
    if (isMap(node) || isSeq(node)) return this.#collection(node, depth);
    return node === null ? null : this.#fault(node, 'expected text, a number, a boolean, a list or a map');
  }

  #fault(node: unknown, message: string): null {
    const last = this.faults.at(-1);
    // Every later value exceeds the same limit: it is reported once.
    if (last?.message !== message) this.faults.push({ offset: offsetOf(node), path: [...this.#path], message });
    return null;
  }

  #enter(node: Node & { tag?: string; anchor?: string }): boolean {
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (node.tag === undefined || PLAIN_TAGS.has(node.tag)) return true;
    this.#fault(node, `expected no YAML tag, got ${node.tag.slice(0, 60)}`);
    return false;
  }

  #alias(alias: Alias, depth: number): Json {
    this.#aliasUses += 1;
    if (this.#aliasUses > this.#limits.maxAliases)
      return this.#fault(alias, `expected at most ${this.#limits.maxAliases} uses of aliases`);
    const target = this.aliases.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined)
      return this.#fault(alias, `no anchor named ${alias.source.slice(0, 60)} before this alias`);
    if (this.#open.has(target))
      return this.#fault(alias, `the alias ${alias.source.slice(0, 60)} stands inside itself`);
    this.aliases.set(alias, target);
    return this.node(target, depth);
  }

  #scalar(node: Node & { value: unknown }): Json {
    if (!this.#enter(node)) return null;
    const { value } = node;
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value !== 'number') return this.#fault(node, 'expected text, a number or a boolean');
    if (!Number.isFinite(value)) return this.#fault(node, 'expected a finite number');
    if (Number.isInteger(value) && !Number.isSafeInteger(value))
      return this.#fault(node, 'expected a whole number up to 9007199254740991; write larger ones in quotes');
    return value;
  }

  #collection(node: Node & { items: unknown[] }, depth: number): Json {
    if (!this.#enter(node)) return null;
    this.#open.add(node);
    const value = yaml().isMap(node)
      ? this.#map(node, depth)
      : node.items.map((item, index) => this.#at(index, item, depth + 1));
    this.#open.delete(node);
    return value;
  }

  #at(key: PropertyKey, node: unknown, depth: number): Json {
    this.#path.push(key);
    const value = this.node(node, depth);
    this.#path.pop();
    return value;
  }

  #map(node: { items: { key: unknown; value: unknown }[] }, depth: number): Json {
    const entries = new Map<string, Json>();
    for (const { key, value } of node.items) {
      const name = keyText(key);
      if (name === null) this.#fault(key, 'expected a plain text key');
      else if (name === '__proto__') this.#fault(key, 'the key __proto__ is not allowed');
      else if (entries.has(name)) this.#fault(key, `duplicate key ${JSON.stringify(name.slice(0, 100))}`);
      else entries.set(name, this.#at(name, value, depth + 1));
    }
    return Object.fromEntries(entries);
  }
}

/** A key as text; null for lists, maps, aliases and empty keys. */
function keyText(key: unknown): string | null {
  if (!yaml().isScalar(key) || key.value === null || typeof key.value === 'object') return null;
  return String(key.value);
}

function offsetOf(node: unknown): number {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return 0;
  const start: unknown = node.range[0];
  return typeof start === 'number' ? start : 0;
}

interface YamlLimits {
  /** UTF-8 bytes of the text. */
  readonly maxBytes: number;
  /** Nested lists and maps. */
  readonly maxDepth: number;
  /** Lexemes: bounds the parser's time and memory before the document is built. */
  readonly maxTokens: number;
  /** Times an alias (`*name`) may be used. */
  readonly maxAliases: number;
  /** Values after aliases are expanded. */
  readonly maxValues: number;
}

export const YAML_LIMITS: YamlLimits = {
  maxBytes: 1_048_576,
  maxDepth: 64,
  maxTokens: 100_000,
  maxAliases: 50,
  maxValues: 20_000,
};

type YamlDocument = Document.Parsed<ParsedNode>;

interface Fault {
  readonly offset: number;
  readonly path?: readonly PropertyKey[];
  readonly message: string;
}

interface Composed {
  readonly lines: LineCounter;
  readonly document: YamlDocument | null;
  readonly faults: readonly Fault[];
}

/** Text to one YAML 1.2 document. Stops at the first limit, before the parser builds more. */
function composeYaml(text: string, limits: YamlLimits): Composed {
  const { Composer, Lexer, LineCounter: Lines, Parser } = yaml();
  const lines = new Lines();
  const failed = (offset: number, message: string): Composed => ({
    lines,
    document: null,
    faults: [{ offset, message }],
  });
  if (Buffer.byteLength(text) > limits.maxBytes) return failed(0, `expected at most ${limits.maxBytes} bytes of YAML`);
  const stray = text.isWellFormed() ? text.indexOf('\0') : 0;
  if (stray >= 0) return failed(0, 'expected Unicode text without NUL characters or lone surrogates');

  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  lines.addNewLine(0);
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > limits.maxTokens) return failed(parser.offset, `expected at most ${limits.maxTokens} YAML elements`);
    for (const token of parser.next(lexeme)) tokens.push(token);
    // The document and the current scalar are on the stack too.
    if (parser.stack.length > limits.maxDepth + 2) return failed(parser.offset, tooDeep(limits));
  }
  for (const token of parser.end()) tokens.push(token);

  const documents = new Composer({ version: '1.2', uniqueKeys: false }).compose(tokens, true, text.length);
  const first = documents.next();
  if (first.done === true) return failed(0, 'expected a YAML document');
  const document = first.value;
  const faults = documentFaults(document);
  if (documents.next().done !== true) faults.push({ offset: document.range[2], message: 'expected one YAML document' });
  return { lines, document: faults.length === 0 ? document : null, faults };
}

const tooDeep = (limits: YamlLimits): string => `expected at most ${limits.maxDepth} nested lists and maps`;

function documentFaults(document: YamlDocument): Fault[] {
  const faults: Fault[] = [...document.errors, ...document.warnings]
    .slice(0, 20)
    .map((error) => ({ offset: error.pos[0], message: `not valid YAML: ${error.message}` }));
  if (document.directives.yaml.version !== '1.2') faults.push({ offset: 0, message: 'expected YAML 1.2' });
  return faults;
}
