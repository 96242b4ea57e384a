import { z } from 'zod';
import { jsonField } from '../../runtime/json-field.ts';
import { Notify } from '../../runtime/notify.ts';
import { ConsensusRule, JudgeResult, PanelConcluded } from './messages.ts';

/**
 * One judge of a panel. `asked`: its start was asked for; `judging`: its execution runs; `answered`: its verdict counts;
 * `failed`: left out, `reason` says why; `dropped`: not awaited any more, because the panel ended before.
 */
const Seat = z.object({
  /** As it was asked for. */
  agent: z.string(),
  weight: z.number(),
  timeout_ms: z.number().int(),
  execution_id: z.string(),
  /** Of the effect that starts it. */
  effect_id: z.string(),
  status: z.enum(['asked', 'judging', 'answered', 'failed', 'dropped']),
  /** UUID, once it is known. */
  agent_id: z.string().nullable(),
  verdict: JudgeResult.omit({ agent_id: true }).nullable(),
  output: jsonField,
  reason: z.string().nullable(),
  /** Code of the error that kept it from starting. */
  code: z.string().nullable(),
});
export type Seat = z.output<typeof Seat>;

const core = {
  panel_id: z.string(),
  consensus: ConsensusRule,
  seats: z.array(Seat),
};

const Idle = z.object({ status: z.literal('idle') });
const Judging = z.object({ status: z.literal('judging'), ...core, notify: Notify.nullable() });
const Ended = z.object({
  status: z.literal('ended'),
  ...core,
  outcome: PanelConcluded,
  /** Who was told; absent: nobody, or not kept yet. */
  told: Notify.shape.to.optional(),
});

/** State of a panel. Inputs are not kept: they went out with the effects that start the judges. */
export const JudgePanelState = z.discriminatedUnion('status', [Idle, Judging, Ended]);
export type JudgePanelState = z.output<typeof JudgePanelState>;
export type JudgingPanel = z.output<typeof Judging>;
export type EndedPanel = z.output<typeof Ended>;
