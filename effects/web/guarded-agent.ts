import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { SvcError } from '../../runtime/errors.ts';
import type { AddressGuard } from './addresses.ts';
import { untilAborted } from './until-aborted.ts';

/** All addresses of a name, as the system resolves it. A part, so that tests can answer as a hostile server does. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (name) =>
  (await systemLookup(name, { all: true, verbatim: true })).map(({ address }) => address);

const MOST_ADDRESSES = 64;
const MAX_HEADER_BYTES = 32 * 1_024;

/**
 * Resolves a host once and checks every address of the answer. Throws `forbidden` when one of them is not public,
 * `unavailable` when there is none.
 */
export async function resolveChecked(
  host: string,
  { guard, resolve, signal }: { readonly guard: AddressGuard; readonly resolve: Resolve; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await namedAddresses(host, resolve, signal) : [host];
  for (const address of addresses.slice(0, MOST_ADDRESSES)) {
    const fault = guard.fault(address);
    // Its address is not told: it would show names of the node's own network.
    if (fault !== null) throw new SvcError('forbidden', `${host} is not a public address (${fault})`, { field: 'url' });
  }
  return addresses.slice(0, MOST_ADDRESSES);
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
 * An agent that connects to these addresses and no others, whatever the host is called: TLS and `Host` keep the name,
 * and nothing is resolved a second time, so an answer that changes meanwhile (DNS rebinding) changes nothing.
 */
export function agentFor(addresses: readonly string[], timeoutMs: number, ca?: string): Agent {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const [first] = all;
  if (first === undefined) throw new SvcError('internal', 'an agent needs an address');
  const lookup: LookupFunction = (_host, options, answer) =>
    options.all === true ? answer(null, all) : answer(null, first.address, first.family);
  return new Agent({
    connect: { lookup, timeout: timeoutMs, ...(ca === undefined ? {} : { ca }) },
    ...{ headersTimeout: timeoutMs, bodyTimeout: timeoutMs, maxHeaderSize: MAX_HEADER_BYTES },
    // One request a connection: the next hop is resolved and checked anew.
    ...{ pipelining: 0, connections: 1 },
  });
}
