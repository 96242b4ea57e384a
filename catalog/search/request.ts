import { SvcError } from '../../runtime/errors.ts';
import type { SearchRequest } from '../api.ts';
import type { Filter } from './entry.ts';

const MAX_QUERY_CHARS = 4_096;
const MAX_LABELS = 64;
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 10;
const DEFAULT_MIN_SCORE = 0.3;
const STATUSES = ['deployed', 'paused', 'archived'];

export interface CheckedRequest extends Filter {
  readonly query: string;
  readonly limit: number;
  readonly minScore: number;
}

/** Defaults filled in (spec 3, svc.agent.search). Throws `invalid_argument` naming the argument of the tool. */
export function checked(request: SearchRequest): CheckedRequest {
  const { query, limit = DEFAULT_LIMIT, minScore = DEFAULT_MIN_SCORE, labels = {}, status } = request;
  if (query.trim() === '' || query.length > MAX_QUERY_CHARS)
    throw refused('query', `expected 1 to ${MAX_QUERY_CHARS} characters`);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) throw refused('limit', `expected 1 to ${MAX_LIMIT}`);
  if (!(minScore >= 0 && minScore <= 1)) throw refused('min_score', 'expected 0 to 1');
  if (Object.keys(labels).length > MAX_LABELS) throw refused('labels', `expected at most ${MAX_LABELS} pairs`);
  if (status !== undefined && !STATUSES.includes(status)) throw refused('status', `expected ${STATUSES.join(', ')}`);
  return {
    ...{ query, limit, minScore, labels },
    statuses: status === undefined ? ['deployed', 'paused'] : [status],
    includePlatformTemplates: request.includePlatformTemplates ?? true,
  };
}

const refused = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: ${expected}`, { field });
