/** Files of one volume: path below its root to content. */
export type Files = Map<string, string>;

/** A volume and its mount point in a step. */
export interface Mount {
  readonly at: string;
  readonly files: Files;
  readonly readOnly: boolean;
}

export interface ShellEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
}

interface Shell {
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly mounts: readonly Mount[];
}

/**
 * The effect of the few statements in random commands: `printf` to a stream or file, `cat`, `test` and `exit`, one
 * after the other.
 */
export function runShell(script: string, shell: Shell): ShellEnd {
  let [stdout, stderr, exit_code] = ['', '', 0];
  for (const statement of script.split('; ')) {
    const done = runStatement(statement, shell);
    stdout += done.stdout;
    stderr += done.stderr;
    exit_code = done.exit_code;
    if (done.isExit) break;
  }
  return { stdout, stderr, exit_code };
}

type Done = ShellEnd & { readonly isExit: boolean };

const done = (exit_code = 0, stdout = '', stderr = '', isExit = false): Done => ({ stdout, stderr, exit_code, isExit });

function runStatement(statement: string, shell: Shell): Done {
  const [, guarded] = /^\((.+)\) 2>\/dev\/null \|\| printf '%s' refused$/.exec(statement) ?? [];
  if (guarded !== undefined) return runStatement(guarded, shell).exit_code === 0 ? done() : done(0, 'refused');
  const [, code] = /^exit (\d+)$/.exec(statement) ?? [];
  if (code !== undefined) return done(Number(code), '', '', true);
  const [, one, other] = /^test (\S+) = (\S+)$/.exec(statement) ?? [];
  if (one !== undefined) return done(words(one, shell) === words(other ?? '', shell) ? 0 : 1);
  const [, read] = /^cat (\S+) 2>\/dev\/null$/.exec(statement) ?? [];
  if (read !== undefined) {
    const content = readFile(read, shell);
    return content === undefined ? done(1) : done(0, content);
  }
  const [, newline, text = '', redirect, path = ''] =
    /^printf '%s(\\n)?' ("[^"]*"|\S+)(?: (>>|>&2|>)(?: ?(\S+))?)?$/.exec(statement) ?? [];
  const line = words(text, shell) + (newline === undefined ? '' : '\n');
  if (redirect === undefined) return done(0, line);
  if (redirect === '>&2') return done(0, '', line);
  return writeFile(path, line, redirect === '>>', shell) ? done() : done(1);
}

/** Variables in double quotes or without quotes. */
function words(text: string, { env }: Shell): string {
  return text.replaceAll('"', '').replace(/\$([A-Z_]+)/g, (_all, name: string) => env[name] ?? '');
}

function place(path: string, { workdir, mounts }: Shell): { readonly mount: Mount; readonly name: string } | undefined {
  const absolute = path.startsWith('/') ? path : `${workdir}/${path}`;
  const [mount] = mounts
    .filter(({ at }) => absolute.startsWith(`${at}/`))
    .sort((one, other) => other.at.length - one.at.length);
  return mount === undefined ? undefined : { mount, name: absolute.slice(mount.at.length + 1) };
}

function readFile(path: string, shell: Shell): string | undefined {
  const found = place(path, shell);
  return found?.mount.files.get(found.name);
}

function writeFile(path: string, content: string, appends: boolean, shell: Shell): boolean {
  const found = place(path, shell);
  if (found === undefined || found.mount.readOnly) return false;
  const before = appends ? (found.mount.files.get(found.name) ?? '') : '';
  found.mount.files.set(found.name, before + content);
  return true;
}
