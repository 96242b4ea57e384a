import { z } from 'zod';
import { PLAIN_STATUSES, type ProblemStyle } from '../problem.ts';

const ErrorDetail = z
  .object({
    path: z.string().optional(),
    line: z.number().int().optional(),
    column: z.number().int().optional(),
    message: z.string(),
    rule: z.string().optional().describe('Of a workflow manifest: stable id of the rule.'),
    severity: z.enum(['error', 'warning']).optional(),
    cure: z.string().optional().describe('Suggested correction.'),
  })
  .meta({ id: 'ErrorDetail' });

const Coded = z
  .object({
    error: z.string().describe('Code of the error table.'),
    message: z.string(),
    reason: z.string().optional().describe('Reason where several errors share a code: why a tool call was denied.'),
    details: z.array(ErrorDetail).optional(),
  })
  .meta({ id: 'Problem' });

const Plain = z
  .object({
    error: z.string().describe('What is wrong.'),
    code: z.string().optional().describe('Code of the error table, of a start that failed.'),
    details: z.array(ErrorDetail).optional(),
  })
  .meta({ id: 'PlainProblem' });

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'A valid bearer token is needed.',
  403: 'The caller lacks the permission for this action.',
  404: 'Nothing with this name or id exists in this tenant.',
  406: 'This route produces none of the accepted content types.',
  408: 'The request did not arrive completely in time.',
  409: 'It already exists, a quota is reached, or its state does not allow this.',
  413: 'The body is larger than this node accepts.',
  415: 'This route does not support the content type.',
  422: 'The content breaks a rule; the details name the place.',
  429: 'A rate limit is exceeded; repeat the call after Retry-After.',
  431: 'The headers are larger than this node accepts.',
  500: 'An internal error occurred.',
  503: 'A service that this call needs is unavailable, or the node is overloaded; repeat the call after Retry-After.',
  504: 'No answer arrived in time; the work may have been done.',
  507: 'The volume is full.',
};

/** Statuses that every route with a caller may answer; 408 and 431 come before a request exists. */
const ALWAYS = [400, 408, 431, 500];
const WITH_IDENTITY = [401, 403, 429, 503, 504];
const WITH_BODY = [413, 415];

export interface ProblemStatuses {
  readonly style: ProblemStyle;
  readonly isPublic?: boolean;
  readonly hasBody?: boolean;
  /** Statuses that only this route answers. */
  readonly also?: readonly number[];
}

/** The `response` schemas of a route's errors, for the bodies that problem.ts writes. */
export function problemSchemas({ style, isPublic = false, hasBody = false, also = [] }: ProblemStatuses) {
  const statuses = [...ALWAYS, ...(isPublic ? [] : WITH_IDENTITY), ...(hasBody ? WITH_BODY : []), ...also];
  const entries = statuses.map((status) => {
    const schema = style === 'plain' && PLAIN_STATUSES.includes(status) ? Plain : Coded;
    const described = { description: TITLES[status] ?? 'Error', content: { 'application/json': { schema } } };
    return [status, described] as const;
  });
  return Object.fromEntries(entries);
}
