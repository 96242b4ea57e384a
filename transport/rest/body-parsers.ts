import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

const malformed = (message: string, cause?: unknown): SvcError =>
  new SvcError('invalid_argument', message, { field: 'body', cause });

/** Content types a manifest may come as. */
const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'];

/** JSON for every route; other types are 415. */
export function parseJsonBodies(app: FastifyInstance, maxDepth: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    parseJson(textOf(request, body), maxDepth),
  );
}

/** YAML as text, for the routes of `app` only: what it means is the manifest parser's business. */
export function acceptYamlBodies(app: FastifyInstance): void {
  app.addContentTypeParser(YAML_TYPES, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    textOf(request, body),
  );
}

function textOf(request: FastifyRequest, body: Buffer): string {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new SvcError('unsupported_media_type', 'bodies are taken without Content-Encoding');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new SvcError('unsupported_media_type', 'bodies are taken as UTF-8 only');
  }
  try {
    return utf8.decode(body);
  } catch (error) {
    throw malformed('the body is not valid UTF-8', error);
  }
}

/** An empty body is none. Names that reach into prototypes are refused at any depth. */
function parseJson(text: string, maxDepth: number): Json | undefined {
  if (text.trim() === '') return undefined;
  if (depthExceeds(text, maxDepth)) throw malformed(`the body is nested deeper than ${maxDepth} levels`);
  try {
    // The name may be written with escapes; a reviver is slow, so it only runs where the name could be.
    return /__proto__|\\u00/i.test(text) ? JSON.parse(text, refusePrototypeNames) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw malformed('the body is not valid JSON', error);
  }
}

function refusePrototypeNames(name: string, value: Json): Json {
  if (name === '__proto__') throw malformed('the name "__proto__" is not allowed in a body');
  return value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isOpening = (char: number): boolean => char === 0x7b || char === 0x5b;
const isClosing = (char: number): boolean => char === 0x7d || char === 0x5d;

/** Counts brackets outside of strings, so that nothing deep is ever built or walked. */
function depthExceeds(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === BACKSLASH) i += 1;
      else if (char === QUOTE) inString = false;
    } else if (char === QUOTE) inString = true;
    else if (isOpening(char)) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (isClosing(char)) depth -= 1;
  }
  return false;
}
