import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { parseJsonBytes } from '../json-thread.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Content types a manifest may come as. */
const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'];

/** JSON for every route; other types are 415. */
export function parseJsonBodies(app: FastifyInstance, maxDepth: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request);
    return jsonOf(body, maxDepth);
  });
}

/** YAML as text, for the routes of `app` only: what it means is the manifest parser's business. */
export function acceptYamlBodies(app: FastifyInstance): void {
  app.addContentTypeParser(YAML_TYPES, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request);
    try {
      return utf8.decode(body);
    } catch (error) {
      throw new SvcError('invalid_argument', 'the body is not valid UTF-8', { field: 'body', cause: error });
    }
  });
}

export function refuseEncoded(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new SvcError('unsupported_media_type', 'bodies are taken without Content-Encoding');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new SvcError('unsupported_media_type', 'bodies are taken as UTF-8 only');
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** An empty body is none. */
export async function jsonOf(body: Buffer, maxDepth: number): Promise<Json | undefined> {
  if (body.every(isSpace)) return undefined;
  return parseJsonBytes(body, { field: 'body', what: 'the body', maxDepth });
}
