import { SvcError } from '../../runtime/errors.ts';
import { AddressShare, addTo } from '../connection-gate.ts';
import type { GrpcLimits } from './limits.ts';

/**
 * Counts the open calls to methods that need no caller, such as health and reflection: in total, for each address and for each
 * connection. Each open call costs memory, however little it sends.
 */
export class AnonymousCalls {
  readonly #limits: Pick<GrpcLimits, 'strangerCalls' | 'strangerCallsInAll'>;
  readonly #share: AddressShare;
  readonly #connections = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  #open = 0;

  constructor(limits: Pick<GrpcLimits, 'strangerCalls' | 'strangerCallsInAll'>, proxies?: readonly string[]) {
    this.#limits = limits;
    this.#share = new AddressShare(limits.strangerCallsInAll, proxies);
  }

  /** Counts a call of the client at `address:port` until the returned function is called. Throws `rate_limited`. */
  enter(peer: string): () => void {
    const address = peer.slice(0, Math.max(0, peer.lastIndexOf(':'))).replace(/^\[|\]$/g, '');
    const { strangerCalls, strangerCallsInAll } = this.#limits;
    const tooMany = (most: number, where: string): SvcError =>
      new SvcError(
        'rate_limited',
        `at most ${most} ${most === 1 ? 'call' : 'calls'} without a caller at once ${where}`,
      );
    if ((this.#connections.get(peer) ?? 0) >= strangerCalls) throw tooMany(strangerCalls, 'on one connection');
    const share = this.#share.of(address);
    if ((this.#addresses.get(address) ?? 0) >= share) throw tooMany(share, 'from one address');
    if (this.#open >= strangerCallsInAll) throw tooMany(strangerCallsInAll, 'on this node');
    this.#count(peer, address, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(peer, address, -1);
    };
  }

  #count(peer: string, address: string, by: 1 | -1): void {
    this.#open += by;
    addTo(this.#connections, peer, by);
    addTo(this.#addresses, address, by);
  }
}
