import type { EventAppend } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Unsubscribe } from '../leases.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { GroupMember } from './group-commit.ts';

/** Listeners by topic. */
export class Topic<Call extends (...details: never[]) => void> {
  readonly #listeners = new Map<string, Set<Call>>();

  subscribe(key: string, call: Call): Unsubscribe {
    const calls = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, calls);
    calls.add(call);
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#listeners.get(key) === calls) this.#listeners.delete(key);
    };
  }

  of(key: string): Iterable<Call> {
    return this.#listeners.get(key) ?? [];
  }

  keys(): string[] {
    return [...this.#listeners.keys()];
  }
}

const EVERYBODY = '';

/** Collects the notices of a group for listeners in this process, and sends them after the commit, never before. */
export class Notices implements GroupMember {
  readonly wakeUps = new Topic<(partition: Partition) => void>();
  readonly replies = new Topic<(messageId: string, body: string) => void>();
  readonly events = new Topic<(news: EventAppend) => void>();
  readonly #cancels = new Topic<(id: string) => void>();
  readonly #toWake = new Set<PartitionState>();
  #happened: EventAppend[] = [];
  #answered: { readonly session: string; readonly messageId: string; readonly body: string }[] = [];
  #cancelled: string[] = [];

  onCancel(stop: (id: string) => void): Unsubscribe {
    return this.#cancels.subscribe(EVERYBODY, stop);
  }

  entry(partition: PartitionState): void {
    this.#toWake.add(partition);
  }

  event(append: EventAppend): void {
    this.#happened.push(append);
  }

  reply(reply: { readonly session: string; readonly messageId: string; readonly body: string }): void {
    this.#answered.push(reply);
  }

  cancel(effect: string): void {
    this.#cancelled.push(effect);
  }

  beforeCommit(): void {}

  committed(): void {
    const toWake = [...this.#toWake];
    const [happened, answered, cancelled] = [this.#happened, this.#answered, this.#cancelled];
    this.rolledBack();
    for (const { node, name } of toWake) if (node !== null) for (const wake of this.wakeUps.of(node)) wake(name);
    for (const { session, messageId, body } of answered) {
      for (const receive of this.replies.of(session)) receive(messageId, body);
    }
    for (const append of happened) for (const wake of this.events.of(append.address)) wake(append);
    for (const id of cancelled) for (const stop of this.#cancels.of(EVERYBODY)) stop(id);
  }

  rolledBack(): void {
    this.#toWake.clear();
    this.#happened = [];
    this.#answered = [];
    this.#cancelled = [];
  }
}
