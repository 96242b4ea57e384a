import { isIPv6 } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import { SvcError } from '../../../runtime/errors.ts';
import { single } from '../access.ts';
import { invalid } from './wire-names.ts';

/** Metadata of RegisterNode: where the node's own NodeClusterService is reached (decided.md "Nodes"). */
export const NODE_ADDRESS_KEY = 'svc-node-grpc-address';

const DEFAULT_PORT = 50_056;
const ADDRESS = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9][A-Za-z0-9._-]{0,252})):(\d{1,5})$/;

/**
 * `host:port` of the node that registers: what it says, else the address it calls from and the default port. Throws
 * `invalid_argument` for what is no address.
 */
export function nodeAddress(metadata: Metadata, peer: string): string {
  const said = single(metadata, NODE_ADDRESS_KEY);
  return said === undefined ? `${callerHost(peer)}:${DEFAULT_PORT}` : checked(said);
}

function checked(address: string): string {
  const [, ipv6, , port] = ADDRESS.exec(address) ?? [];
  const number = Number(port);
  if (number >= 1 && number <= 65_535 && (ipv6 === undefined || isIPv6(ipv6))) return address;
  throw invalid(NODE_ADDRESS_KEY, 'host:port, an IPv6 address in brackets');
}

/** The library tells `address:port`, IPv6 without brackets, and IPv4 callers of a dual-stack socket as IPv6. */
export function callerHost(peer: string): string {
  const ip = peer.slice(0, peer.lastIndexOf(':')).replace(/^::ffff:(?=\d+\.)/, '');
  if (ip === '') throw new SvcError('invalid_argument', `${NODE_ADDRESS_KEY}: expected host:port`);
  return isIPv6(ip) ? `[${ip}]` : ip;
}
