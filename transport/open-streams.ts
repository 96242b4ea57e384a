import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';

/** Why a stream was told to stop. */
export type StopReason = 'client_gone' | 'too_slow' | 'server_closing';

/** One open stream: its signal is aborted with a `StopReason`. */
export interface OpenStream extends Disposable {
  readonly signal: AbortSignal;
  stop(reason: StopReason): void;
}

/** On whose account a stream is open. */
export interface StreamOwner {
  readonly caller: string;
  /** Absent: the caller alone is counted. */
  readonly tenant?: string;
}

/** Shares of all streams that one caller and one tenant may have, and that is kept for tenants which have few. */
const SHARES = { caller: 0.1, tenant: 0.25, reserve: 0.1, few: 0.01 };

/** How many streams there may be; what is not given is a share of `most`. */
export interface StreamBounds {
  readonly most: number;
  readonly perCaller?: number;
  readonly perTenant?: number;
}

/** Whose stream a caller's is; the operator of a node without an identity provider is nobody's rival. */
export const streamOwner = (identity: Identity): StreamOwner | undefined =>
  identity.kind === 'local'
    ? undefined
    : { caller: JSON.stringify([identity.tenant, identity.kind, identity.subject]), tenant: identity.tenant };

/** Event streams of the server: counted and bounded, together, for each caller and each tenant; ended when it closes. */
export class OpenStreams {
  readonly #open = new Set<AbortController>();
  readonly #callers = new Map<string, number>();
  readonly #tenants = new Map<string, number>();
  readonly #bounds: Required<StreamBounds>;
  #closing = false;

  constructor(bounds: number | StreamBounds) {
    const given = typeof bounds === 'number' ? { most: bounds } : bounds;
    const share = (of: number): number => Math.max(1, Math.floor(given.most * of));
    this.#bounds = { perCaller: share(SHARES.caller), perTenant: share(SHARES.tenant), ...given };
  }

  get count(): number {
    return this.#open.size;
  }

  /** Throws `rate_limited` when the owner has too many, `unavailable` when all have, or the server is closing. */
  open(owner?: StreamOwner): OpenStream {
    if (this.#closing) throw new SvcError('unavailable', 'The server is closing.');
    this.#requireRoom(owner);
    const controller = new AbortController();
    this.#open.add(controller);
    this.#count(owner, 1);
    return {
      signal: controller.signal,
      stop: (reason) => controller.abort(reason),
      [Symbol.dispose]: () => {
        if (this.#open.delete(controller)) this.#count(owner, -1);
      },
    };
  }

  endAll(): void {
    this.#closing = true;
    for (const controller of this.#open) controller.abort('server_closing' satisfies StopReason);
  }

  #requireRoom(owner: StreamOwner | undefined): void {
    const { most, perCaller, perTenant } = this.#bounds;
    const full = (): SvcError =>
      new SvcError('unavailable', 'This node serves as many event streams as it may.', { retryAfterMs: 5_000 });
    if (this.#open.size >= most) throw full();
    if (owner === undefined) return;
    const tooMany = (whose: string, bound: number): SvcError =>
      new SvcError('rate_limited', `${whose} has ${bound} event streams open here, as many as it may.`, {
        retryAfterMs: 5_000,
      });
    if ((this.#callers.get(owner.caller) ?? 0) >= perCaller) throw tooMany('This caller', perCaller);
    if (owner.tenant === undefined) return;
    const ofTenant = this.#tenants.get(owner.tenant) ?? 0;
    if (ofTenant >= perTenant) throw tooMany('This tenant', perTenant);
    const isReserve = most - this.#open.size <= most * SHARES.reserve;
    if (isReserve && ofTenant >= Math.max(1, most * SHARES.few)) throw full();
  }

  #count(owner: StreamOwner | undefined, by: 1 | -1): void {
    if (owner === undefined) return;
    add(this.#callers, owner.caller, by);
    if (owner.tenant !== undefined) add(this.#tenants, owner.tenant, by);
  }
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const now = (counts.get(name) ?? 0) + by;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}
