import { lstat, readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';

export interface SourceFile {
  /** Relative to the directory that is read. */
  readonly path: string;
  readonly language: string;
  readonly lines: readonly string[];
}

const LANGUAGES: Readonly<Record<string, string>> = {
  '.c': 'C',
  '.h': 'C',
  '.cc': 'C++',
  '.cpp': 'C++',
  '.hpp': 'C++',
  '.cs': 'C#',
  '.css': 'CSS',
  '.go': 'Go',
  '.html': 'HTML',
  '.java': 'Java',
  '.js': 'JavaScript',
  '.mjs': 'JavaScript',
  '.jsx': 'JavaScript',
  '.json': 'JSON',
  '.kt': 'Kotlin',
  '.lua': 'Lua',
  '.md': 'Markdown',
  '.php': 'PHP',
  '.proto': 'Protocol Buffers',
  '.py': 'Python',
  '.rb': 'Ruby',
  '.rs': 'Rust',
  '.scala': 'Scala',
  '.sh': 'Shell',
  '.sql': 'SQL',
  '.swift': 'Swift',
  '.toml': 'TOML',
  '.ts': 'TypeScript',
  '.tsx': 'TypeScript',
  '.yaml': 'YAML',
  '.yml': 'YAML',
};

/** Files that are not written by hand. */
const SKIPPED_FOLDERS = new Set(['node_modules', 'vendor', 'target', 'dist', 'build', 'data', 'coverage', 'gen']);
const SKIPPED_FILES = new Set(['package-lock.json', 'go.sum', 'Cargo.lock', 'yarn.lock', 'pnpm-lock.yaml']);
const MAX_FILES = 20_000;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_DEPTH = 20;

/** Source files below a directory, without hidden and generated ones; links are not followed. */
export async function* sourceFiles(root: string): AsyncGenerator<SourceFile> {
  let count = 0;
  const folders = [{ path: root, depth: 0 }];
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(folder.path, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      const path = join(folder.path, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name) && folder.depth < MAX_DEPTH) {
        folders.push({ path, depth: folder.depth + 1 });
      }
      const language = LANGUAGES[extname(entry.name).toLowerCase()];
      if (!entry.isFile() || language === undefined || SKIPPED_FILES.has(entry.name)) continue;
      const text = await textOf(path);
      if (text === null) continue;
      count += 1;
      if (count > MAX_FILES) return;
      yield { path: relative(root, path), language, lines: text.replace(/\n$/, '').split('\n') };
    }
  }
}

/** Null for a file that is too large or unreadable: it is skipped. */
async function textOf(path: string): Promise<string | null> {
  try {
    if ((await lstat(path)).size > MAX_FILE_BYTES) return null;
    const text = await readFile(path, 'utf8');
    return text.includes('\0') ? null : text;
  } catch (error) {
    process.stderr.write(`${path}: ${error instanceof Error ? error.message : 'cannot be read'}\n`);
    return null;
  }
}
