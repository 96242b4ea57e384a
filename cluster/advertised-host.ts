import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const WILDCARDS = ['0.0.0.0', '::', '', '*'];

/**
 * The host that other nodes use for this one: `spec.cluster.advertise_host`, else the bound address, else (when bound to all
 * addresses) the first that is not internal, IPv4 before IPv6, else loopback.
 */
export function advertisedHost(
  configured: string | undefined,
  bound: string,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string {
  if (configured !== undefined) return configured;
  if (!WILDCARDS.includes(bound)) return bound;
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // Link-local addresses are not usable without the interface.
    .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address));
  const first = outer.find(({ family }) => family === 'IPv4') ?? outer[0];
  return first?.address ?? '127.0.0.1';
}

/** `host:port`, an IPv6 host in brackets. */
export const hostPort = (host: string, port: number): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** Null unless it has the form that `hostPort` writes. */
export function parseHostPort(text: string): HostPort | null {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

/** A bound `host:port` as other nodes use it. */
export function advertised(bound: string, configured: string | undefined): string {
  const parsed = parseHostPort(bound);
  return parsed === null ? bound : hostPort(advertisedHost(configured, parsed.host), parsed.port);
}
