/**
 * The code of a system error, such as `ENOSPC`. Texts name it instead of the message of the error, which contains paths and addresses
 * of this machine.
 */
export const systemCode = (thrown: unknown, otherwise = 'unknown'): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : otherwise;
