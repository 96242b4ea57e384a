import { appendFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../runtime/effect.ts';

const Plan = z.object({
  steps: z.number().int().min(1).max(1_000),
  stepMs: z.number().int().min(0).max(60_000),
  /** The file to which each attempt of a step writes a line. */
  trail: z.string(),
  mode: z.enum(['repeatable', 'once']),
});

const State = z.object({
  plan: Plan.nullable(),
  /** Number of steps that have ended. */
  done: z.number().int(),
  status: z.enum(['new', 'running', 'ended', 'in_doubt', 'failed']),
});
type State = z.infer<typeof State>;

/** A run of effect steps in sequence, like the work of an agent, but without a model's randomness. */
export const steps = defineActor({
  kind: 'steps',
  version: 1,
  state: State,
  initial: (): State => ({ plan: null, done: 0, status: 'new' }),
  messages: { Run: Plan, Stepped: EffectResult },
  creates: ['Run'],
  events: {
    step_ended: z.object({ step: z.number(), attempt: z.number() }),
    run_ended: z.object({ status: z.string() }),
  },
  finalEvents: ['run_ended'],
  on: {
    Run(_state, plan, turn) {
      turn.reply({ started: true });
      turn.effect(stepOf(plan, 0, turn.self));
      return { plan, done: 0, status: 'running' };
    },
    Stepped(state, { outcome, attempt }, turn) {
      if (state.plan === null || state.status !== 'running') throw new Error('a result came after the end of its run');
      const end = (status: 'ended' | 'in_doubt' | 'failed', done: number): State => {
        turn.emit('run_ended', { status });
        return { ...state, done, status };
      };
      if (outcome.kind !== 'done') return end(outcome.kind, state.done);
      const step = z.number().parse(outcome.value);
      if (step !== state.done) throw new Error(`the result of step ${step} where ${state.done} was due`);
      turn.emit('step_ended', { step, attempt });
      if (step + 1 === state.plan.steps) return end('ended', step + 1);
      turn.effect(stepOf(state.plan, step + 1, turn.self));
      return { ...state, done: step + 1 };
    },
  },
});

const stepOf = ({ mode, stepMs, trail }: z.infer<typeof Plan>, step: number, run: string) => ({
  kind: 'chaos.step',
  mode,
  input: { run, step, stepMs, trail },
  replyAs: 'Stepped' as const,
  retry: { maxAttempts: 100, initialDelayMs: 10, maxDelayMs: 200 },
});

/** Writes `run step attempt` to the trail, then waits. */
export const step = defineEffect({
  kind: 'chaos.step',
  input: z.object({ run: z.string(), step: z.number(), stepMs: z.number(), trail: z.string() }),
  async run({ run, step: number, stepMs, trail }, { attempt, signal }) {
    await appendFile(trail, `${run} ${number} ${attempt}\n`);
    await pause(stepMs, undefined, { signal });
    return number;
  },
});
