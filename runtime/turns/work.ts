import type { Message } from '../message.ts';
import type { ActorRecord } from './record.ts';
import type { Resident } from './resident.ts';

/** What a batch makes of one actor. */
export interface Work {
  readonly resident: Resident;
  record: ActorRecord;
  dirty: boolean;
  readonly firstEvent: number;
  readonly events: { name: string; at: number; payload: unknown }[];
}

export const beginWork = (resident: Resident): Work => ({
  resident,
  record: resident.record,
  dirty: false,
  firstEvent: resident.record.lastEvent + 1,
  events: [],
});

/** The store closed the effect when it took the result; the actor's list follows. */
export function withoutSettled(record: ActorRecord, message: Message): ActorRecord {
  if (message.origin !== 'effect' || record.effects.length === 0) return record;
  const { payload } = message;
  if (payload === null || typeof payload !== 'object' || Array.isArray(payload) || !('outcome' in payload))
    return record;
  return { ...record, effects: record.effects.filter((id) => id !== payload.effectId) };
}
