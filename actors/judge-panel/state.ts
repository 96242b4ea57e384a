import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { Turn } from '../../runtime/define-actor.ts';
import { jsonField } from '../../runtime/json.ts';
import { Notify } from '../../runtime/message.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { isHopelessJudge } from '../execution/hopeless.ts';
import { hasRules } from '../run-rules.ts';
import {
  ConsensusRule,
  JudgeResult,
  type judgePanelEvents,
  type judgePanelMessages,
  PanelConcluded,
} from './messages.ts';

/**
 * One judge of a panel. `asked`: its start was requested; `judging`: its execution runs; `answered`: its verdict
 * counts; `failed`: it gives no verdict, `reason` says why; `dropped`: no longer awaited, because the panel has ended.
 */
const Seat = z.object({
  /** Requested name or UUID. */
  agent: z.string(),
  weight: z.number(),
  timeout_ms: z.number().int(),
  execution_id: z.string(),
  /** The effect that starts it. */
  effect_id: z.string(),
  status: z.enum(['asked', 'judging', 'answered', 'failed', 'dropped']),
  /** UUID, once it is known. */
  agent_id: z.string().nullable(),
  verdict: JudgeResult.omit({ agent_id: true }).nullable(),
  output: jsonField,
  reason: z.string().nullable(),
  /** Code of the error that prevented its start. */
  code: z.string().nullable(),
  /** Code of an error that no further attempt can fix, of its start or of its execution; absent: none. */
  hopeless: z.string().optional(),
});

export type Seat = z.output<typeof Seat>;

const core = {
  panel_id: z.string(),
  consensus: ConsensusRule,
  seats: z.array(Seat),
  /** Whether a verdict inside prose is read; absent: not. */
  in_prose: z.boolean().optional(),
  /** `RUN_RULES` of the run that asks; absent: 0. */
  rules: z.number().int().optional(),
};

const Idle = z.object({ status: z.literal('idle') });

const Judging = z.object({ status: z.literal('judging'), ...core, notify: Notify.nullable() });

const Ended = z.object({
  status: z.literal('ended'),
  ...core,
  outcome: PanelConcluded,
  /** The actor that got the outcome; absent: none, or written before this was stored. */
  told: Notify.shape.to.optional(),
});

/** State of a panel. Inputs are not stored: the effects that start the judges have them. */
export const JudgePanelState = z.discriminatedUnion('status', [Idle, Judging, Ended]);

export type JudgePanelState = z.output<typeof JudgePanelState>;

export type JudgingPanel = z.output<typeof Judging>;

export type EndedPanel = z.output<typeof Ended>;

export type JudgePanelTurn = Turn<typeof judgePanelEvents, typeof judgePanelMessages>;

/** Name of a judge's timer. */
export const timerOf = (judge: number): string => `judge-${judge}`;

export const isOpen = ({ status }: Seat): boolean => status === 'asked' || status === 'judging';

/** The judge's name in results. */
export const nameOf = ({ agent_id, agent }: Seat): string => agent_id ?? agent;

export const executionOf = (executionId: string, turn: JudgePanelTurn): Address =>
  addressOf('execution', turn.tenant, executionId);

/** The panel with one seat changed. */
export function reseat(panel: JudgingPanel, judge: number, change: Partial<Seat>): JudgingPanel {
  return { ...panel, seats: panel.seats.map((seat, index) => (index === judge ? { ...seat, ...change } : seat)) };
}

/** Records that a judge gives no verdict; its execution is cancelled. */
export function failSeat(
  panel: JudgingPanel,
  judge: number,
  failure: {
    readonly reason: string;
    readonly code?: string;
    /** Code of the error with which its execution ended. */
    readonly ended?: string;
    readonly output?: Seat['output'];
  },
  turn: JudgePanelTurn,
): JudgingPanel {
  const seat = panel.seats[judge];
  if (seat === undefined) return panel;
  const reason = keepHead(failure.reason, LIMITS.reasonChars);
  turn.clear(timerOf(judge));
  turn.emit('JudgeFailed', { judge, agent_id: nameOf(seat), execution_id: seat.execution_id, reason });
  return reseat(panel, judge, {
    status: 'failed',
    reason,
    code: failure.code ?? null,
    output: failure.output ?? null,
    hopeless: hopelessCode(panel, failure.code ?? failure.ended),
  });
}

const hopelessCode = (panel: JudgingPanel, code: string | undefined): string | undefined =>
  code !== undefined && hasRules(panel, 3) && isHopelessJudge(code) ? code : undefined;

/**
 * Cancels a judge that is no longer awaited. If its start is still in progress, its first update is answered with another
 * Cancel.
 */
export function stopSeat(seat: Seat, turn: JudgePanelTurn, reason: string): void {
  if (seat.status === 'asked') turn.cancelEffect(seat.effect_id);
  turn.tell(executionOf(seat.execution_id, turn), 'Cancel', { reason });
}

/** Limits of one panel: its state, the judges' outputs and the outcome are each written as a whole. In UTF-16 units. */
export const LIMITS = {
  /** Longest output that is read as a judge's. */
  outputChars: 64 * 1024,
  /** Stored beginning of an output that is not a judge's. */
  keptOutputChars: 4 * 1024,
  /** A judge's reasoning among the results. */
  reasoningChars: 16 * 1024,
  /** Why one judge gave no verdict. */
  reasonChars: 500,
  /** Why a panel has no verdict. */
  errorChars: 4 * 1024,
} as const;
