import type { IncomingMessage } from 'node:http';
import { SvcError } from '../../runtime/errors.ts';
import { bearerToken } from '../../security/api.ts';

const WITH_TOKEN = /^\/x\/([^/?#]*)(\/.*)?$/s;

/** By request: the address holds the token, so it leaves the address before anything can show or log it. */
const tokens = new WeakMap<IncomingMessage, string>();

/** `/x/TOKEN/v1/…` as `/v1/…` (design S5). */
export function withoutToken(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const match = WITH_TOKEN.exec(url);
  if (match === null) return url;
  tokens.set(request, match[1] ?? '');
  const rest = match[2] ?? '/';
  // Fastify remembers the address as it came.
  Object.assign(request, { originalUrl: rest });
  return rest;
}

/** The token of the address, else of `Authorization: Bearer`. Throws `unauthenticated` when both name different ones. */
export function tokenOf(request: IncomingMessage): string | undefined {
  const inPath = tokens.get(request);
  const inHeader = bearerToken(request.headers.authorization);
  if (inPath === undefined) return inHeader;
  if (inHeader !== undefined && inHeader !== inPath) throw new SvcError('unauthenticated', 'Two different tokens.');
  return inPath;
}
