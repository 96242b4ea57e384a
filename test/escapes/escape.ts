import type { TestContext } from 'node:test';
import type { EscapeTargets } from './escape-targets.ts';

/** One attempt to escape, end to end through a started node. It passes when it was refused or bounded. */
export interface Escape {
  readonly title: string;
  readonly kind: Kind;
  /** Throws a NotMade where this machine cannot make it. */
  attempt(at: EscapeTargets): Promise<void>;
}

/** The result of the attempt is unknown. */
export class NotMade extends Error {}

/** Makes the attempt. One that is impossible here is skipped with a notice, and fails with CI=true. */
export async function make(row: Escape, at: EscapeTargets, test: Pick<TestContext, 'skip'>): Promise<void> {
  try {
    await row.attempt(at);
  } catch (error) {
    if (!(error instanceof NotMade) || process.env.CI === 'true') throw error;
    console.error(`NOT MADE: ${row.title}: ${error.message}`);
    test.skip(error.message);
  }
}

export const KINDS = {
  paths: 'forms of paths that name something outside: `..`, absolute, NUL, /proc, /dev, case, encodings',
  links: 'links made by a command, then read, written, edited, deleted, listed and searched through',
  races: 'directories and files swapped for links while a tool runs (TOCTOU)',
  specials: 'pipes, devices, sockets, sparse files, deep trees, 100,000 names, names that are no text',
  patterns: 'expressions and globs made to be slow, or to lead out',
  arguments: 'JSON that is deep, large, forged or of the wrong kind',
  commands: 'names and arguments of commands, environment and /proc, processes that stay, floods, bombs',
  web: 'addresses, names, redirects, rebinding, compressed and endless pages',
  mcp: 'servers that flood, crash, hang or tell secrets',
  tokens: 'the capability token of an execution in its output, events and records',
  loops: 'a model that asks for what its agent may not',
  containers: 'an agent in a container: mailbox, files, network, privileges, bombs',
  disks: 'a disk or a volume that is filled',
} as const;
type Kind = keyof typeof KINDS;
