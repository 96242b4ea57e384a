import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';

/** Senders of webhooks add parameters of their own to the address that they were given. */
const FREE = /^\/v1\/webhooks\//;

const MOST_NAME_CHARS = 100;

/** Names of the query parameters of a route; null: the route accepts every name. */
function namesOf({ url = '', schema }: FastifyRequest['routeOptions']): ReadonlySet<string> | null {
  if (!url.startsWith('/v1/') || FREE.test(url)) return null;
  const query: unknown = schema?.querystring;
  if (query === undefined) return new Set();
  if (!(query instanceof z.ZodObject)) throw new Error(`${url}: the schema of a query is an object`);
  return new Set(Object.keys(query.shape));
}

/**
 * Refuses a query parameter that the route does not have, by its name: a misspelt filter would otherwise answer with
 * everything. Runs after authentication, before the values are checked.
 */
export function refuseUnknownQuery(app: FastifyInstance): void {
  const known = new Map<string, ReadonlySet<string> | null>();
  app.addHook('preValidation', async ({ query, routeOptions }) => {
    if (typeof query !== 'object' || query === null) return;
    const given = Object.keys(query);
    if (given.length === 0) return;
    const route = `${String(routeOptions.method)} ${routeOptions.url}`;
    const names = known.get(route) ?? namesOf(routeOptions);
    known.set(route, names);
    const unknown = names === null ? undefined : given.find((name) => !names.has(name));
    if (names === null || unknown === undefined) return;
    const path = `querystring.${unknown.slice(0, MOST_NAME_CHARS)}`;
    const message = `unknown query parameter; expected ${expected([...names])}`;
    throw new SvcError('invalid_argument', `${path}: ${message}`, { details: [{ path, message }] });
  });
}

function expected(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  return names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`;
}
