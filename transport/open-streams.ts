import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import { addTo } from './connection-gate.ts';

/**
 * Why a stream is stopped. `access_ended`: the key or token of its caller is revoked or has expired; `unchecked`: that
 * could not be checked for a long time.
 */
type StopReason = 'client_gone' | 'too_slow' | 'server_closing' | 'access_ended' | 'unchecked';

/** An open stream. Its signal aborts with a `StopReason`. */
export interface OpenStream extends Disposable {
  readonly signal: AbortSignal;
  stop(reason: StopReason): void;
}

/** The caller and tenant that a stream counts for. */
export interface StreamOwner {
  readonly caller: string;
  /** Absent: the stream counts only for the caller. */
  readonly tenant?: string;
}

/**
 * Limits as shares of all streams: the most for one caller, the most for one tenant, the reserve for tenants with few
 * streams, and the share up to which a tenant counts as having few.
 */
const SHARES = { caller: 0.1, tenant: 0.25, reserve: 0.1, few: 0.01 };

/** Limits for streams. A missing limit is a share of `most`. */
interface StreamBounds {
  readonly most: number;
  readonly perCaller?: number;
  readonly perTenant?: number;
}

/**
 * The owner that a caller's stream counts for. Undefined for the operator of a node without an identity provider, who
 * shares the node with no other caller.
 */
export const streamOwner = (identity: Identity): StreamOwner | undefined =>
  identity.kind === 'local'
    ? undefined
    : { caller: JSON.stringify([identity.tenant, identity.kind, identity.subject]), tenant: identity.tenant };

/**
 * Counts and limits the server's open event streams, in total, for each caller and for each tenant. Ends them when it
 * closes.
 */
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

  /**
   * Opens a stream. Throws `rate_limited` when the owner has too many, `unavailable` when there are too many in total
   * or the server is closing.
   */
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
      new SvcError(
        'unavailable',
        'This node has the maximum of open event streams. Try again later, or use another node.',
        { retryAfterMs: 5_000 },
      );
    if (this.#open.size >= most) throw full();
    if (owner === undefined) return;
    const tooMany = (whose: string, bound: number): SvcError =>
      new SvcError(
        'rate_limited',
        `${whose} has ${bound} event streams open on this node, the maximum. Close one first.`,
        {
          retryAfterMs: 5_000,
        },
      );
    if ((this.#callers.get(owner.caller) ?? 0) >= perCaller) throw tooMany('This caller', perCaller);
    if (owner.tenant === undefined) return;
    const ofTenant = this.#tenants.get(owner.tenant) ?? 0;
    if (ofTenant >= perTenant) throw tooMany('This tenant', perTenant);
    const isReserve = most - this.#open.size <= most * SHARES.reserve;
    if (isReserve && ofTenant >= Math.max(1, most * SHARES.few)) throw full();
  }

  #count(owner: StreamOwner | undefined, by: 1 | -1): void {
    if (owner === undefined) return;
    addTo(this.#callers, owner.caller, by);
    if (owner.tenant !== undefined) addTo(this.#tenants, owner.tenant, by);
  }
}
