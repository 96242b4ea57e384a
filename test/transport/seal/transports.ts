import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { z } from 'zod';
import type { AttestAgentResponse, InvokeToolResponse } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { clientOf, metadataOf, text, unaryWhole } from './grpc-call.ts';
import { AGENT, type Running, type SealServer } from './seal-server.ts';

/** An answer in words that both transports have. */
export interface Answered {
  /** HTTP status, or the name of the gRPC one. */
  readonly status: number | string;
  readonly rpcCode?: number;
  readonly reason?: string;
  readonly message: string;
  readonly retryAfter: boolean;
  /** Of a call that was made. */
  readonly result?: { readonly text: string; readonly isError: boolean; readonly structured?: unknown };
  readonly id?: unknown;
}

export interface Attested {
  readonly status: number | string;
  readonly message: string;
  readonly token: string;
}

export type Envelope = {
  readonly protocol: string;
  readonly security_token: string;
  readonly signature: string;
  readonly payload: Buffer;
  readonly timestamp: string;
};

export interface AttestFields {
  readonly agent_id: string;
  readonly execution_id: string;
  readonly container_id: string;
  readonly key: string | null;
}

/** One way into the node. */
export interface Door {
  readonly name: 'REST' | 'gRPC';
  invoke(envelope: Envelope, bearer?: string): Promise<Answered>;
  attest(fields: AttestFields, agent: KeyObject, bearer?: string): Promise<Attested>;
}

const RpcAnswer = z.object({
  jsonrpc: z.literal('2.0').optional(),
  id: z.unknown().optional(),
  result: z
    .object({
      content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
      isError: z.boolean(),
      structuredContent: z.unknown().optional(),
    })
    .optional(),
  error: z.unknown().optional(),
  message: z.string().optional(),
});
const RpcError = z.object({
  code: z.number(),
  message: z.string(),
  data: z.object({ reason: z.string() }).optional(),
});

const resultOf = (answer: z.output<typeof RpcAnswer>) =>
  answer.result === undefined
    ? {}
    : {
        result: {
          text: answer.result.content.map((part) => part.text ?? '').join(''),
          isError: answer.result.isError,
          structured: answer.result.structuredContent,
        },
      };

export function restDoor(at: Pick<SealServer, 'restUrl'>, path = '/v1/seal/invoke'): Door {
  const post = async (url: string, body: object, bearer?: string) => {
    const auth = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const response = await fetch(at.restUrl + url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...auth },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: await response.text() };
  };
  return {
    name: 'REST',
    async invoke({ payload, ...envelope }, bearer) {
      const {
        status: code,
        headers,
        body,
      } = await post(path, { ...envelope, payload: payload.toString('base64') }, bearer);
      const answer = RpcAnswer.parse(JSON.parse(body));
      const error = RpcError.safeParse(answer.error).data;
      return {
        status: code,
        id: answer.id,
        ...(error === undefined ? {} : { rpcCode: error.code }),
        ...(error?.data === undefined ? {} : { reason: error.data.reason }),
        message: error?.message ?? answer.message ?? '',
        retryAfter: headers.has('retry-after'),
        ...resultOf(answer),
      };
    },
    async attest({ key, ...fields }, agent, bearer) {
      const spki = agent.export({ type: 'spki', format: 'der' }).subarray(12);
      const answer = await post(
        '/v1/seal/attest',
        { ...fields, agent_public_key: key ?? spki.toString('base64') },
        bearer,
      );
      const body = z
        .object({ security_token: z.string().default(''), message: z.string().default('') })
        .parse(JSON.parse(answer.body));
      return { status: answer.status, message: body.message, token: body.security_token };
    },
  };
}

export function grpcDoor(at: Pick<SealServer, 'grpcAddress'>): Door {
  const client = () => clientOf(at.grpcAddress);
  const meta = (bearer?: string) => metadataOf(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` });
  return {
    name: 'gRPC',
    async invoke(envelope, bearer) {
      const end = await unaryWhole<InvokeToolResponse>(client(), (one, done) =>
        one.invokeTool(envelope, meta(bearer), done),
      );
      if (end.value === null) {
        const reason = text(end.metadata, 'svc-error-reason');
        return {
          status: status[end.code] ?? '?',
          ...(reason === undefined ? {} : { reason }),
          message: end.details,
          retryAfter: end.metadata.get('grpc-status-details-bin').some((bytes) => bytes.includes('RetryInfo')),
        };
      }
      const answer = RpcAnswer.parse(JSON.parse(end.value.result_json.toString()));
      return { status: 'OK', id: answer.id, message: '', retryAfter: false, ...resultOf(answer) };
    },
    async attest({ key, ...fields }, agent, bearer) {
      const pem = key ?? String(agent.export({ type: 'spki', format: 'pem' }));
      const end = await unaryWhole<AttestAgentResponse>(client(), (one, done) =>
        one.attestAgent({ ...fields, public_key_pem: pem }, meta(bearer), done),
      );
      return { status: status[end.code] ?? '?', message: end.details, token: end.value?.security_token ?? '' };
    },
  };
}

/** An agent written from the specification: its own key, its own JSON. */
export class Agent {
  readonly #keys = generateKeyPairSync('ed25519');
  readonly running: Running;
  token = '';

  constructor(running: Running) {
    this.running = running;
  }

  get publicKey(): KeyObject {
    return this.#keys.publicKey;
  }

  double(): Agent {
    return new Agent(this.running);
  }

  fields(more: Partial<AttestFields> = {}): AttestFields {
    const { executionId } = this.running;
    return { agent_id: AGENT, execution_id: executionId, container_id: executionId, key: null, ...more };
  }

  async attest(door: Door, bearer?: string): Promise<this> {
    const { token, status: code, message } = await door.attest(this.fields(), this.publicKey, bearer);
    if (token === '') throw new Error(`attest: ${code} ${message}`);
    this.token = token;
    return this;
  }

  get sessionId(): string {
    const claims: unknown = JSON.parse(Buffer.from(this.token.split('.')[1] ?? '', 'base64url').toString());
    return z.object({ jti: z.string() }).parse(claims).jti;
  }

  call(id: unknown, name: unknown, args?: unknown, more: object = {}): Envelope {
    const params = { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) };
    return this.seal({ jsonrpc: '2.0', id, method: 'tools/call', params, ...more });
  }

  seal(payload: unknown, more: Partial<Envelope> = {}): Envelope {
    const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
    return {
      protocol: 'seal/v1',
      security_token: this.token,
      signature: sign(null, bytes, this.#keys.privateKey).toString('base64'),
      payload: bytes,
      timestamp: new Date().toISOString(),
      ...more,
    };
  }
}
