import type { Problem } from '../manifests/problem.ts';
import { SvcError } from '../runtime/errors.ts';

/** `invalid_manifest` with every problem's path, line and column. */
export function invalidManifest(problems: readonly Problem[]): SvcError {
  const [first] = problems;
  const where =
    first === undefined ? '' : ` First: ${first.path || 'document'} (line ${first.line}): ${first.message}.`;
  const message = `The manifest breaks ${problems.length === 1 ? 'a rule' : `${problems.length} rules`}.${where}`;
  return new SvcError('invalid_manifest', message, { field: 'manifest_yaml', details: problems });
}
