import { z } from 'zod';
import { systemText } from '../../usecases/fields.ts';
import { changing, defineContract, PATH_CHARS, path, reading, text, toolArguments } from '../contract/arguments.ts';
import { directoryOf } from './places.ts';

/** For tools that leave the same files when a call is repeated after a crash. */
const repeatable = { ...changing, mode: 'repeatable' } as const;
const edit = {
  target_content: text.min(1).describe('The text to replace; it must be in the file exactly once.'),
  replacement_content: text.describe('Replacement text.'),
};
const readAt = (at: string) => ({ paths: [{ field: 'path', path: at, access: 'read' as const }] });
const writtenAt = (at: string) => ({ paths: [{ field: 'path', path: at, access: 'write' as const }] });
/** An edit needs read access too, since its failure reveals file content. */
const editedAt = (at: string) => ({ paths: [...readAt(at).paths, ...writtenAt(at).paths] });

export const fsRead = defineContract({
  ...reading,
  name: 'fs.read',
  description: 'Reads a text file and answers its whole content.',
  input: toolArguments({ path }),
  touches: (input) => readAt(input.path),
});

export const fsWrite = defineContract({
  ...repeatable,
  name: 'fs.write',
  description: 'Creates a file or replaces all of its content. Missing directories are made.',
  input: toolArguments({ path, content: text.describe('The whole new content.') }),
  touches: (input) => writtenAt(input.path),
});

export const fsList = defineContract({
  ...reading,
  name: 'fs.list',
  description: 'Lists the entries of a directory, one a line; directories end with /.',
  input: toolArguments({ path: path.default('/').describe('A directory; / is the workspace.') }),
  touches: (input) => readAt(directoryOf(input.path)),
});

export const fsCreateDir = defineContract({
  ...repeatable,
  name: 'fs.create_dir',
  aliases: ['fs.create.dir'],
  description: 'Makes a directory, its parents too. One that is there already is fine.',
  input: toolArguments({ path }),
  touches: (input) => writtenAt(input.path),
});

export const fsDelete = defineContract({
  ...changing,
  name: 'fs.delete',
  description: 'Deletes a file or an empty directory; with recursive, a directory and all that is in it.',
  input: toolArguments({ path, recursive: z.boolean().default(false) }),
  touches: (input) => writtenAt(input.path),
});

export const fsEdit = defineContract({
  ...changing,
  name: 'fs.edit',
  description: 'Replaces a text in a file. The text must be there exactly once.',
  input: toolArguments({ path, ...edit }),
  touches: (input) => editedAt(input.path),
});

export const fsMultiEdit = defineContract({
  ...changing,
  name: 'fs.multi_edit',
  description: 'Makes several edits of a file in order; when one does not fit, none is made.',
  input: toolArguments({ path, edits: z.array(z.strictObject(edit)).min(1).max(1_000) }),
  touches: (input) => editedAt(input.path),
});

export const fsGrep = defineContract({
  ...reading,
  name: 'fs.grep',
  description: 'Finds lines that match a regular expression (RE2 syntax) in all text files below a directory.',
  input: toolArguments({
    pattern: z.string().min(1).max(PATH_CHARS).describe('A regular expression of RE2 syntax.'),
    path: path.describe('A directory, or one file; / is the workspace.'),
  }),
  touches: (input) => readAt(directoryOf(input.path)),
});

export const fsGlob = defineContract({
  ...reading,
  name: 'fs.glob',
  description:
    'Finds files and directories by a pattern such as **/*.ts; answers paths below the directory, one a line.',
  input: toolArguments({
    pattern: systemText(PATH_CHARS).min(1).describe('A glob: *, **, ?, [a-z], {a,b}.'),
    path: path.describe('A directory; / is the workspace.'),
  }),
  touches: (input) => readAt(directoryOf(input.path)),
});

export const FILE_CONTRACTS = [
  ...[fsRead, fsWrite, fsList, fsCreateDir, fsDelete, fsEdit, fsMultiEdit, fsGrep, fsGlob],
] as const;
