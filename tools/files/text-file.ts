import type { ToolRun } from '../../manifests/tool/call.ts';
import { SvcError } from '../../runtime/errors.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';
import { ToolFailure } from '../tool.ts';
import type { FilePlace, FilePorts } from './places.ts';

/** Largest file that is read whole (W42). */
const FILE_BYTES = 10 * 1024 * 1024;

/** A file as text, and the bytes it was. Throws `ToolFailure` `BinaryFile`, `FileTooLarge`, `NOT_FOUND`, … */
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

/** Null for bytes that are no UTF-8, or hold NUL: an edit of them would change what it does not mean to. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * `max_file_size_bytes` of the agent's `mcp:filesystem` entries: the largest of them is what the agent may write.
 * Throws `ToolFailure` `FileTooLarge`.
 */
export function checkFileBytes(run: ToolRun, path: string, bytes: number): void {
  const allowed = Math.min(maxFileBytes(run), FILE_BYTES);
  if (bytes <= allowed) return;
  throw new ToolFailure('FileTooLarge', `${path} would have ${bytes} bytes, more than the ${allowed} that are allowed`);
}

function maxFileBytes({ scope }: ToolRun): number {
  const entries = (scope.manifest ?? []).filter(({ server }) => server === 'mcp:filesystem');
  const sizes = entries.map(({ config }) => config.max_file_size_bytes).filter(isNumber);
  return sizes.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...sizes);
}

const isNumber = (value: unknown): value is number => typeof value === 'number';

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
