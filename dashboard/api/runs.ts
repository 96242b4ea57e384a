import type { Run, SvcClient } from '../../clients/typescript/gen/operations.ts';
import type { Search } from '../app/search-params.ts';
import { api } from './queries.ts';

export type { Run };

export type RunKind = Run['kind'];

export type RunFilter = NonNullable<Parameters<SvcClient['runs']['list']>[0]>;

export const RUN_STATUSES = [
  'pending',
  'running',
  'waiting_for_human_input',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly Run['status'][];

export const UNFINISHED = ['pending', 'running', 'waiting_for_human_input'] as const satisfies readonly Run['status'][];

/** Reasons for which a run can wait, with their texts. */
export const WAIT_REASONS = [
  ['approval', 'a person'],
  ['effect', 'an effect'],
  ['node', 'a node'],
  ['timer', 'a timer'],
  ['child', 'a child'],
  ['judges', 'judges'],
  ['volumes', 'volumes'],
  ['turn', 'its turn'],
] as const satisfies readonly (readonly [NonNullable<Run['wait_reason']>, string])[];

/** Filters of the page of runs that take an unchanged text. */
export const TEXT_FILTERS = [
  ['name', 'Name', 'exact'],
  ['version', 'Version', '1.0.0'],
  ['label', 'Label', 'key=value'],
  ['tag', 'Tag', 'gpu'],
  ['node', 'Node', 'id'],
  ['error_code', 'Error code', 'validation_failed'],
  ['from', 'From', '2026-01-31T12:00:00Z'],
  ['to', 'Until', '2026-01-31T12:00:00Z'],
] as const;

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export const hasEnded = ({ status }: { readonly status: string }): boolean => ENDED.has(status);

const several = (text: string | undefined): readonly [string] | undefined =>
  text === undefined || text === '' ? undefined : [text];

const one = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** The conditions in the address of the page. Unknown values are skipped: they would be refused. */
export function filterOf(search: Search): RunFilter {
  const status = RUN_STATUSES.find((known) => known === search.status);
  const waits = WAIT_REASONS.find(([known]) => known === search.wait_reason)?.[0];
  return {
    kind: search.kind === 'execution' || search.kind === 'workflow' ? search.kind : undefined,
    status: search.status === 'unfinished' ? UNFINISHED : status === undefined ? undefined : [status],
    wait_reason: waits === undefined ? undefined : [waits],
    text: one(search.text),
    name: one(search.name),
    version: one(search.version),
    label: several(search.label),
    tag: several(search.tag),
    node: one(search.node),
    error_code: one(search.error_code),
    from: one(search.from),
    to: one(search.to),
  };
}

/** One run in the form of the list: with name, labels, trace and parent. Null when the list does not have it yet. */
export async function listedRun(id: string): Promise<Run | null> {
  const { runs } = await api.runs.list({ text: id, limit: 1 });
  return runs.find((run) => run.id === id) ?? null;
}

/** Cancels a run. */
export const cancelRun = ({ kind, id }: Pick<Run, 'kind' | 'id'>): Promise<unknown> =>
  kind === 'execution' ? api.executions.cancel({ id }) : api.workflowExecutions.cancel({ id });

/** Removes the record of a run that has ended. */
export const removeRun = ({ kind, id }: Pick<Run, 'kind' | 'id'>): Promise<unknown> =>
  kind === 'execution' ? api.executions.remove({ id }) : api.workflowExecutions.remove({ id });
