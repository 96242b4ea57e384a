import type { ToolRun } from '../../manifests/tool/call.ts';
import { SvcError } from '../../runtime/errors.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';
import { ToolFailure } from '../tool.ts';
import type { FilePlace, FilePorts } from './places.ts';

/** Largest file that can be read (W42). */
const FILE_BYTES = 10 * 1024 * 1024;

/** Reads a file as text and as bytes. Throws `ToolFailure` `BinaryFile`, `FileTooLarge`, `NOT_FOUND`, … */
export async function readText(
  { files }: FilePorts,
  tenant: string,
  { path, volumeId, inVolume }: FilePlace,
): Promise<{ readonly text: string; readonly bytes: Buffer }> {
  const bytes = await withFile(path, () => files.read(tenant, volumeId, inVolume, FILE_BYTES));
  const text = textOf(bytes);
  if (text !== null) return { text, bytes };
  throw new ToolFailure('BinaryFile', `${path} is not text (${bytes.length} bytes): read it with a command instead`);
}

/** Decodes a file. Null for invalid UTF-8 or NUL bytes: an edit would corrupt other parts of such a file. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Checks a size against the largest `max_file_size_bytes` of the agent's `mcp:filesystem` entries. Throws `ToolFailure`
 * `FileTooLarge`.
 */
export function checkFileBytes(run: ToolRun, path: string, bytes: number): void {
  const allowed = Math.min(maxFileBytes(run), FILE_BYTES);
  if (bytes <= allowed) return;
  throw new ToolFailure('FileTooLarge', `${path} would have ${bytes} bytes; at most ${allowed} are allowed`);
}

function maxFileBytes({ scope }: ToolRun): number {
  const entries = (scope.manifest ?? []).filter(({ server }) => server === 'mcp:filesystem');
  const sizes = entries.map(({ config }) => config.max_file_size_bytes).filter(isNumber);
  return sizes.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...sizes);
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

/**
 * Runs `work` and turns errors about a file into `ToolFailure`s with a precise code, the caller's path and advice.
 * Other errors (disk of the machine full, store unavailable) pass through and fail the effect.
 */
export async function withFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof SvcError ? fileToolFailure(thrown, path) : thrown;
  }
}

/** Runs `work`; returns `instead` for a missing directory that is only the parent of a mount. */
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
      // An error that this node raised itself has a message that names the rule.
      return failure(
        'PERMISSION_DENIED',
        error.cause === undefined ? error.message : `this node has no permission for ${path}`,
      );
    case 'conflict':
      return failure('ALREADY_EXISTS', `${path} already exists`);
    case 'quota_exceeded':
      return failure('QuotaExceeded', `${path}: the volume is full (ENOSPC): delete something first`);
    case 'payload_too_large':
      return failure('FileTooLarge', error.message);
    case 'failed_precondition':
      return failure(kindCode(error.message), `${path}: ${error.message}`);
    case 'invalid_argument':
      return failure('InvalidArguments', error.message);
    case 'deadline_exceeded':
      return failure('SearchTooLong', `${error.message}: start in a lower directory or make the pattern more precise`);
    default:
      return error;
  }
}

function kindCode(message: string) {
  if (/is not a directory/.test(message)) return 'NotADirectory';
  return /is not empty/.test(message) ? 'DirectoryNotEmpty' : 'NotAFile';
}
