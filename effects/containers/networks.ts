import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerEngine } from './engine.ts';
import { isGone } from './engine-error.ts';

interface NetworkOptions {
  /** Whether all listeners of this node are bound to loopback: then no container network reaches them. */
  readonly onLoopback: boolean;
  /** Addresses of this machine; replaced in tests. */
  readonly own?: () => readonly string[];
}

/**
 * The networks of the containers that this node starts. Connections from there come from agents, so the node's listeners
 * refuse them except for the calls that agents may make.
 */
export class ContainerNetworks {
  readonly #known = new BlockList();
  readonly #learned = new Set<string>();
  readonly #onLoopback: boolean;
  readonly #own: () => readonly string[];

  constructor({ onLoopback, own = addressesOfThisMachine }: NetworkOptions) {
    this.#onLoopback = onLoopback;
    this.#own = own;
  }

  /** Whether a peer's address belongs to a container. */
  readonly has = (address: string | undefined): boolean => {
    const plain = (address ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    return isIP(plain) !== 0 && this.#known.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
  };

  /**
   * Call it before a container joins a network; `has` knows the addresses afterwards. Throws `unsupported_isolation` if the
   * node listens beyond loopback and could not tell the container from other clients.
   */
  async learn(engine: ContainerEngine, mode: string, signal: AbortSignal): Promise<void> {
    if (mode === 'none' || this.#learned.has(mode)) return;
    const refuse = (why: string): never => {
      throw new SvcError('unsupported_isolation', `this node does not run containers with the network ${mode}: ${why}`);
    };
    if (!this.#onLoopback && (await engine.facts(signal)).rootless)
      refuse(
        'connections from a rootless engine appear to come from this machine, and the node listens beyond loopback',
      );
    const found = await subnetsOf(engine, mode, signal);
    const own = new BlockList();
    for (const { subnet } of found) addTo(own, subnet);
    const gateways = new Set(found.map(({ gateway }) => gateway));
    const inside = this.#own().filter((address) => !gateways.has(address) && own.check(address, familyOf(address)));
    if (inside.length > 0) refuse(`this node is itself in that network, as ${inside.join(', ')}`);
    if (found.length === 0 && !this.#onLoopback) refuse('the engine reports no addresses of that network');
    for (const { subnet } of found) addTo(this.#known, subnet);
    this.#learned.add(mode);
  }
}

interface Subnet {
  readonly subnet: string;
  readonly gateway: string | undefined;
}

/** Empty if the engine has no such network; it then rejects the container. */
async function subnetsOf(engine: ContainerEngine, mode: string, signal: AbortSignal): Promise<readonly Subnet[]> {
  try {
    const { IPAM: ipam } = await engine.call(signal, (docker) => docker.getNetwork(mode).inspect());
    const parts: readonly Readonly<Record<string, unknown>>[] = ipam?.Config ?? [];
    return parts.flatMap(({ Subnet: subnet, Gateway: gateway }) =>
      typeof subnet === 'string' ? [{ subnet, gateway: typeof gateway === 'string' ? gateway : undefined }] : [],
    );
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

function addTo(list: BlockList, subnet: string): void {
  const [address = '', bits = ''] = subnet.split('/');
  list.addSubnet(address, Number(bits), familyOf(address));
}

const addressesOfThisMachine = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address);
