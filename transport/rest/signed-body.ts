import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { BodySignature } from '../../security/api.ts';
import { parseJsonBytes } from '../json-thread.ts';

/** Bodies up to this size do not count against `webhooksAtOnce`. */
const SMALL_BYTES = 4 * 1024;

export interface SignedBodyLimits {
  /** Largest body, bytes. */
  readonly webhookBytes: number;
  /** Most bodies over 4 KiB that are read at once. */
  readonly webhooksAtOnce: number;
  /** Longest time for a body to arrive, ms. */
  readonly webhookTimeoutMs: number;
}

/**
 * Reads signed bodies: hashes them while they arrive and returns a body only when its signature is valid. The sender is
 * unknown until then, so only a few large bodies are held at once, and only for a short time.
 */
export class SignedBodies {
  readonly #limits: SignedBodyLimits;
  #large = 0;

  constructor(limits: SignedBodyLimits) {
    this.#limits = limits;
  }

  /** Reads one body. Throws `payload_too_large`, `overloaded`, `request_timed_out`, `invalid_signature`. */
  async read(request: IncomingMessage, signature: BodySignature): Promise<Buffer> {
    const { webhookTimeoutMs } = this.#limits;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new SvcError('request_timed_out')), webhookTimeoutMs);
    using hold = new DisposableStack();
    hold.defer(() => clearTimeout(timer));
    const body = this.#collect(request, signature, hold);
    return await Promise.race([body, late.promise]);
  }

  async #collect(request: IncomingMessage, signature: BodySignature, hold: DisposableStack): Promise<Buffer> {
    const { webhookBytes } = this.#limits;
    const chunks: Buffer[] = [];
    let bytes = this.#announced(request);
    let isLarge = false;
    const count = (size: number): void => {
      if (size > webhookBytes) {
        throw new SvcError('payload_too_large', `the body is larger than ${webhookBytes} bytes`, { field: 'body' });
      }
      if (size <= SMALL_BYTES || isLarge) return;
      this.#take(hold);
      isLarge = true;
    };
    count(bytes);
    bytes = 0;
    // Keeps the connection of a refused sender open, so that it can read the error.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (hold.disposed || !Buffer.isBuffer(chunk)) break;
      bytes += chunk.length;
      count(bytes);
      signature.update(chunk);
      chunks.push(chunk);
    }
    signature.verify();
    return Buffer.concat(chunks);
  }

  #announced(request: IncomingMessage): number {
    const length = Number(request.headers['content-length'] ?? 0);
    return Number.isSafeInteger(length) ? length : 0;
  }

  #take(hold: DisposableStack): void {
    if (this.#large >= this.#limits.webhooksAtOnce)
      throw new SvcError('overloaded', undefined, { retryAfterMs: 1_000 });
    this.#large += 1;
    hold.defer(() => {
      this.#large -= 1;
    });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Content types of YAML manifests. */
const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'];

/** Parses JSON bodies on all routes; other content types get 415. */
export function parseJsonBodies(app: FastifyInstance, maxDepth: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request);
    return jsonOf(body, maxDepth);
  });
}

/** Accepts YAML bodies as text on the routes of `app`; the manifest parser parses them. */
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

const refused = (field: string, text: string): SvcError =>
  new SvcError('unsupported_media_type', `${field}: ${text}`, { field });

/** Refuses a body that its headers call compressed: it would be read as if it were not. */
export function refuseCompressed({ headers: { 'content-encoding': encoding } }: FastifyRequest): void {
  if (encoding !== undefined && !/^identity$/i.test(encoding))
    throw refused('content-encoding', 'expected identity, or no such header: send the body as it is');
}

/** Refuses a text that is compressed or in another charset than UTF-8. */
export function refuseEncoded(request: FastifyRequest): void {
  refuseCompressed(request);
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw refused('content-type', 'expected the charset UTF-8');
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** A longer body of only white space is not accepted as an empty one. */
const MOST_SPACE = 4 * 1024;

/** Parses a body; undefined for an empty one. */
export async function jsonOf(body: Buffer, maxDepth: number): Promise<Json | undefined> {
  if (body.length <= MOST_SPACE && body.every(isSpace)) return undefined;
  return parseJsonBytes(body, { field: 'body', what: 'the body', maxDepth });
}
