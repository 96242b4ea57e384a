import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { SEARCH_PATH } from '../programs/environment.ts';
import { findExecutable } from '../programs/executable.ts';
import { WORKSPACE } from '../programs/view.ts';
import { partsOf } from '../volumes/volume-path.ts';
import type { Place } from './workspace-run.ts';

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,254}$/;
const LONGEST_ARGUMENT_BYTES = 131_071;
const MOST_ARGUMENTS = 1_000;
const ARGUMENT_BYTES = 1_024 * 1_024;

/** A name that is looked up, or parts of a path below the workspace. */
export type ToolProgram = { readonly name: string } | { readonly parts: readonly string[] };

/** Throws `invalid_argument` (fields command, args). Nothing is ever parsed by a shell. */
export function parseToolProgram(command: string, args: readonly string[]): ToolProgram {
  if (args.length > MOST_ARGUMENTS) throw wrong('args', `at most ${MOST_ARGUMENTS} arguments`);
  let bytes = 0;
  for (const [index, argument] of args.entries()) {
    if (argument.includes('\0')) throw wrong(`args[${index}]`, 'no NUL');
    const size = Buffer.byteLength(argument);
    if (size >= LONGEST_ARGUMENT_BYTES) throw wrong(`args[${index}]`, `fewer than ${LONGEST_ARGUMENT_BYTES} bytes`);
    bytes += size + 1;
  }
  if (bytes > ARGUMENT_BYTES) throw wrong('args', `at most ${ARGUMENT_BYTES} bytes together`);
  if (NAME.test(command)) return { name: command };
  const path = command.startsWith('./') ? `${WORKSPACE}/${command.slice(2)}` : command;
  const parts = partsIn(path);
  if (parts === null) throw wrong('command', 'the name of a program, or a path below /workspace');
  return { parts };
}

function partsIn(path: string): readonly string[] | null {
  if (!path.startsWith(`${WORKSPACE}/`) || path.length > 1_024 || [...path].some((char) => char < ' ')) return null;
  const given = path.split('/');
  if (given.includes('..') || given.includes('.') || path.endsWith('/')) return null;
  const parts = partsOf(path).slice(1);
  return parts.length === 0 ? null : parts;
}

/** The file to run, as the command's own view of the files names it. Throws `not_found`, `program_failed`. */
export async function findToolProgram(program: ToolProgram, place: Place): Promise<string> {
  if ('name' in program) return findNamed(program.name);
  const viewed = [WORKSPACE, ...program.parts].join('/');
  const [holder] = place.mounts
    .filter(({ path }) => `${viewed}/`.startsWith(`${path}/`))
    .toSorted((a, b) => b.path.length - a.path.length);
  const file =
    holder === undefined
      ? join(place.directory, ...program.parts)
      : join(holder.directory, ...partsOf(viewed.slice(holder.path.length)));
  if ((await stat(file).catch(() => null)) === null) throw missing(viewed);
  await findExecutable(dirname(file), basename(file));
  return place.viewed ? viewed : file;
}

async function findNamed(name: string): Promise<string> {
  for (const directory of SEARCH_PATH.split(':')) {
    const found = await stat(join(directory, name)).catch(() => null);
    if (found?.isFile()) return findExecutable(directory, name);
  }
  throw missing(name);
}

export const missing = (command: string): SvcError =>
  new SvcError('not_found', `command: ${command} is not there`, { field: 'command' });

const wrong = (field: string, expected: string): SvcError =>
  new SvcError('invalid_argument', `${field}: expected ${expected}`, { field });
