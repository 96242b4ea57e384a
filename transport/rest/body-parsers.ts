import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { parseJson } from '../json-text.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Content types a manifest may come as. */
const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'];

/** JSON for every route; other types are 415. */
export function parseJsonBodies(app: FastifyInstance, maxDepth: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    jsonOf(textOf(request, body), maxDepth),
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
    throw new SvcError('invalid_argument', 'the body is not valid UTF-8', { field: 'body', cause: error });
  }
}

/** An empty body is none. */
const jsonOf = (text: string, maxDepth: number): Json | undefined =>
  text.trim() === '' ? undefined : parseJson(text, { field: 'body', what: 'the body', maxDepth });
