import type { FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { didYouMean } from '../../manifests/nearest.ts';

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
