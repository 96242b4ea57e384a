import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Range = readonly [Address, number];

/** Global unicast that is somebody's metadata or platform service all the same. */
const PLATFORM = new Set(['168.63.129.16']);
/** All that IANA gives out as global unicast of IPv6. */
const GLOBAL_V6: Range = [ipaddr.IPv6.parse('2000::'), 3];
/** Not known to ipaddr.js by name, or by it as global. */
const SPECIAL_V6: readonly Range[] = [
  [ipaddr.IPv6.parse('2001::'), 23],
  [ipaddr.IPv6.parse('2001:db8::'), 32],
  [ipaddr.IPv6.parse('2002::'), 16],
  [ipaddr.IPv6.parse('3ffe::'), 16],
  [ipaddr.IPv6.parse('3fff::'), 20],
  [ipaddr.IPv6.parse('5f00::'), 16],
];
/** NAT64: what is behind it is the IPv4 address in its last 32 bits. */
const NAT64: Range = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/** Which addresses pages may be fetched from: public ones, and what the operator allows besides. */
export class AddressGuard {
  readonly #allowed: readonly Range[];
  readonly #own: () => ReadonlySet<string>;

  /** `allowed`: CIDRs. `own`: addresses of this machine, which may be public and are refused all the same. */
  constructor(allowed: readonly string[], own: () => ReadonlySet<string> = ownAddresses) {
    this.#allowed = allowed.map((cidr) => ipaddr.parseCIDR(cidr));
    this.#own = own;
  }

  /** What the address is, when nothing may be fetched from it; null for a good one. */
  fault(text: string): string | null {
    if (text.includes('%') || !ipaddr.isValid(text)) return 'not an address';
    const address = unwrapped(ipaddr.parse(text));
    if (this.#allowed.some((range) => within(address, range))) return null;
    const range = faultOf(address);
    if (range !== null) return range;
    return this.#own().has(address.toString()) ? 'of this machine' : null;
  }
}

/** An IPv4 address that an IPv6 one stands for, as far as connections to it go there. */
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
