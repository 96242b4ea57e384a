import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';

/** Finds a program and says what is wrong with it before a process is made. Throws `program_failed`. */
export async function findExecutable(baseDirectory: string, path: string): Promise<string> {
  const file = resolve(baseDirectory, path);
  const found = await stat(file).catch(() => null);
  if (found === null) throw new SvcError('program_failed', `the program ${path} does not exist on this node`);
  if (!found.isFile()) throw new SvcError('program_failed', `the program ${path} is not a file`);
  const executable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!executable) throw new SvcError('program_failed', `the program ${path} is not executable (chmod +x)`);
  await checkInterpreter(file, path);
  return file;
}

/** A missing interpreter is reported by the system as if the script were missing. */
async function checkInterpreter(file: string, path: string): Promise<void> {
  const start = await firstLine(file);
  if (start === null || !start.startsWith('#!')) return;
  const [interpreter] = start.slice(2).trim().split(/\s+/);
  if (interpreter === undefined || interpreter === '') {
    throw new SvcError('program_failed', `the first line of ${path} names no interpreter`);
  }
  if ((await stat(interpreter).catch(() => null)) === null) {
    throw new SvcError('program_failed', `the interpreter ${interpreter} of ${path} does not exist on this node`);
  }
}

/** Null when the file may be run but not read, which is allowed. */
async function firstLine(file: string): Promise<string | null> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    return buffer.toString('latin1', 0, bytesRead).split('\n', 1)[0] ?? '';
  } finally {
    await handle.close();
  }
}
