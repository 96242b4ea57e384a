import { z } from 'zod';
import { ToolOutcome } from '../../../manifests/tool/call.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ERRORS } from '../../../runtime/errors.ts';
import type { SessionTurn } from '../appending.ts';
import { close } from '../closing.ts';
import { auditOutcome, recordEnd } from '../ending.ts';
import type { CallResult } from '../events.ts';
import type { ToolSessionState } from '../state.ts';

const Context = z.object({ call: z.string() });

/** An allowed call has ended: recorded, and answered to whoever waits. Late words of a call that is over change nothing. */
export function ToolEnded(state: ToolSessionState, ended: EffectResult, turn: SessionTurn): ToolSessionState {
  const call = Context.safeParse(ended.context).data?.call;
  const running = call === undefined ? undefined : state.running[call];
  if (call === undefined || running === undefined || running.effect_id !== ended.effectId) return state;
  const result = resultOf(ended.outcome, running.tool);
  const next = recordEnd(state, { call, result, outcome: auditOutcome(result) }, turn);
  return running.last ? close(next, { status: 'closed', reason: 'the call has ended' }, turn) : next;
}

/**
 * A breach that only the running tool sees, a link out of the workspace or a redirect, is a denial like those of policy. What
 * an area refuses, by a code of the error table, is what the tool reports: its result (decided.md "SEAL envelope").
 */
function resultOf(outcome: EffectResult['outcome'], tool: string): CallResult {
  if (outcome.kind === 'failed') return { kind: 'failed', code: outcome.code, message: outcome.message };
  if (outcome.kind === 'in_doubt') return { kind: 'outcome', outcome: inDoubt(tool) };
  const told = ToolOutcome.safeParse(outcome.value);
  if (!told.success) return { kind: 'failed', code: 'internal', message: `${tool} answered nonsense` };
  const { error } = told.data;
  if (error?.class !== 'policy' || Object.hasOwn(ERRORS, error.code)) return { kind: 'outcome', outcome: told.data };
  const { code, message, retry_after_ms } = error;
  return { kind: 'denied', reason: code, message, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) };
}

function inDoubt(tool: string): ToolOutcome {
  const message = `${tool} had started when its node died; whether it was done is not known, and it was not repeated`;
  return {
    content: [{ type: 'text', text: message }],
    is_error: true,
    error: { code: 'in_doubt', class: 'recoverable', message },
    duration_ms: 0,
  };
}
