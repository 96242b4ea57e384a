import type { SourceFile } from './source-files.ts';

export interface FunctionSize {
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly lines: number;
}

const BRACED =
  /^\s*(?:export\s+|default\s+|async\s+|static\s+|private\s+|public\s+|pub\s+|override\s+)*(?:function\*?|func|fn)\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)/;
const METHOD =
  /^\s+(?:async\s+|static\s+|override\s+|get\s+|set\s+|\*)*(#?[A-Za-z_$][\w$]*)\s*\((?!['"`])[^;]*\)?[^;=]*\{\s*$/;
const PYTHON = /^\s*(?:async\s+)?def\s+([A-Za-z_]\w*)/;
/** Longer lines are generated code. */
const MAX_LINE_CHARS = 400;
const KEYWORDS = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'return', 'else', 'do', 'try']);
const BRACE_LANGUAGES = new Set(['TypeScript', 'JavaScript', 'Go', 'Rust', 'Java', 'C#', 'Kotlin', 'Swift', 'PHP']);

/**
 * Functions by indentation: a function ends before the first line that is indented as little as its head and is not part of it.
 */
export function functionSizes(file: SourceFile): FunctionSize[] {
  const isPython = file.language === 'Python';
  if (!isPython && !BRACE_LANGUAGES.has(file.language)) return [];
  const found: FunctionSize[] = [];
  for (const [index, text] of file.lines.entries()) {
    if (text.length > MAX_LINE_CHARS) continue;
    const name = (isPython ? PYTHON.exec(text) : (BRACED.exec(text) ?? METHOD.exec(text)))?.[1];
    if (name === undefined || KEYWORDS.has(name)) continue;
    const lines = linesOf(file.lines, index, isPython);
    if (lines > 1) found.push({ name, path: file.path, line: index + 1, lines });
  }
  return found;
}

function linesOf(lines: readonly string[], start: number, isPython: boolean): number {
  const depth = indentOf(lines[start] ?? '');
  let last = start;
  for (let index = start + 1; index < lines.length; index += 1) {
    const text = lines[index] ?? '';
    if (text.trim() === '') continue;
    if (indentOf(text) > depth) {
      last = index;
      continue;
    }
    const isSignature = /^\s*[)\]]/.test(text);
    if (isSignature && !/^\s*\)\s*;?$/.test(text)) continue;
    return isPython || !/^\s*\}/.test(text) ? last - start + 1 : index - start + 1;
  }
  return last - start + 1;
}

const indentOf = (text: string): number => text.length - text.trimStart().length;
