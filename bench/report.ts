import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';

/** How long and how often a suite measures. */
export interface Plan {
  readonly inFlight: readonly number[];
  readonly repetitions: number;
  readonly warmUpMs: number;
  readonly runMs: number;
}

export interface Section {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Machine and versions of these figures. */
export function heading(command: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const memory = Math.round(totalmem() / 1024 ** 3);
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return [
    `Command \`${command}\`, commit ${commit}, Node ${process.version}, ${cpus().length} cores (${model}), ${memory} GiB.`,
    'Client, worker and server share the machine; compare ratios inside one run, not figures between runs.',
  ].join('\n');
}
