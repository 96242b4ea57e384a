import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A tree that looks like sources: names, depth, sizes and words are made from a seed, so every run has the same. */
export interface SourceTree {
  readonly files: number;
  readonly directories: number;
  readonly bytes: number;
  /** Below the root, every 97th file. */
  readonly sample: readonly string[];
}

export const NEEDLE = 'needle_7f3a';
/** One in this many files has a line with the needle. */
const NEEDLE_EVERY = 500;
const PER_DIRECTORY = 50;
const EXTENSIONS = ['ts', 'ts', 'go', 'py', 'md', 'json'];
const WORDS =
  'const return import export function await async state message turn commit lease epoch mailbox partition actor effect value index error result string number reader writer buffer offset length stream event batch token volume path entry match line needed because after before never always while until node store record schema field input output'.split(
    ' ',
  );

/** Writes `files` files below `root`, a few hundred bytes to some ten thousand each. */
export function growTree(root: string, files: number): SourceTree {
  const random = seeded(7);
  const sample: string[] = [];
  let bytes = 0;
  let directory = '';
  let directories = 0;
  for (let at = 0; at < files; at += 1) {
    if (at % PER_DIRECTORY === 0) {
      const group = at / PER_DIRECTORY;
      directory = `pkg${group % 20}/area${Math.floor(group / 20) % 10}/part${Math.floor(group / 200)}`;
      mkdirSync(join(root, directory), { recursive: true });
      directories += 1;
    }
    const path = `${directory}/file${at}.${EXTENSIONS[at % EXTENSIONS.length]}`;
    const text = textOf(random, at % NEEDLE_EVERY === NEEDLE_EVERY - 1);
    writeFileSync(join(root, path), text);
    bytes += text.length;
    if (at % 97 === 0) sample.push(path);
  }
  return { files, directories, bytes, sample };
}

function textOf(random: () => number, holdsNeedle: boolean): string {
  const lines = 10 + Math.floor(random() ** 4 * 400);
  const needleAt = holdsNeedle ? Math.floor(lines / 2) : -1;
  const text: string[] = [];
  for (let line = 0; line < lines; line += 1) {
    const words = Array.from(
      { length: 3 + Math.floor(random() * 7) },
      () => WORDS[Math.floor(random() * WORDS.length)],
    );
    if (line === needleAt) words.push(NEEDLE);
    text.push(`${'  '.repeat(line % 3)}${words.join(' ')} ${Math.floor(random() * 100_000)};`);
  }
  return `${text.join('\n')}\n`;
}

/** Park and Miller's generator. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
