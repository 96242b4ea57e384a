import { PathTraversal } from '../../effects/volumes/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import { ToolFailure } from '../failure.ts';

/**
 * What went wrong with a file, for whoever called the tool: the precise code, the path as the caller wrote it, and what to
 * do. What is not about the file (a full disk of the machine, a store that is down) fails the effect instead.
 */
export async function withFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof SvcError ? fileToolFailure(thrown, path) : thrown;
  }
}

/** The answer, or `instead` where the directory is not there: it may only be on the way to a mount. */
export async function unlessMissing<T>(instead: T, isMountAbove: boolean, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (isMountAbove && thrown instanceof ToolFailure && thrown.code === 'NOT_FOUND') return instead;
    throw thrown;
  }
}

function fileToolFailure(error: SvcError, path: string): unknown {
  if (error instanceof PathTraversal) {
    return ToolFailure.denied('PathOutsideBoundary', `path: ${path} leads out of its volume.`);
  }
  const failure = (code: ConstructorParameters<typeof ToolFailure>[0], text: string) =>
    new ToolFailure(code, text, 'recoverable', error);
  switch (error.code) {
    case 'not_found':
      return failure('NOT_FOUND', `${path} does not exist: look with fs.list or fs.glob`);
    case 'forbidden':
      // The node's own words where it has some: which rule it is.
      return failure(
        'PERMISSION_DENIED',
        error.cause === undefined ? error.message : `${path} may not be touched by this node`,
      );
    case 'conflict':
      return failure('ALREADY_EXISTS', `${path} exists already`);
    case 'quota_exceeded':
      return failure('QuotaExceeded', `${path}: the volume is full (ENOSPC): delete something first`);
    case 'payload_too_large':
      return failure('FileTooLarge', error.message);
    case 'failed_precondition':
      return failure(kindCode(error.message), `${path}: ${error.message}`);
    case 'invalid_argument':
      return failure('InvalidArguments', error.message);
    case 'deadline_exceeded':
      return failure('SearchTooLong', `${error.message}: begin further down, or ask for something more precise`);
    default:
      return error;
  }
}

function kindCode(message: string) {
  if (/is not a directory/.test(message)) return 'NotADirectory';
  return /is not empty/.test(message) ? 'DirectoryNotEmpty' : 'NotAFile';
}
