import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { SvcError } from '../../runtime/errors.ts';
import { untilAborted } from '../../runtime/kit/waits.ts';

/** Registry of images that name none. */
export const DOCKER_HUB = 'docker.io';

/** Host and port of the registry that an image is pulled from. */
export function registryOf(image: string): string {
  const first = image.slice(0, Math.max(0, image.indexOf('/')));
  return /[.:]/.test(first) || first === 'localhost' ? first : DOCKER_HUB;
}

/** Addresses of a name. */
export type ResolveRegistry = (name: string) => Promise<readonly string[]>;

const systemResolve: ResolveRegistry = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address);

interface RegistryRules {
  /** Registries that are named: `host`, `host:port` or `*.domain`. Absent: all but metadata services. */
  readonly allowed: readonly string[] | undefined;
  readonly resolve?: ResolveRegistry | undefined;
  readonly signal: AbortSignal;
}

/**
 * Refuses an image whose registry is not allowed. The engine connects to the registry from the node's own network, and its
 * error repeats what answered there, so images could be used to probe that network. Without a list every registry is allowed
 * except link-local addresses, metadata services (where clouds serve the credentials of a machine), and names that resolve to
 * these. The engine decides about a name that this node cannot resolve. Throws `image_unavailable`.
 */
export async function refuseRegistry(image: string, { allowed, resolve, signal }: RegistryRules): Promise<void> {
  const registry = registryOf(image).toLowerCase();
  const isAllowed =
    allowed === undefined
      ? !(await isMetadata(registry, resolve ?? systemResolve, signal))
      : allowed.some((entry) => matches(entry.toLowerCase(), registry));
  if (isAllowed) return;
  const text = `image ${image}: this node does not pull from ${registry} (spec.runtime.containers.registries)`;
  throw new SvcError('image_unavailable', text);
}

const matches = (entry: string, registry: string): boolean =>
  entry.startsWith('*.') ? registry.endsWith(entry.slice(1)) : registry === entry;

/** Also of an address that is written as a number, as systems read it. */
async function isMetadata(registry: string, resolve: ResolveRegistry, signal: AbortSignal): Promise<boolean> {
  const host = (URL.parse(`http://${registry}`)?.hostname ?? '').replace(/^\[|\]$/g, '');
  if (host === '') return false;
  if (isIP(host) !== 0) return isMetadataAddress(host);
  return (await addressesOf(host, resolve, signal)).some(isMetadataAddress);
}

async function addressesOf(host: string, resolve: ResolveRegistry, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return await untilAborted(resolve(host), signal);
  } catch {
    signal.throwIfAborted();
    // The engine may know the name, and its error says if it does not.
    return [];
  }
}

/** Metadata services of Azure, Alibaba, AWS and Google Cloud, besides the link-local 169.254.169.254 of all. */
const METADATA: ReadonlySet<string> = new Set(['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']);
/** NAT64: the target is the IPv4 address in the last 32 bits. */
const NAT64 = ipaddr.IPv6.parse('64:ff9b::');

function isMetadataAddress(text: string): boolean {
  const [plain = ''] = text.split('%');
  if (!ipaddr.isValid(plain)) return false;
  const address = unwrapped(ipaddr.parse(plain));
  return address.range() === 'linkLocal' || METADATA.has(address.toString());
}

/** The IPv4 address that a connection to a mapped or NAT64 address reaches. */
function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64, 96) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}
