import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectProgress, EffectResult } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Actors for tests of the kernel; each shows one promise of the kernel. */
export const counter = defineActor({
  kind: 'counter',
  version: 1,
  state: z.object({ value: z.number(), asks: z.number(), blob: z.string() }),
  initial: () => ({ value: 0, asks: 0, blob: '' }),
  messages: {
    Add: z.object({ by: z.number() }),
    Get: z.object({}),
    Fill: z.object({ text: z.string() }),
    Break: z.object({ times: z.number() }),
    AddLater: z.object({ by: z.number(), afterMs: z.number() }),
    Forget: z.object({}),
    Forward: z.object({ to: z.string(), by: z.number() }),
    Answered: z.object({ ok: z.boolean(), value: z.json().optional() }),
    Draw: z.object({}),
    Refuse: z.object({}),
  },
  events: { added: z.object({ by: z.number(), value: z.number() }) },
  on: {
    Add(state, { by }, turn) {
      const value = state.value + by;
      turn.emit('added', { by, value });
      turn.reply(value);
      return { ...state, value };
    },
    Get(state, _, turn) {
      turn.reply({ value: state.value, asks: state.asks, blob: state.blob.length });
      return state;
    },
    Fill(state, { text }, turn) {
      turn.reply(text);
      return { ...state, blob: text };
    },
    Break(state, _message, _turn) {
      Object.assign(state, { value: 1_000_000 });
      throw new Error('this handler is broken');
    },
    AddLater(state, { by, afterMs }, turn) {
      turn.after('later', afterMs, 'Add', { by });
      return { ...state, asks: state.asks + 1 };
    },
    Forget(state, _, turn) {
      turn.clear('later');
      return { ...state, asks: state.asks + 1 };
    },
    Forward(state, { to, by }, turn) {
      turn.tell(addressOf('counter', turn.tenant, to), 'Add', { by }, { replyAs: 'Answered' });
      return { ...state, asks: state.asks + 1 };
    },
    Answered(state, { value }) {
      return { ...state, asks: state.asks + (typeof value === 'number' ? 100 : 0) };
    },
    Draw(state, _, turn) {
      turn.reply([turn.newId(), turn.newId(), turn.random()]);
      return state;
    },
    Refuse(state, _, turn) {
      turn.emit('added', { by: 0, value: 0 });
      turn.refuse('failed_precondition', 'not now');
      return state;
    },
  },
});

/** An actor that works through effects and then ends. */
export const job = defineActor({
  kind: 'job',
  version: 1,
  state: z.object({
    status: z.enum(['new', 'running', 'done', 'failed', 'in_doubt', 'stopped']),
    effect: z.string().nullable(),
    attempts: z.number(),
    parts: z.array(z.string()),
    result: z.json(),
  }),
  initial: () => ({ status: 'new', effect: null, attempts: 0, parts: [], result: null }),
  messages: {
    Run: z.object({
      input: z.record(z.string(), z.json()),
      mode: z.enum(['repeatable', 'once']).default('repeatable'),
      ahead: z.boolean().default(false),
    }),
    Part: EffectProgress,
    Ran: EffectResult,
    Stop: z.object({}),
  },
  creates: ['Run'],
  events: {
    started: z.object({}),
    part: z.object({ text: z.string() }),
    ended: z.object({ status: z.string() }),
  },
  finalEvents: ['ended'],
  on: {
    Run(state, { input, mode, ahead }, turn) {
      if (state.status !== 'new') return state;
      turn.emit('started', {});
      const effect = turn.effect({
        kind: 'test.work',
        mode,
        ahead,
        input,
        replyAs: 'Ran',
        progressAs: 'Part',
        retry: { maxAttempts: 4, initialDelayMs: 10, maxDelayMs: 50 },
      });
      turn.reply({ effect });
      return { ...state, status: 'running', effect };
    },
    Part(state, { value }, turn) {
      const text = String(value);
      turn.emit('part', { text });
      return { ...state, parts: [...state.parts, text] };
    },
    Ran(state, { outcome, attempt }, turn) {
      if (state.status !== 'running') return state;
      const status = outcome.kind === 'done' ? 'done' : outcome.kind;
      turn.emit('ended', { status });
      return { ...state, status, attempts: attempt, result: outcome.kind === 'done' ? outcome.value : null };
    },
    Stop(state, _, turn) {
      if (state.status !== 'running') turn.refuse('failed_precondition', `the job is ${state.status}`);
      if (state.effect !== null) turn.cancelEffect(state.effect);
      turn.emit('ended', { status: 'stopped' });
      return { ...state, status: 'stopped' };
    },
  },
  done: (state) => !['new', 'running'].includes(state.status),
  view: {
    collection: 'jobs',
    indexes: [['status']],
    project: (state, { tenant, id }) => ({ tenant, id, status: state.status }),
  },
});

export interface WorkProbe {
  /** Effect ids whose handler began, in order. */
  readonly begun: string[];
  readonly aborted: string[];
}

/** `test.work`: does what its input says and records that it did. */
export function workEffect(probe: WorkProbe) {
  return defineEffect({
    kind: 'test.work',
    input: z.object({
      parts: z.array(z.string()).default([]),
      value: z.json().default(null),
      failTimes: z.number().default(0),
      fatal: z.boolean().default(false),
      waitForAbort: z.boolean().default(false),
    }),
    async run(input, context) {
      probe.begun.push(context.effectId);
      if (context.attempt <= input.failTimes) throw new SvcError('unavailable', 'not yet');
      if (input.fatal) throw new SvcError('program_failed', 'it never works');
      for (const part of input.parts) await context.progress(part);
      if (input.waitForAbort) {
        await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve(), { once: true }));
        probe.aborted.push(context.effectId);
        throw new SvcError('cancelled');
      }
      return input.value;
    },
  });
}
