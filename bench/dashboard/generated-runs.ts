import type { Run } from '../../clients/typescript/gen/operations.ts';
import type { ApiAnswers } from './built-pages.ts';

const STATUSES = ['completed', 'failed', 'running'] as const;
const NEWEST_AT = Date.UTC(2026, 0, 5, 9, 30);

/** The run at an index of the list, newest first. */
export function generatedRun(at: number): Run {
  const status = STATUSES[at % 3] ?? 'completed';
  const startedAt = NEWEST_AT - at * 1_000;
  const isOver = status !== 'running';
  return {
    id: `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`,
    kind: at % 3 === 0 ? 'workflow' : 'execution',
    status,
    outcome: null,
    name: `agent-${at % 50}`,
    version: '1.0.0',
    definition_id: '00000000-0000-4000-8000-000000000000',
    labels: {},
    started_at: new Date(startedAt).toISOString(),
    ended_at: isOver ? new Date(startedAt + 900).toISOString() : null,
    duration_ms: isOver ? 900 : null,
    tags: [],
    node: null,
    wait_reason: null,
    state_name: null,
    error_code: status === 'failed' ? 'validation_failed' : null,
    reason: null,
    trace_id: null,
    forked_from: null,
    parent: null,
  };
}

/** Answers `GET /v1/runs` page by page, as a node does. */
export const runsApi =
  (count: number): ApiAnswers =>
  ({ pathname, searchParams }) => {
    if (pathname !== '/v1/runs') return undefined;
    const from = Number(searchParams.get('next') ?? 0);
    const end = Math.min(count, from + Number(searchParams.get('limit') ?? 50));
    const runs = Array.from({ length: end - from }, (_run, at) => generatedRun(from + at));
    return JSON.stringify({ runs, ...(end < count && { next: String(end) }) });
  };
