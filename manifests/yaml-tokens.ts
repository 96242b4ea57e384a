import { Composer, type CST, type Document, Lexer, LineCounter, type ParsedNode, Parser } from 'yaml';

export interface YamlLimits {
  /** UTF-8 bytes of the text. */
  readonly maxBytes: number;
  /** Nested lists and maps. */
  readonly maxDepth: number;
  /** Lexemes: bounds the parser's time and memory before anything is built. */
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

export type YamlDocument = Document.Parsed<ParsedNode>;

export interface Fault {
  readonly offset: number;
  readonly path?: readonly PropertyKey[];
  readonly message: string;
}

export interface Composed {
  readonly lines: LineCounter;
  readonly document: YamlDocument | null;
  readonly faults: readonly Fault[];
}

/** Text to one YAML 1.2 document. Stops at the first limit, before the parser builds what is beyond it. */
export function composeYaml(text: string, limits: YamlLimits): Composed {
  const lines = new LineCounter();
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

export const tooDeep = (limits: YamlLimits): string => `expected at most ${limits.maxDepth} nested lists and maps`;

function documentFaults(document: YamlDocument): Fault[] {
  const faults: Fault[] = [...document.errors, ...document.warnings]
    .slice(0, 20)
    .map((error) => ({ offset: error.pos[0], message: `not valid YAML: ${error.message}` }));
  if (document.directives.yaml.version !== '1.2') faults.push({ offset: 0, message: 'expected YAML 1.2' });
  return faults;
}
