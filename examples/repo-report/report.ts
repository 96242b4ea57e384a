#!/usr/bin/env node
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type FunctionSize, functionSizes } from './long-functions.ts';
import { sourceFiles } from './source-files.ts';

/** Markers of open work in code. */
const OPEN_MARK = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].join('|')})\\b`);
const SHOWN = 5;

/** The whole program: the only argument is the directory, the report goes to standard output. */
async function report(directory: string): Promise<void> {
  const languages = new Map<string, { files: number; lines: number }>();
  const sizes: { path: string; lines: number }[] = [];
  const functions: FunctionSize[] = [];
  const marks: string[] = [];
  for await (const file of sourceFiles(directory)) {
    const language = languages.get(file.language) ?? { files: 0, lines: 0 };
    languages.set(file.language, { files: language.files + 1, lines: language.lines + file.lines.length });
    sizes.push({ path: file.path, lines: file.lines.length });
    functions.push(...functionSizes(file));
    for (const [index, text] of file.lines.entries()) {
      if (OPEN_MARK.test(text)) marks.push(`${file.path}:${index + 1}  ${text.trim().slice(0, 80)}`);
    }
  }
  const total = sizes.reduce((sum, { lines }) => sum + lines, 0);
  print(`Report on ${directory}`);
  print(`${sizes.length} source files, ${total} lines`);
  section('Languages by lines');
  const byLines = [...languages].sort(([, a], [, b]) => b.lines - a.lines);
  for (const [name, { files, lines }] of byLines.slice(0, 10)) {
    const share = total === 0 ? 0 : Math.round((100 * lines) / total);
    print(
      `${name.padEnd(18)}${String(lines).padStart(8)} lines${String(files).padStart(6)} files${String(share).padStart(5)} %`,
    );
  }
  section('Largest files');
  for (const { path, lines } of top(sizes)) print(`${String(lines).padStart(6)}  ${path}`);
  section('Longest functions');
  for (const { name, path, line, lines } of top(functions))
    print(`${String(lines).padStart(6)}  ${name}  ${path}:${line}`);
  section(`Open marks: ${marks.length}`);
  for (const mark of marks.slice(0, SHOWN)) print(mark);
}

const top = <T extends { readonly lines: number }>(items: readonly T[]): T[] =>
  items.toSorted((a, b) => b.lines - a.lines).slice(0, SHOWN);

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const section = (title: string): void => print(`\n${title}`);

const directory = resolve((process.argv[2] ?? '').trim() || '.');
const isDirectory = await stat(directory).then(
  (found) => found.isDirectory(),
  () => false,
);
if (isDirectory) {
  await report(directory);
} else {
  process.stderr.write(`the input must be the path of a directory, got ${directory}\n`);
  process.exitCode = 2;
}
