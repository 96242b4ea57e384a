import { parseAddress } from '../../runtime/address.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { keepHead } from './bounded-text.ts';
import { parentOf } from './messages.ts';
import { phaseOf, waitsOf } from './phase.ts';
import type { ExecutionState, RunningExecution, Usage } from './state.ts';

/** Collection behind the lists of executions (R2). */
export const EXECUTIONS: CollectionSpec = {
  name: 'executions',
  unique: [],
  indexes: [
    ['removed', 'started_at'],
    // Lists filter by `removed`: with it in the index only the page is read.
    ['agent_id', 'removed', 'started_at'],
    ['agent_name', 'removed', 'started_at'],
    ['agent_id', 'removed', 'ended_at'],
    ['status', 'removed', 'started_at'],
    ['workflow_execution_id', 'removed', 'started_at'],
    ['parent_id', 'removed', 'started_at'],
    ['trace_id', 'removed', 'started_at'],
  ],
  beside: ['owner'],
};

/** One execution in lists. */
export interface ExecutionDocument extends StoredDocument {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly agent_version: string;
  /** `pending`: the actor has not handled the start yet, because it waits for a node. */
  readonly status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly iteration_count: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly updated_at: string;
  /** Bounded. */
  readonly last_error: string | null;
  /** Bounded. */
  readonly last_output: string | null;
  readonly reason: string | null;
  readonly usage: Usage;
  readonly in_doubt: number;
  readonly workflow_execution_id: string | null;
  readonly removed: boolean;
  /** The only subject, besides operators, that sees it; absent: every caller of the tenant does. */
  readonly owner?: string;
  /** Absent: none. The fields below are absent in documents of earlier versions too. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly trace_id?: string;
  readonly forked_from?: ForkedFrom;
  /** What it waits for while it runs, as in `OwnWait` (usecases/waits). */
  readonly wait_kind?: 'judges' | 'effect';
  /** The actor that started it: a workflow run, a judge panel. */
  readonly parent_kind?: string;
  readonly parent_id?: string;
  /** Node and pool that handled its last message; the projector adds them. */
  readonly node?: string;
  readonly pool?: string;
  /** While pending: tags that its node must have. */
  readonly waiting_tags?: readonly string[];
  /** While pending: its cancel is stored, and the actor handles it before any work. */
  readonly cancel_asked?: true;
}

const LISTED_CHARS = 2_000;

const short = (text: string | null): string | null => (text === null ? null : keepHead(text, LISTED_CHARS));

export function projectExecution(
  state: ExecutionState,
  self: { readonly tenant: string; readonly id: string },
): Omit<ExecutionDocument, 'version'> | null {
  if (state.status === 'pending') return null;
  const ended = state.status === 'running' ? null : state;
  return {
    tenant: self.tenant,
    id: self.id,
    agent_id: state.agent_id,
    agent_name: state.agent_name,
    agent_version: state.agent_version,
    status: state.status,
    iteration_count: state.iteration_count,
    started_at: state.started_at,
    ended_at: ended?.ended_at ?? null,
    updated_at: state.updated_at,
    last_error: short(state.last_error),
    last_output: short(state.last_output),
    reason: ended?.reason ?? null,
    usage: state.usage,
    in_doubt: state.in_doubt,
    workflow_execution_id: state.workflow_execution_id,
    removed: false,
    labels: state.labels,
    trace_id: state.trace_id,
    forked_from: state.forked_from,
    wait_kind: state.status === 'running' ? waitKindOf(state) : undefined,
    ...parentFields(state, self),
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}

const waitKindOf = (running: RunningExecution): 'judges' | 'effect' =>
  waitsOf(phaseOf(running)).some(({ kind }) => kind === 'panel' || kind === 'call judges') ? 'judges' : 'effect';

function parentFields(
  state: ExecutionState,
  self: { readonly tenant: string },
): { readonly parent_kind?: string; readonly parent_id?: string } {
  const parent = parentOf(state, self);
  if (parent === null) return {};
  const { kind, id } = parseAddress(parent);
  return { parent_kind: kind, parent_id: id };
}
