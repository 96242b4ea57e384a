import { ERRORS, SvcError } from '../../runtime/errors.ts';
import { isJsonObject, type Json } from '../../runtime/json.ts';

/** JSON-RPC error codes that this server answers with. */
export const PARSE_ERROR = -32_700;

export const INVALID_REQUEST = -32_600;

export const INVALID_PARAMS = -32_602;

export const INTERNAL_ERROR = -32_603;

/** What a message lacks to be one of JSON-RPC, with the member; null for a message. The SDK says only that it is none. */
export function notRpc(message: Json): string | null {
  if (!isJsonObject(message)) return 'expected an object';
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== '2.0') return 'jsonrpc: expected "2.0"';
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id))
    return 'id: expected text or a whole number';
  if (method === undefined && message.result === undefined && message.error === undefined) return 'method: required';
  if (method !== undefined && typeof method !== 'string') return 'method: expected text';
  if (params !== undefined && !isJsonObject(params)) return 'params: expected an object';
  return null;
}

/** An error answer: the SDK sends `code`, `message` and `data` of a thrown error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: number, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Called with an internal error; the client gets no details of it. */
export type OnBug = (error: unknown) => void;

/** An error as a JSON-RPC error. The text of a bug is not sent. */
export function rpcErrorOf(thrown: unknown, onBug: OnBug): RpcError {
  if (thrown instanceof RpcError) return thrown;
  if (thrown instanceof SvcError && thrown.row.kind !== 'bug') {
    return new RpcError(INTERNAL_ERROR, thrown.message, { code: thrown.code });
  }
  onBug(thrown instanceof SvcError ? (thrown.cause ?? thrown) : thrown);
  return new RpcError(INTERNAL_ERROR, ERRORS.internal.message, { code: 'internal' });
}
