import { ERRORS, SvcError } from '../../runtime/errors.ts';

/** JSON-RPC error codes that this server answers with. */
export const PARSE_ERROR = -32_700;

export const INVALID_REQUEST = -32_600;

export const INVALID_PARAMS = -32_602;

export const INTERNAL_ERROR = -32_603;

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
