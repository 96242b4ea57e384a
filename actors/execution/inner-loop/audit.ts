import { type AuditBody, resultHash } from '../../../manifests/audit/record.ts';
import type { ToolOutcome, ToolSubject } from '../../../manifests/tool/call.ts';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { plainJson } from '../../../runtime/json.ts';
import { keepHead } from '../bounded-text.ts';
import { mountsOf } from '../environment.ts';
import type { ExecutionTurn } from '../messages.ts';
import { type IdleExecution, principalOf, type RunningExecution } from '../state.ts';
import type { LoopCall } from './state.ts';

const REASON_CHARS = 500;

const sessionOf = (id: string, turn: ExecutionTurn): Address => addressOf('tool-session', turn.tenant, id);

/** The caller in whose name the execution's tools run. The session of its own loop has the execution's id. */
export function subjectOf(running: RunningExecution, sessionId: string): ToolSubject {
  const { plan, current } = running;
  return {
    execution_id: running.execution_id,
    agent_id: running.agent_id,
    session_id: sessionId,
    principal: principalOf(running),
    mounts: mountsOf(running),
    isolation: plan.container === null ? 'process' : 'docker',
    container_id: current.container_id,
  };
}

/** Begins the execution's own audit chain. Calls do not wait for its records. */
export function openSession(running: RunningExecution, turn: ExecutionTurn): void {
  const { execution_id: id, grant } = running;
  if (grant === undefined) return;
  const open = { session_id: id, source: 'inner_loop', subject: subjectOf(running, id), grant };
  turn.tell(sessionOf(id, turn), 'Open', plainJson({ ...open, public_key: null, expires_at: null }));
}

export function recordDecision(
  running: RunningExecution,
  call: Pick<LoopCall, 'key' | 'name' | 'payload_hash'>,
  decision: { readonly reason: string | null; readonly schema_hash: string | null },
  turn: ExecutionTurn,
): void {
  const { reason, schema_hash } = decision;
  record(running, turn, {
    kind: 'decided',
    call: call.key,
    tool: keepHead(call.name, 200),
    envelope_hash: null,
    payload_hash: call.payload_hash,
    decision: reason === null ? 'allowed' : 'denied',
    reason,
    schema_hash,
  });
}

export function recordEnd(
  running: RunningExecution,
  { key }: Pick<LoopCall, 'key'>,
  end: {
    readonly outcome: 'succeeded' | 'failed' | 'in_doubt';
    readonly error: string | null;
    readonly result: ToolOutcome | null;
  },
  turn: ExecutionTurn,
): void {
  const { outcome, error, result } = end;
  record(running, turn, {
    kind: 'ended',
    call: key,
    outcome,
    error: error === null ? null : keepHead(error, REASON_CHARS),
    result_hash: result === null ? null : resultHash(result),
  });
}

/** Closes the execution's own session and the attested ones (H18). */
export function closeSessions(execution: IdleExecution, status: string, turn: ExecutionTurn): void {
  const own = execution.grant === undefined ? [] : [execution.execution_id];
  const reason = `the execution is ${status}`;
  for (const id of [...own, ...execution.sessions]) turn.tell(sessionOf(id, turn), 'Close', { reason });
}

function record({ execution_id: id }: RunningExecution, turn: ExecutionTurn, body: AuditBody): void {
  turn.tell(sessionOf(id, turn), 'Record', { body }, { delivery: 'lazy' });
}
