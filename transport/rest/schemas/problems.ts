import { z } from 'zod';
import { PLAIN_STATUSES, type ProblemStyle } from '../problem.ts';

const ErrorDetail = z.object({
  path: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  message: z.string(),
  rule: z.string().optional().describe('Of a workflow manifest: stable id of the rule.'),
  severity: z.enum(['error', 'warning']).optional(),
  cure: z.string().optional().describe('What to write instead.'),
});

const Coded = z.object({
  error: z.string().describe('Code of the error table.'),
  message: z.string(),
  reason: z.string().optional().describe('The precise word where many share a code: why a call of a tool is denied.'),
  details: z.array(ErrorDetail).optional(),
});

const Plain = z.object({ error: z.string().describe('What is wrong.'), details: z.array(ErrorDetail).optional() });

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'A valid bearer token is needed.',
  403: 'The caller may not do this.',
  404: 'No such thing in this tenant.',
  406: 'None of the accepted content types can be produced.',
  408: 'The request did not arrive in time.',
  409: 'It exists already, there are as many as there may be, or its state does not allow this.',
  413: 'The body is larger than the node takes.',
  415: 'The content type is not understood here.',
  422: 'What was sent breaks a rule; details say where.',
  429: 'Too many calls; see Retry-After.',
  431: 'The headers are larger than the node takes.',
  500: 'An internal error occurred.',
  503: 'A part the call needs is down; see Retry-After.',
  504: 'No answer in time; the work may have been done.',
  507: 'There is no room for it.',
};

/** Every answer of a route whose caller is known may be one of these; 408 and 431 come before a request exists. */
const ALWAYS = [400, 408, 431, 500];
const WITH_IDENTITY = [401, 403, 429, 503, 504];
const WITH_BODY = [413, 415];

export interface ProblemStatuses {
  readonly style: ProblemStyle;
  readonly isPublic?: boolean;
  readonly hasBody?: boolean;
  /** Statuses only this route has. */
  readonly also?: readonly number[];
}

/** The `response` entries of a route's errors, from the bodies problem.ts really makes. */
export function problemSchemas({ style, isPublic = false, hasBody = false, also = [] }: ProblemStatuses) {
  const statuses = [...ALWAYS, ...(isPublic ? [] : WITH_IDENTITY), ...(hasBody ? WITH_BODY : []), ...also];
  const entries = statuses.map((status) => {
    const schema = style === 'plain' && PLAIN_STATUSES.includes(status) ? Plain : Coded;
    const described = { description: TITLES[status] ?? 'Error', content: { 'application/json': { schema } } };
    return [status, described] as const;
  });
  return Object.fromEntries(entries);
}
