import { linearRegex } from '../../../manifests/linear-regex.ts';
import { SvcError } from '../../../runtime/errors.ts';

/** Throws `invalid_manifest` naming `path` when the engine cannot compile the pattern. */
export function checkPattern(pattern: string, path: string): void {
  try {
    linearRegex(pattern);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not compile';
    throw new SvcError('invalid_manifest', `${path}: expected a regular expression of RE2 syntax: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}
