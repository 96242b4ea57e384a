import type { Address, Partition } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import type { ActorRecord } from './record.ts';

/** An actor in memory: its committed record, its committed text, and what this batch made of it. */
export interface Resident {
  readonly address: Address;
  /** Where it lives. */
  readonly partition: Partition;
  readonly tenant: string;
  readonly definition: ActorDefinition;
  record: ActorRecord;
  /** Committed encoding; null while the actor does not exist in the store. */
  text: string | null;
  /** Its text names bytes that nothing else names (payload.ts): they may go when a later commit has replaced it. */
  owned: boolean;
  /** Characters of its encoded record, wherever that is stored. */
  size: number;
}
