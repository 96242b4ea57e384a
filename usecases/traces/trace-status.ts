import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import { parseAddress } from '../../runtime/address.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import type { LedgerDelivery } from '../../runtime/ledger/ledger-reader.ts';
import type { Message } from '../../runtime/message.ts';
import { NewerVersion } from '../../runtime/turns/record.ts';
import type { ExecutionApi } from '../executions.ts';
import { UNFINISHED_STATUSES } from '../runs/run.ts';
import type { WorkflowApi } from '../workflow-runs.ts';
import { outcomeOf } from './delivery-row.ts';

export const TRACE_STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const;

export type TraceStatus = (typeof TRACE_STATUSES)[number];

/** The ports that know the status of a run. */
export interface RunStatusParts {
  readonly executions: Pick<ExecutionApi, 'status' | 'hasEnded'>;
  readonly workflows: Pick<WorkflowApi, 'status'>;
  readonly documents: {
    readonly executions: Pick<Collection<ExecutionDocument>, 'get'>;
    readonly workflows: Pick<Collection<WorkflowExecutionDocument>, 'get'>;
  };
}

const UNFINISHED: ReadonlySet<string> = new Set(UNFINISHED_STATUSES);

interface Standing {
  readonly status: TraceStatus;
  /** ISO 8601; null while it runs, and when only the deliveries say when it ended. */
  readonly endedAt: string | null;
}

/** Most calls of a caller's trace, beside the first, whose status is looked up. */
const MOST_CALLS = 100;

/**
 * The status of a trace. A trace that a start began, and each trace in which it continues, has the status of its run.
 * Any other call ended when its first message was handled. A caller may choose one trace id for several calls: such a
 * trace is running while one of them runs, has failed when one of them failed, and ends with the last one.
 */
export async function traceStatus(
  parts: RunStatusParts,
  viewer: Identity,
  root: LedgerDelivery | null,
  deliveries: readonly LedgerDelivery[],
): Promise<Standing> {
  const start = root === null ? deliveries.find(({ message }) => isToRun(message)) : startOf(root);
  const run = start === undefined ? null : await runStanding(parts, viewer, start);
  const first = run ?? callStanding(root ?? deliveries[0], deliveries);
  const others = new Map(
    deliveries
      .filter(({ message }) => message.cause === null && message.id !== root?.message.id)
      .slice(0, MOST_CALLS)
      .map((one) => [one.message.id, one]),
  );
  if (root === null || others.size === 0) return first;
  const calls = [...others.values()].map(async (call) => {
    const found = startOf(call) === undefined ? null : await runStanding(parts, viewer, call);
    return found ?? callStanding(call, deliveries);
  });
  return together([first, ...(await Promise.all(calls))]);
}

function callStanding(call: LedgerDelivery | undefined, deliveries: readonly LedgerDelivery[]): Standing {
  const last = deliveries.findLast(({ message }) => message.id === call?.message.id);
  switch (last === undefined ? 'unknown' : outcomeOf(last)) {
    case 'retried':
    case 'deferred':
      return { status: 'running', endedAt: null };
    case 'refused':
    case 'dead-lettered':
      return { status: 'failed', endedAt: null };
    default:
      return { status: 'completed', endedAt: null };
  }
}

const WORST_FIRST = ['running', 'failed', 'cancelled'] as const;

function together(calls: readonly Standing[]): Standing {
  const status = WORST_FIRST.find((one) => calls.some((call) => call.status === one)) ?? 'completed';
  const ends = calls.flatMap(({ endedAt }) => endedAt ?? []).toSorted();
  // A call that starts no run ends with its deliveries.
  return { status, endedAt: status === 'running' || ends.length < calls.length ? null : (ends.at(-1) ?? null) };
}

const isToRun = ({ to }: Message): boolean => ['execution', 'workflow'].includes(parseAddress(to).kind);

const startOf = (root: LedgerDelivery): LedgerDelivery | undefined =>
  STARTS.has(root.message.type) && isToRun(root.message) ? root : undefined;

/** Messages that begin a run. */
export const STARTS: ReadonlySet<string> = new Set(['Start', 'Fork']);

async function runStanding(
  { executions, workflows }: RunStatusParts,
  viewer: Identity,
  { message }: LedgerDelivery,
): Promise<Standing | null> {
  const { kind, id } = parseAddress(message.to);
  try {
    const { status, ended_at } = await (kind === 'execution' ? executions : workflows).status(viewer, id);
    if (UNFINISHED.has(status)) return { status: 'running', endedAt: null };
    const ended = TRACE_STATUSES.find((one) => one === status) ?? 'completed';
    return { status: ended, endedAt: ended_at };
  } catch (thrown) {
    // The status of a run that is unknown or whose state cannot be read, derived from its deliveries.
    if (thrown instanceof NewerVersion || toSvcError(thrown).code !== 'unavailable') return null;
    throw thrown;
  }
}

/** The data of the run lists about the run of a trace. */
interface NamedRun {
  readonly name: string | null;
  /** Code of its failure. */
  readonly errorCode: string | null;
  /** Texts to search in. */
  readonly texts: readonly string[];
}

export async function runOf({ documents }: RunStatusParts, { message }: LedgerDelivery): Promise<NamedRun> {
  const { kind, tenant, id } = parseAddress(message.to);
  if (kind === 'execution') {
    const found = await documents.executions.get(tenant, id);
    if (found !== null) return named(found.agent_name, found.reason, found.last_error);
  }
  if (kind === 'workflow') {
    const found = await documents.workflows.get(tenant, id);
    if (found !== null) {
      const { last_state_error: last } = found;
      return named(found.workflow_name, found.reason ?? last?.code ?? null, found.error ?? last?.message ?? null);
    }
  }
  return { name: null, errorCode: null, texts: [] };
}

const named = (name: string, reason: string | null, error: string | null): NamedRun => ({
  name,
  errorCode: reason,
  texts: [name, error ?? ''],
});

/** The trace of a run's start. Throws `not_found`, and `failed_precondition` for a run that kept none. */
export async function traceOfRun(
  { executions, workflows }: RunStatusParts,
  viewer: Identity,
  id: string,
): Promise<string> {
  for (const runs of [executions, workflows]) {
    const run = await foundOrNull<{ readonly trace_id?: string }>(runs.status(viewer, id));
    if (run === null) continue;
    if (run.trace_id !== undefined) return run.trace_id;
    throw new SvcError('failed_precondition', 'the run was started by an earlier version, which kept no trace of it');
  }
  throw new SvcError('not_found', 'execution not found');
}
