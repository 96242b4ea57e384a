import { randomUUID } from 'node:crypto';

const IDENTITY_POINT = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]);
const PEM_OF = (raw: Buffer): string =>
  `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]).toString('base64')}\n-----END PUBLIC KEY-----\n`;

export interface AttestRow {
  readonly what: string;
  readonly is: readonly [http: number, grpc: string];
  readonly message?: RegExp;
  /** Fields that differ from the true ones. `agent_public_key`: base64 over REST, PEM over gRPC. */
  fields?(transport: 'REST' | 'gRPC'): {
    readonly agent_id?: string;
    readonly execution_id?: string;
    readonly container_id?: string;
    readonly agent_public_key?: string;
  };
}

const INVALID = [400, 'INVALID_ARGUMENT'] as const;
export const UNKNOWN = /execution_id: no such execution in this tenant/;

/** False statements of an agent about itself, over both transports. */
export const ATTEST_ROWS: readonly AttestRow[] = [
  {
    what: 'an unknown execution',
    is: [404, 'NOT_FOUND'],
    message: UNKNOWN,
    fields: () => ({ execution_id: randomUUID() }),
  },
  { what: 'another agent', is: [403, 'PERMISSION_DENIED'], fields: () => ({ agent_id: randomUUID() }) },
  { what: 'another container', is: [403, 'PERMISSION_DENIED'], fields: () => ({ container_id: 'c0ffee' }) },
  { what: 'a malformed agent id', is: INVALID, message: /agent.id/, fields: () => ({ agent_id: 'x' }) },
  {
    what: 'a malformed execution id',
    is: INVALID,
    message: /execution.id/,
    fields: () => ({ execution_id: '../x' }),
  },
  { what: 'no container id', is: INVALID, message: /container_id/, fields: () => ({ container_id: '' }) },
  {
    what: 'a container id that is too long',
    is: INVALID,
    message: /container_id/,
    fields: () => ({ container_id: 'c'.repeat(200) }),
  },
  { what: 'a text that is no key', is: INVALID, message: /key/, fields: () => ({ agent_public_key: 'AAAA' }) },
  { what: 'no key', is: INVALID, message: /key/, fields: () => ({ agent_public_key: '' }) },
  {
    what: 'a key of small order, for which anyone can sign',
    is: INVALID,
    message: /key/,
    fields: (transport) => ({
      agent_public_key: transport === 'REST' ? IDENTITY_POINT.toString('base64') : PEM_OF(IDENTITY_POINT),
    }),
  },
];
