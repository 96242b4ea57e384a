/** JSON-RPC error codes that this server answers with. */
export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
export const INVALID_PARAMS = -32_602;
export const INTERNAL_ERROR = -32_603;

/** An error answer: the SDK sends `code`, `message` and `data` of what a handler throws. */
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
