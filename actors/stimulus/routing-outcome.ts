import type { z } from 'zod';
import type { Address } from '../../runtime/address.ts';
import type { ActorClient, ActorEvent } from '../../runtime/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isErrorCode, SvcError } from '../../runtime/errors.ts';
import type { StimulusStarted } from './api.ts';
import { stimulusEvents } from './events.ts';
import type { Received } from './messages.ts';

/** How long the start of a workflow may take before its caller is told to look later. */
export const ROUTING_WAIT_MS = 30_000;
const HEARTBEAT_MS = 1_000;

/**
 * Waits for what becomes of one delivery. Throws what it was rejected with, and `deadline_exceeded` when it is still on
 * its way: it goes on without its caller.
 */
export async function followRouting(
  parts: { readonly client: Pick<ActorClient, 'follow'>; readonly clock: Clock },
  address: Address,
  received: z.output<typeof Received>,
  wait: { readonly waitMs: number; readonly signal: AbortSignal | undefined },
): Promise<StimulusStarted> {
  const { stimulus_id, workflow_execution_id, after } = received;
  const patience = new AbortController();
  const disarm = parts.clock.after(wait.waitMs, () => patience.abort());
  const signal = wait.signal === undefined ? patience.signal : AbortSignal.any([patience.signal, wait.signal]);
  try {
    for await (const event of parts.client.follow(address, after, { signal, heartbeatMs: HEARTBEAT_MS })) {
      if (event !== null && isEnd(event, stimulus_id)) return { stimulus_id, workflow_execution_id };
    }
  } finally {
    disarm();
  }
  throw new SvcError('deadline_exceeded', `stimulus ${stimulus_id} was received and is not routed yet`);
}

/** Whether a delivery has its workflow with this event; throws when it will have none. */
function isEnd({ name, payload }: ActorEvent, stimulusId: string): boolean {
  switch (name) {
    case 'StimulusClassified':
      return stimulusEvents.StimulusClassified.parse(payload).stimulus_id === stimulusId;
    case 'StimulusRejected': {
      const { stimulus_id, code, reason } = stimulusEvents.StimulusRejected.parse(payload);
      if (stimulus_id === stimulusId) throw new SvcError(isErrorCode(code) ? code : 'internal', reason);
      return false;
    }
    case 'ClassificationFailed': {
      const { stimulus_id, code, error } = stimulusEvents.ClassificationFailed.parse(payload);
      if (stimulus_id === stimulusId) throw new SvcError(isErrorCode(code) ? code : 'internal', error);
      return false;
    }
    default:
      return false;
  }
}
