import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import type { Touches } from '../../manifests/tool/contract.ts';
import type { Capability, ManifestTool, ToolScope } from '../../manifests/tool/scope.ts';
import { type Breach, STAGE } from './api.ts';

type Touched = NonNullable<Touches['domains']>[number];
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A normalised host: lower case, without a trailing dot. `address` is set when the host is an IP address in any notation. */
interface Host {
  readonly field: string;
  readonly name: string;
  readonly address: Address | null;
}

/** Null when it is not a host. It then matches no allowlist and is denied. */
function hostOf({ field, domain }: Touched): Host | null {
  const bare = domain.startsWith('[') && domain.endsWith(']') ? domain.slice(1, -1) : domain;
  if (ipaddr.IPv6.isValid(bare)) return { field, name: bare, address: ipaddr.process(bare) };
  const name = domainToASCII(bare.replace(/\.$/, '')).toLowerCase();
  if (name === '' || name.length > 253 || !/^[a-z0-9_.-]+$/.test(name)) return null;
  // Resolvers read 0x7f.1 and 2130706433 as addresses too.
  return { field, name, address: ipaddr.IPv4.isValid(name) ? ipaddr.IPv4.parse(name) : null };
}

/**
 * `example.com` matches itself and its subdomains, `*.example.com` its subdomains only; addresses and CIDR blocks match
 * addresses.
 */
function fitsTarget(target: string, { name, address }: Pick<Host, 'name' | 'address'>): boolean {
  if (target === '*') return true;
  if (address !== null) return blockHolds(target, address);
  const domain = domainToASCII(target.replace(/^\*\./, '').replace(/\.$/, '')).toLowerCase();
  if (domain === '') return false;
  return (name === domain && !target.startsWith('*.')) || name.endsWith(`.${domain}`);
}

function blockHolds(target: string, address: Address): boolean {
  const [text = '', prefix] = target.split('/');
  if (!ipaddr.isValid(text)) return false;
  const base = ipaddr.process(text);
  if (base.kind() !== address.kind()) return false;
  const bits = prefix === undefined ? (base.kind() === 'ipv4' ? 32 : 128) : Number(prefix);
  // In an IPv4 block that is written as IPv6 the prefix length counts from bit 96.
  const mapped = prefix !== undefined && text.includes(':') && base.kind() === 'ipv4' ? bits - 96 : bits;
  return mapped >= 0 && address.match(base, mapped);
}

/** Checks the domains against the capability, the manifest's network rules and the entry for web tools; all must allow them. */
export function domainBreach(
  domains: readonly Touched[],
  scope: Pick<ToolScope, 'network'>,
  capability: Capability,
): Breach | null {
  for (const touched of domains) {
    const problem = hostProblem(touched, scope, capability);
    if (problem !== null) return breachAt(touched.field, problem);
  }
  return null;
}

/** Checks a tool that searches. It names no host, so it is refused only where no host at all is allowed. */
export function networkBreach(
  reaches: Touches['network'],
  { network }: Pick<ToolScope, 'network'>,
  { domain_allowlist }: Capability,
): Breach | null {
  if (reaches !== true) return null;
  const isClosed =
    network !== null && (network.mode === 'none' || (network.mode === 'deny' && !network.allowlist.length));
  if (!isClosed && domain_allowlist?.length !== 0) return null;
  const message = isClosed ? 'the manifest allows no network' : "the security context's domain allowlist is empty";
  return { reason: 'DomainNotAllowed', message, stage: STAGE.domain };
}

/** Checks `config.allowed_domains` of an entry for `mcp:web-search`; an empty list allows all domains. */
export function entryDomainBreach(domains: readonly Touched[], { server, config }: ManifestTool): Breach | null {
  const allowed = config.allowed_domains;
  if (server !== 'mcp:web-search' || !Array.isArray(allowed) || allowed.length === 0) return null;
  const outside = domains.find((touched) => {
    const host = hostOf(touched);
    return host === null || !allowed.some((target) => typeof target === 'string' && fitsTarget(target, host));
  });
  return outside === undefined ? null : breachAt(outside.field, `${nameOf(outside)} is not in its allowed_domains`);
}

function hostProblem(
  touched: Touched,
  { network }: Pick<ToolScope, 'network'>,
  { domain_allowlist }: Capability,
): string | null {
  const host = hostOf(touched);
  if (host === null) return 'expected a host name or an address';
  const isIn = (targets: readonly string[]): boolean => targets.some((target) => fitsTarget(target, host));
  if (domain_allowlist !== undefined && !isIn(domain_allowlist))
    return `${host.name} is not in the security context's domain allowlist`;
  if (network === null) return null;
  const { mode, allowlist, denylist } = network;
  if (mode === 'none') return 'the manifest allows no network';
  if (mode === 'deny' || allowlist.length > 0) {
    if (!isIn(allowlist)) return `${host.name} is not in the manifest's network allowlist`;
  }
  return isIn(denylist) ? `${host.name} is in the manifest's network denylist` : null;
}

const nameOf = ({ domain }: Touched): string => domain.slice(0, 253);

const breachAt = (field: string, problem: string): Breach => ({
  reason: 'DomainNotAllowed',
  field,
  message: `${field}: ${problem}`,
  stage: STAGE.domain,
});
