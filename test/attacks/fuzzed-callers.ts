import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../runtime/clock.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { createFileKeys } from '../../security/keys/file-keys.ts';
import { IndependentWorker } from '../transport/cluster/independent-worker.ts';
import { PageClient } from '../transport/cluster/page.ts';
import type { AttackedNode } from './attacked-node.ts';
import { AGENT, deploy } from './cases.ts';

/** A caller that the node admits, so that its messages are read. */
export interface FuzzedCaller {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The methods that it calls. */
  paths(path: string): boolean;
  /** Wraps a payload in an envelope; null: it has no key. */
  readonly seal: ((payload: Buffer) => Buffer) | null;
  close(): void;
}

const STANDARD = '/grpc.';

/**
 * The operator, a registered worker, and a running execution's program, each at its listener; and texts that the node knows.
 */
export async function fuzzedCallers(
  node: AttackedNode,
): Promise<{ readonly callers: readonly FuzzedCaller[]; readonly known: readonly string[] }> {
  const agent = await deploy(node, '/v1/agents', AGENT);
  const execution = randomUUID();
  const worker = new IndependentWorker('fuzzed-worker', new PageClient(node.clusterAddress));
  await worker.join();
  const operator = { authorization: `Bearer ${node.token}` };
  const program = { authorization: `Bearer ${await executionToken(node, execution)}` };
  const at = (address: string, service: string, headers: Readonly<Record<string, string>>): FuzzedCaller => ({
    address,
    headers,
    paths: (path) => path.startsWith(service) || path.startsWith(STANDARD),
    seal: null,
    close: () => undefined,
  });
  const callers = [
    at(node.grpcAddress, '/svc.runtime.', operator),
    at(node.internalGrpcAddress, '/svc.v1.', program),
    {
      ...at(node.clusterAddress, '/svc.cluster.', { authorization: `Bearer ${worker.token}` }),
      seal: (payload: Buffer) => worker.seal(payload),
      close: () => worker.client.close(),
    },
  ];
  return { callers, known: [agent, execution, worker.peerId, 'attacked', 'another-worker', worker.publicKeyPem] };
}

/** A token for the dispatch gateway, signed with the key in the node's data directory. */
export async function executionToken(node: AttackedNode, execution: string): Promise<string> {
  const directory = join(node.dataDirectory, 'signing-keys');
  const keys = createFileKeys({ directory, rotateAfterDays: 365, clock: systemClock });
  await keys.open();
  try {
    const [key] = await keys.publicKeys();
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: 'svc-orchestrator', aud: 'svc-dispatch', sub: execution, tenant_id: SYSTEM_TENANT };
    const header = { alg: 'RS256', kid: key?.kid, typ: 'dispatch+jwt' };
    const signed = [header, { ...claims, iat: now, exp: now + 3_000 }].map((part) => base64url(JSON.stringify(part)));
    const { signature } = await keys.sign(Buffer.from(signed.join('.')));
    return [...signed, Buffer.from(signature).toString('base64url')].join('.');
  } finally {
    await keys.close();
  }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
