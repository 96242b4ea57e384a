import { readFileSync } from 'node:fs';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';

export interface ConnectionLimits {
  /** Most open connections of a listener; further ones are closed at once. */
  readonly connections: number;
  /**
   * Share of the process's file descriptors that its connections may use. The shares of all listeners leave some for
   * stores and files.
   */
  readonly descriptorShare: number;
}

/** Shares of a listener's connections for one address. A proxy's address stands for all its clients. */
const SHARES = { proxy: 0.9, other: 0.25 };
/** Addresses of this machine, where a proxy needs no configuration. */
const THIS_MACHINE = ['127.0.0.0/8', '::1'];
/** Assumed number of descriptors where the system does not report one. */
const USUAL_DESCRIPTORS = 65_536;

/** Most connections: the setting, or fewer when the process has few descriptors. */
export function mostConnections({ connections, descriptorShare }: ConnectionLimits): number {
  return Math.max(1, Math.min(connections, Math.floor(descriptors() * descriptorShare)));
}

let known: number | undefined;

/** The limit RLIMIT_NOFILE of the process. */
function descriptors(): number {
  known ??= limitOf(process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : '');
  return known;
}

function limitOf(table: string): number {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(table)?.[1]);
  return Number.isSafeInteger(soft) && soft > 0 ? soft : USUAL_DESCRIPTORS;
}

/** Parses addresses and networks such as 10.0.0.0/8. */
function proxiesAt(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of addresses) {
    const [address = '', bits] = text.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Shares of a limit: how many connections one address may have. */
export class AddressShare {
  readonly #most: number;
  readonly #proxies: BlockList;

  /** `proxies`: addresses and networks of proxies besides this machine (`spec.network.trust_proxy`). */
  constructor(most: number, proxies: readonly string[] = []) {
    this.#most = most;
    this.#proxies = proxiesAt([...THIS_MACHINE, ...proxies]);
  }

  of(address: string): number {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
    const isProxy = isIP(plain) !== 0 && this.#proxies.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
    return Math.max(1, Math.ceil(this.#most * (isProxy ? SHARES.proxy : SHARES.other)));
  }
}

/** Counts the connections of one listener, in total and for each address, and closes at once those over a limit. */
export class ConnectionGate {
  readonly #most: number;
  readonly #addresses = new Map<string, number>();
  readonly #share: AddressShare;
  readonly #refuses: (address: string) => boolean;
  #open = 0;

  /**
   * `proxies`: addresses and networks of proxies besides this machine (`spec.network.trust_proxy`). `refuses`: returns
   * true for addresses that this listener must not serve.
   */
  constructor(most: number, proxies: readonly string[] = [], refuses: (address: string) => boolean = () => false) {
    this.#most = most;
    this.#refuses = refuses;
    this.#share = new AddressShare(most, proxies);
  }

  /** Accepts or closes a connection; returns whether it was accepted. */
  enter(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#addresses.get(address) ?? 0;
    if (this.#refuses(address) || this.#open >= this.#most || ofAddress >= this.#share.of(address)) {
      socket.destroy();
      return false;
    }
    this.#open += 1;
    addTo(this.#addresses, address, 1);
    socket.on('close', () => this.#leave(address));
    return true;
  }

  #leave(address: string): void {
    this.#open -= 1;
    addTo(this.#addresses, address, -1);
  }
}

/** Adds to one of the counts by name; a count of 0 is removed. */
export function addTo(counts: Map<string, number>, name: string, by: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + by;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}
