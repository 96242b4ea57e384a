import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';

const PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,62}$/;
const MAX_PATH_CHARS = 200;
const MAX_PARTS = 8;
/** In the node's own tenant the directory of the other tenants. */
const TENANTS = 'tenants';

/**
 * Throws `invalid_argument` for what is no path of a secret: parts of letters, digits, dots, dashes and underscores. So no
 * path leads out, is hidden, or is the name of an earlier version, which holds an `@`.
 */
export function checkSecretPath(tenant: string, path: string): string {
  const parts = path.split('/');
  if (path.length > MAX_PATH_CHARS || parts.length > MAX_PARTS || !parts.every((part) => PART.test(part))) {
    const parts = `${MAX_PARTS} parts of letters, digits, dots, dashes and underscores with slashes between them`;
    throw wrong(`expected at most ${parts}, at most ${MAX_PATH_CHARS} characters`);
  }
  if (tenant === SYSTEM_TENANT && parts[0] === TENANTS) throw wrong(`${TENANTS}/ holds the secrets of other tenants`);
  return path;
}

const wrong = (text: string): SvcError => new SvcError('invalid_argument', `path: ${text}`, { field: 'path' });
