import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { Agent } from 'undici';
import { SvcError } from '../../runtime/errors.ts';
import { untilAborted } from '../../runtime/kit/waits.ts';

/** Resolves a name to all its addresses. A port, so that tests can act as a hostile server. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (name) =>
  (await systemLookup(name, { all: true, verbatim: true })).map(({ address }) => address);

const MAX_ADDRESSES = 64;

const MAX_HEADER_BYTES = 32 * 1_024;

/**
 * Resolves a host once and checks each address. Throws `forbidden` if one of them is not public, `unavailable` if the
 * name has no address.
 */
export async function resolveChecked(
  host: string,
  { guard, resolve, signal }: { readonly guard: AddressGuard; readonly resolve: Resolve; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await namedAddresses(host, resolve, signal) : [host];
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    const fault = guard.fault(address);
    // The message omits the address, which would reveal the node's own network.
    if (fault !== null) throw new SvcError('forbidden', `${host} is not a public address (${fault})`, { field: 'url' });
  }
  return addresses.slice(0, MAX_ADDRESSES);
}

async function namedAddresses(host: string, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const found = await untilAborted(resolve(host), signal);
    if (found.length > 0) return found;
  } catch (cause) {
    signal.throwIfAborted();
    throw new SvcError('unavailable', `the name ${host} could not be resolved`, { cause });
  }
  throw new SvcError('unavailable', `the name ${host} has no address`);
}

/**
 * An agent that connects only to these addresses; TLS and `Host` still use the name. The name is not resolved again, so an
 * answer that changes meanwhile (DNS rebinding) has no effect.
 */
export function agentFor(addresses: readonly string[], timeoutMs: number, ca?: string): Agent {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const [first] = all;
  if (first === undefined) throw new SvcError('internal', 'an agent needs an address');
  const lookup: LookupFunction = (_host, options, answer) =>
    options.all === true ? answer(null, all) : answer(null, first.address, first.family);
  return new Agent({
    connect: { lookup, timeout: timeoutMs, ca },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    // One request a connection: the next hop is resolved and checked again.
    pipelining: 0,
    connections: 1,
  });
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

type Range = readonly [Address, number];

/** Global unicast addresses of metadata and platform services. */
const PLATFORM = new Set(['168.63.129.16']);

/** The range from which IANA allocates global unicast IPv6. */
const GLOBAL_V6: Range = [ipaddr.IPv6.parse('2000::'), 3];

/** Special ranges that ipaddr.js does not know or counts as global. */
const SPECIAL_V6: readonly Range[] = [
  [ipaddr.IPv6.parse('2001::'), 23],
  [ipaddr.IPv6.parse('2001:db8::'), 32],
  [ipaddr.IPv6.parse('2002::'), 16],
  [ipaddr.IPv6.parse('3ffe::'), 16],
  [ipaddr.IPv6.parse('3fff::'), 20],
  [ipaddr.IPv6.parse('5f00::'), 16],
];

/** NAT64: the target is the IPv4 address in the last 32 bits. */
const NAT64: Range = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/** Decides which addresses pages may be fetched from: public ones and those that the operator allows. */
export class AddressGuard {
  readonly #allowed: readonly Range[];
  readonly #own: () => ReadonlySet<string>;

  /** `allowed`: CIDRs. `own`: addresses of this machine, which are refused even if they are public. */
  constructor(allowed: readonly string[], own: () => ReadonlySet<string> = ownAddresses) {
    this.#allowed = allowed.map((cidr) => ipaddr.parseCIDR(cidr));
    this.#own = own;
  }

  /** Why the address is refused; null for an allowed one. */
  fault(text: string): string | null {
    if (text.includes('%') || !ipaddr.isValid(text)) return 'not an address';
    const address = unwrapped(ipaddr.parse(text));
    if (this.#allowed.some((range) => within(address, range))) return null;
    const range = faultOf(address);
    if (range !== null) return range;
    return this.#own().has(address.toString()) ? 'of this machine' : null;
  }
}

/** The IPv4 address that connections to a mapped or NAT64 address reach. */
function unwrapped(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return within(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

function faultOf(address: Address): string | null {
  const range = address.range();
  if (range !== 'unicast') return range;
  if (PLATFORM.has(address.toString())) return 'a platform service';
  if (address instanceof ipaddr.IPv4) return null;
  if (!within(address, GLOBAL_V6)) return 'reserved';
  return SPECIAL_V6.some((special) => within(address, special)) ? 'reserved' : null;
}

const within = (address: Address, [network, bits]: Range): boolean =>
  address.kind() === network.kind() && address.match(network, bits);

function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const valid = all.map(({ address }) => address).filter((address) => ipaddr.isValid(address));
  return new Set(valid.map((address) => ipaddr.parse(address).toString()));
}
