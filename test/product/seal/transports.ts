import type { IndependentAgent } from './independent-agent.ts';
import { encode, PageClient } from './page.ts';

/** An answer in terms of both transports. */
export interface Answered {
  /** HTTP status, or the name of the gRPC one. */
  readonly status: number | string;
  readonly rpcCode?: number;
  readonly reason?: string;
  readonly message: string;
  readonly retryAfter: boolean;
  readonly id?: unknown;
  /** Result of a call that was executed. */
  readonly result?: { readonly text: string; readonly isError: boolean; readonly structured?: unknown };
  /** The whole answer. */
  readonly text: string;
}

interface Attested {
  readonly status: number | string;
  readonly message: string;
  readonly token: string;
}

/** Envelopes as sent; a field may have any value, or be missing. */
export type Sent = Readonly<Record<string, unknown>>;

export type Headers = Readonly<Record<string, string>>;

/** A client of SEAL: a transport, an address, and a form of the payload. */
export interface SealClient extends Disposable {
  readonly name: string;
  readonly transport: 'REST' | 'gRPC';
  attest(agent: IndependentAgent, fields?: Readonly<Record<string, unknown>>, headers?: Headers): Promise<Attested>;
  invoke(envelope: Sent, headers?: Headers): Promise<Answered>;
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
const membersOf = (value: unknown): Members => (isObject(value) ? value : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function parsed(text: string): Members {
  try {
    return membersOf(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Reads a JSON-RPC answer without assumptions about its shape. */
function read(answer: Members): Partial<Answered> & { readonly message: string } {
  const error = membersOf(answer.error);
  const result = membersOf(answer.result);
  const content = Array.isArray(result.content) ? result.content : [];
  const reason = membersOf(error.data).reason;
  return {
    id: answer.id,
    message: textOf(error.message ?? answer.message),
    ...(typeof error.code === 'number' ? { rpcCode: error.code } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(answer.result === undefined
      ? {}
      : {
          result: {
            text: content.map((part) => textOf(membersOf(part).text)).join(''),
            isError: result.isError === true,
            structured: result.structuredContent,
          },
        }),
  };
}

interface RestOptions {
  readonly name?: string;
  readonly path?: '/v1/seal/invoke' | '/v1/invoke';
  /** The payload as a JSON object, with its RFC 8785 form signed. Default: base64 of the bytes. */
  readonly asObject?: boolean;
}

const wirePayload = (payload: unknown, asObject: boolean): unknown => {
  if (!Buffer.isBuffer(payload)) return payload;
  return asObject ? JSON.parse(payload.toString()) : payload.toString('base64');
};

/** A client that can also send a raw body. */
export interface RestClient extends SealClient {
  invokeText(body: string): Promise<Answered>;
}

export function restClient(url: string, options: RestOptions = {}): RestClient {
  const { path = '/v1/seal/invoke', asObject = false, name = 'REST' } = options;
  const post = async (to: string, body: unknown, headers: Headers = {}) => {
    const response = await fetch(url + to, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const invoke = async (body: unknown, headers?: Headers): Promise<Answered> => {
    const answer = await post(path, body, headers);
    const { status, text } = answer;
    return { status, text, retryAfter: answer.headers.has('retry-after'), ...read(parsed(text)) };
  };
  return {
    name,
    transport: 'REST',
    async attest(agent, fields = {}, headers) {
      const body = { ...agent.is, agent_public_key: agent.rawKey, ...fields };
      const { status, text } = await post('/v1/seal/attest', body, headers);
      const { security_token, message } = parsed(text);
      return { status, message: textOf(message), token: textOf(security_token) };
    },
    invoke: ({ payload, ...envelope }, headers) =>
      invoke({ ...envelope, payload: wirePayload(payload, asObject) }, headers),
    invokeText: (body) => invoke(body),
    [Symbol.dispose]() {},
  };
}

export function grpcClient(address: string, name = 'gRPC'): SealClient {
  const page = new PageClient(address);
  return {
    name,
    transport: 'gRPC',
    async attest(agent, fields = {}, headers) {
      const { agent_public_key = agent.pem, ...rest } = fields;
      const request = encode('AttestAgent', { ...agent.is, public_key_pem: agent_public_key, ...rest });
      const { code, details, message } = await page.call('AttestAgent', request, headers);
      return { status: code, message: details, token: textOf(message.security_token) };
    },
    async invoke(envelope, headers) {
      const { code, details, trailers, message } = await page.call(
        'InvokeTool',
        encode('InvokeTool', envelope),
        headers,
      );
      if (code === 'OK') {
        const text = Buffer.isBuffer(message.result_json) ? message.result_json.toString() : '';
        return { status: code, text, retryAfter: false, ...read(parsed(text)) };
      }
      const [reason] = trailers.get('svc-error-reason');
      const rows = trailers.get('grpc-status-details-bin').map(String);
      return {
        status: code,
        text: details,
        message: details,
        ...(typeof reason === 'string' ? { reason } : {}),
        retryAfter: rows.some((row) => row.includes('RetryInfo')),
      };
    },
    [Symbol.dispose]() {
      page[Symbol.dispose]();
    },
  };
}
