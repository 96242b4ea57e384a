import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { didYouMean } from '../../manifests/nearest.ts';
import { SvcError } from '../../runtime/errors.ts';

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'an ISO 8601 time such as 2026-01-31T12:00:00Z',
  uuid: 'a UUID',
};

/** What was expected, where the schema of a route has no text of its own. */
function expected(issue: z.core.$ZodRawIssue): string {
  const text = textOf(issue);
  return issue.input === undefined && text.startsWith('expected') ? `required: ${text}` : text;
}

function textOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'unrecognized_keys') return unknownMembers(issue);
  if (issue.code === 'invalid_key')
    return `the name of a member: ${issue.issues[0]?.message ?? 'expected another one'}`;
  if (issue.code === 'invalid_type' && (issue.expected === 'object' || issue.expected === 'record'))
    return 'expected an object';
  if (issue.code !== 'invalid_format') return expectation(issue);
  const { format, pattern } = issue;
  if (format === 'regex' && pattern !== undefined) return `expected text of the form ${pattern}`;
  return `expected ${FORMATS[format] ?? format}`;
}

const MOST_NAME_CHARS = 100;

function unknownMembers({ keys, inst }: Extract<z.core.$ZodRawIssue, { code: 'unrecognized_keys' }>): string {
  const known = inst instanceof z.core.$ZodObject ? Object.keys(inst._zod.def.shape) : [];
  const [first = '', ...others] = keys;
  const names = [first, ...others].map((key) => JSON.stringify(key.slice(0, MOST_NAME_CHARS))).join(', ');
  return others.length === 0 ? `unknown member ${names}${didYouMean(first, known)}` : `unknown members ${names}`;
}

/** Checks parameters, query, headers and body of a call against the schema of its route. */
export const checkInput: FastifySchemaCompiler<z.core.$ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const result = z.safeParse(schema, data, { error: expected });
    if (result.success) return { value: result.data };
    return {
      error: result.error.issues.map(({ code, path, message }) => ({
        keyword: code,
        instancePath: `/${path.join('/')}`,
        schemaPath: `#/${path.join('/')}/${code}`,
        params: {},
        message,
      })),
    };
  };

/** Senders of webhooks add parameters of their own to the address that they were given. */
const FREE = /^\/v1\/webhooks\//;

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
  app.addHook('preValidation', async ({ query, routeOptions, url }) => {
    if (typeof query !== 'object' || query === null) return;
    const given = Object.keys(query);
    if (given.length === 0) return;
    refuseUndecodable(url.slice(url.indexOf('?') + 1));
    const route = `${String(routeOptions.method)} ${routeOptions.url}`;
    const names = known.get(route) ?? namesOf(routeOptions);
    known.set(route, names);
    const unknown = names === null ? undefined : given.find((name) => !names.has(name));
    if (names === null || unknown === undefined) return;
    const path = `querystring.${unknown.slice(0, MOST_NAME_CHARS)}`;
    const message = `unknown query parameter; expected ${knownNames([...names])}`;
    throw new SvcError('invalid_argument', `${path}: ${message}`, { details: [{ path, message }] });
  });
}

/** The framework leaves a percent-encoding that it cannot decode as it is, so that a filter would compare with other text. */
function refuseUndecodable(query: string): void {
  if (!query.includes('%')) return;
  try {
    decodeURIComponent(query);
  } catch (cause) {
    throw new SvcError('invalid_argument', 'querystring: expected percent-encodings of valid UTF-8', { cause });
  }
}

function knownNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  return names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`;
}
