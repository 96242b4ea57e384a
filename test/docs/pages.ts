import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { projectFiles } from '../support/tree.ts';

/** A Markdown page of the project, read once. */
export interface Page {
  /** Path from the root. */
  readonly file: string;
  readonly text: string;
}

interface Fence {
  readonly language: string;
  /** What follows the language: `runnable`, `from=PATH`. */
  readonly info: string;
  readonly text: string;
  /** `file:line`, for messages. */
  readonly at: string;
}

export const pages: readonly Page[] = projectFiles('.md').map((file) => ({ file, text: readFileSync(file, 'utf8') }));

export function page(file: string): Page {
  const found = pages.find((one) => one.file === file);
  if (found === undefined) throw new Error(`there is no page ${file}`);
  return found;
}

export function fencesOf({ file, text }: Page): Fence[] {
  const fences: Fence[] = [];
  let open: { language: string; info: string; line: number; lines: string[] } | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const mark = /^```(\S*)\s*(.*)$/.exec(line);
    if (mark === null) open?.lines.push(line);
    else if (open === null) open = { language: mark[1] ?? '', info: mark[2] ?? '', line: index + 1, lines: [] };
    else {
      fences.push({ ...open, text: open.lines.join('\n'), at: `${file}:${open.line}` });
      open = null;
    }
  }
  if (open !== null) throw new Error(`${file}:${open.line}: a code block is not closed`);
  return fences;
}

/** The page without its code blocks. */
const proseOf = ({ text }: Page): string => text.replace(/^```[\s\S]*?^```$/gm, '');

/** Targets of links that stay in the project, with the path from the root and the anchor. */
export function linksOf(source: Page): { target: string; path: string; anchor: string | undefined }[] {
  return [...proseOf(source).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#');
      return { target, path: path === '' ? source.file : normalize(join(dirname(source.file), path)), anchor };
    });
}

/** Code spans that name a file or folder: `runtime/errors.ts`, `actors/`, and, beside the page, `errors.ts`. */
export function pathSpansOf(source: Page): string[] {
  return [...proseOf(source).matchAll(/`([^`\n]+)`/g)]
    .map((match) => match[1] ?? '')
    .filter((span) => /^[\w.-]*\w[\w.-]*(\/[\w.-]+)*\/?$/.test(span) && !/^\.\w+$/.test(span))
    .filter((span) => /\.(ts|md|lua|proto|json|binpb|txt)$/.test(span) || /^[a-z][\w-]*\//.test(span));
}

/** Anchors as GitHub makes them of headings. */
export function anchorsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

export const exists = (path: string): boolean => existsSync(path);

/** Titles of the tests of a file, as they stand there. */
const titlesOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/\b(?:test|it|promise)\(\s*(?:'([^'\n]+)'|"([^"\n]+)"|`([^`]+)`)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? '',
  );

/** Titles as a page may quote them: `…` stands for a value that a title takes from its case. */
export const hasTitle = (file: string, title: string): boolean =>
  titlesOf(file).some((one) => one.replaceAll(/\$\{[^}]*\}/g, '…') === title);
