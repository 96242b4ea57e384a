import { listOf, textOf } from './json.ts';
import { printable } from './paint.ts';

/** Findings of the manifest checker, each with what to write instead. */
export const findingLines = (answer: unknown, member: 'findings' | 'warnings'): readonly string[] =>
  listOf(answer, member).map((finding) => {
    const [severity, rule, line, path] = ['severity', 'rule', 'line', 'path'].map((name) => textOf(finding, name));
    const place = `line ${line}${path === '' ? '' : `, ${path}`}`;
    return `${severity} ${rule} (${place}): ${textOf(finding, 'message')}\n    ${textOf(finding, 'cure')}`;
  });

/** Prints the warnings of a deployment to standard error. */
export function warn(answer: unknown): void {
  for (const line of findingLines(answer, 'warnings')) process.stderr.write(`${printable(line)}\n`);
}
