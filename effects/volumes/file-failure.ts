import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';

/** Replaces system errors, whose messages contain paths of this machine, by ones with the path in the volume. */
export function fileFailure(thrown: unknown, path: string): SvcError {
  if (thrown instanceof SvcError) return thrown;
  const context = { field: 'path', cause: thrown };
  const code = systemCode(thrown);
  switch (code) {
    case 'ENOENT':
      return new SvcError('not_found', `${path} does not exist in the volume`, context);
    case 'ENOTDIR':
      return new SvcError(
        'failed_precondition',
        `${path} is not a directory, or one of its parents is not a directory`,
        context,
      );
    case 'EISDIR':
      return new SvcError('failed_precondition', `${path} is a directory`, context);
    case 'ENOTEMPTY':
      return new SvcError('failed_precondition', `the directory ${path} is not empty: expected recursive`, context);
    case 'EEXIST':
      return new SvcError('conflict', `${path} already exists`, context);
    case 'ELOOP':
      return new PathTraversal(`${path} contains a symbolic link that is not followed`);
    case 'ENAMETOOLONG':
      return new SvcError('invalid_argument', `path: expected a shorter path than ${path.slice(0, 64)}…`, context);
    case 'ENXIO':
      return new SvcError('failed_precondition', `${path} is not a file`, context);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new SvcError('forbidden', `this node has no permission for ${path} (${code})`, context);
    case 'ENOSPC':
    case 'EFBIG':
    case 'EDQUOT':
    case 'EMFILE':
    case 'ENFILE':
    case 'EIO':
      return new SvcError('unavailable', `this node cannot store files of volumes now (${code})`, { cause: thrown });
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return new SvcError('cancelled', `the content of ${path} ended before all of it had arrived`, { cause: thrown });
    default:
      return new SvcError('internal', undefined, { cause: thrown });
  }
}
