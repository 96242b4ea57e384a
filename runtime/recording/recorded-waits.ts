import { type Address, parseAddress } from '../address.ts';
import type { EffectRow } from '../effect-ledger.ts';
import { encodeEffect } from '../effects/effect-envelope.ts';
import { timerId } from '../turns/actor-draft.ts';
import type { ActorLine, OpenLine } from './recording.ts';

/**
 * The open work of a recording's actors, in the form in which readers query a store. Readers query the effects of a partition:
 * here every partition returns the same.
 */
export class RecordedWaits {
  readonly #rows = new Map<string, EffectRow>();
  readonly #bodies = new Map<string, string>();
  readonly #due = new Map<string, number | null>();

  add({ actor, open }: Pick<ActorLine, 'actor' | 'open'>): void {
    for (const { name, due_at: at } of open?.timers ?? []) this.#due.set(timerId(actor, name), at);
    for (const effect of open?.effects ?? []) this.#addEffect(actor, effect);
  }

  #addEffect(address: Address, effect: OpenLine['effects'][number]): void {
    const { id, queue, mode, status, attempt, runner, until, last_error: lastError, request } = effect;
    this.#rows.set(id, { id, queue, address, mode, status, attempt, runner, until, lastError });
    if (request === null) return;
    const { kind, cause, trace } = request;
    const asked = { kind, mode, input: {}, replyAs: '' };
    this.#bodies.set(
      id,
      encodeEffect({ request: asked, to: address, cause, trace, tenant: parseAddress(address).tenant }),
    );
  }

  async openEffects(): Promise<EffectRow[]> {
    return [...this.#rows.values()];
  }

  async effectRows(_partition: string, ids: readonly string[]): Promise<(EffectRow | null)[]> {
    return ids.map((id) => this.#rows.get(id) ?? null);
  }

  async effectBodies(_partition: string, ids: readonly string[]): Promise<(string | null)[]> {
    return ids.map((id) => this.#bodies.get(id) ?? null);
  }

  async timersDue(_partition: string, ids: readonly string[]): Promise<(number | null)[]> {
    return ids.map((id) => this.#due.get(id) ?? null);
  }
}
