import { z } from 'zod';
import type { ExecutionDocument } from '../../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../../actors/workflow/view.ts';
import { addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { TraceParts } from '../../../usecases/traces/trace.ts';
import { type KernelNode, startKernelNode } from '../../support/kernel-node.ts';

export const SECRET = 'canary-31fe';

/** Sends on, waits, works and fails as it is asked. */
export const link = defineActor({
  kind: 'link',
  version: 1,
  state: z.object({ owner: z.string().optional(), password: z.string(), heard: z.array(z.string()) }),
  initial: () => ({ password: SECRET, heard: [] }),
  messages: {
    Own: z.object({ owner: z.string() }),
    Pass: z.object({ along: z.array(z.string()), note: z.string().optional(), api_key: z.string().optional() }),
    Later: z.object({ afterMs: z.number() }),
    Rung: z.object({}),
    Work: z.object({ value: z.string() }),
    Worked: EffectResult,
    Endless: z.object({}),
    Fail: z.object({ times: z.number() }),
    Refuse: z.object({}),
  },
  events: { Heard: z.object({ what: z.string() }) },
  on: {
    Own: (state, { owner }, turn) => {
      turn.reply(null);
      return { ...state, owner };
    },
    Pass(state, { along: [next, ...along], ...rest }, turn) {
      if (next !== undefined) turn.tell(addressOf('link', turn.tenant, next), 'Pass', { along, ...rest });
      turn.emit('Heard', { what: 'pass' });
      turn.reply(null);
      return { ...state, heard: [...state.heard, 'pass'] };
    },
    Later(state, { afterMs }, turn) {
      turn.after('later', afterMs, 'Rung', {});
      return state;
    },
    Rung: (state, _none, turn) => {
      turn.emit('Heard', { what: 'rung' });
      return { ...state, heard: [...state.heard, 'rung'] };
    },
    Work(state, { value }, turn) {
      turn.effect({ kind: 'echo', mode: 'repeatable', input: { value }, replyAs: 'Worked' });
      return { ...state, heard: [...state.heard, 'work'] };
    },
    Worked: (state, { outcome }, turn) => {
      turn.emit('Heard', { what: 'worked' });
      return { ...state, heard: [...state.heard, `worked ${outcome.kind}`] };
    },
    Endless(state, _none, turn) {
      turn.effect({ kind: 'endless', mode: 'repeatable', input: {}, replyAs: 'Worked' });
      return state;
    },
    Fail(state, { times }, turn) {
      if (state.heard.filter((one) => one === 'failed').length < times) throw new Error(`not yet, ${turn.messageId}`);
      return { ...state, heard: [...state.heard, 'ok'] };
    },
    Refuse: (_state, _none, turn) => turn.refuse('failed_precondition', `not with https://user:${SECRET}@host/`),
  },
});

const echo = defineEffect({
  kind: 'echo',
  input: z.object({ value: z.string() }),
  run: async ({ value }) => value,
});

export const endless = defineEffect({
  kind: 'endless',
  input: z.object({}),
  run: (_input, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
});

export const user = (subject: string, more: Partial<Identity> = {}): Identity => ({
  kind: 'tenant_user',
  subject,
  tenant: 'acme',
  roles: [],
  tier: 'free',
  ...more,
});

export const linkOf = (id: string, tenant = 'acme') => addressOf('link', tenant, id);

const nothing = async (): Promise<never> => {
  throw new SvcError('not_found');
};

/** A kernel with actors that send to each other, and the parts that read its ledger. */
export async function openLinks(): Promise<{ readonly node: KernelNode; readonly parts: TraceParts }> {
  const node = await startKernelNode({
    definitions: [link],
    handlers: [echo, endless],
    settings: { retry: { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 5 } },
  });
  const { client, recorded, ledger } = node.runtime;
  return {
    node,
    parts: {
      client,
      registry: recorded.registry,
      payloads: recorded.payloads,
      executions: { status: nothing, hasEnded: nothing },
      workflows: { status: nothing },
      documents: {
        executions: await node.documents.collection<ExecutionDocument>({ name: 'e', unique: [], indexes: [] }),
        workflows: await node.documents.collection<WorkflowExecutionDocument>({ name: 'w', unique: [], indexes: [] }),
      },
      store: node.store,
      clock: systemClock,
      ledger,
    },
  };
}

export const isMissing = (error: unknown): boolean => error instanceof SvcError && error.code === 'not_found';

let traces = 0;

/** A trace id that no other call of this process has. */
export const newTrace = (): string => {
  traces += 1;
  return traces.toString(16).padStart(32, 'a');
};
