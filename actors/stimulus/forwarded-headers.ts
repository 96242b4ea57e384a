import { SvcError } from '../../runtime/errors.ts';

/** Credentials, sessions and signatures never reach a message, a blackboard or a log. */
const SECRET = /auth|cookie|signature|token|secret|password|credential|session|api-?key|^x-tenant-id$/;
const MOST = 100;
const MAX_CHARS = 32_768;

/**
 * Headers as the workflow sees them: lower-case names, none that could carry a secret. Throws `invalid_argument` for
 * too many.
 */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => name !== '' && name !== '__proto__' && !SECRET.test(name));
  const chars = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (kept.length <= MOST && chars <= MAX_CHARS) return Object.fromEntries(kept);
  throw new SvcError('invalid_argument', `headers: expected at most ${MOST}, with ${MAX_CHARS} characters together`, {
    field: 'headers',
  });
}
