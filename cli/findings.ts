import type { Problem } from '../manifests/schema-problems.ts';
import { type JsonObject, listOf, textOf } from './json.ts';
import { printable } from './screen/paint.ts';

/**
 * `FILE:LINE:COLUMN: PATH: MESSAGE`, as editors and compilers write it. Without a place: `PATH: MESSAGE`. `mark` goes before
 * the path.
 */
export function problemLine(problem: Problem | JsonObject, file: string | undefined, mark = ''): string {
  const [line = '', column = '', path = '', message = ''] = ['line', 'column', 'path', 'message'].map((name) =>
    textOf(problem, name),
  );
  const at = line === '' || line === '0' ? '' : `${line}:${column || '1'}`;
  const place = file === undefined ? at && `line ${line}` : [file, at].filter((part) => part !== '').join(':');
  return [place, mark, path, message].filter((part) => part !== '').join(': ');
}

/** Findings of the manifest checker, each with what to write instead. */
export const findingLines = (answer: unknown, member: 'findings' | 'warnings', file: string): readonly string[] =>
  listOf(answer, member).map((finding) => {
    const mark = `${textOf(finding, 'severity')} ${textOf(finding, 'rule')}`;
    return `${problemLine(finding, file, mark)}\n    ${textOf(finding, 'cure')}`;
  });

/** Prints the warnings of a deployment to standard error. */
export function warn(answer: unknown, file: string): void {
  for (const line of findingLines(answer, 'warnings', file)) process.stderr.write(`${printable(line)}\n`);
}
