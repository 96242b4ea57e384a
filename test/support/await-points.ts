import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isAwaitExpression } from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';

const ROOT = join(import.meta.dirname, '..', '..');
/** Global name of the function that the changed modules call in every `await`. */
const HOOK = '__svcAwaitPoint';
/** What an abort started counts as ended when no `await` was reached for this time. */
const QUIET_MS = 10;
const MOST_QUIET_MS = 2_000;

type SyntaxNode = Parameters<typeof isAwaitExpression>[0];

/** One run that is disturbed at one of its awaits. */
interface Plan {
  /** The await of the run, counted as they are reached, at which `disturb` is called. */
  readonly at: number;
  readonly disturb: () => void;
}

interface PointOutcome {
  /** Whether the run reached that await, so that it was disturbed. */
  readonly disturbed: boolean;
  /** File and line of the await at which it was. */
  readonly where: string;
  /** Unhandled rejections of this run. */
  readonly unhandled: readonly unknown[];
  readonly outcome: PromiseSettledResult<unknown> | 'hung';
}

/**
 * Changes every `await E` of product modules, as they are loaded, into `await point(E)`, so that a test can disturb a run
 * at each of them. Install it before the modules are imported; one for a test process.
 */
export class AwaitPoints {
  readonly #sites: string[] = [];
  readonly #unhandled: unknown[] = [];
  #plan: Plan | null = null;
  #count = 0;
  #where = '';

  /** `folders`: below the root of the repository, with their subfolders. */
  static install(folders: readonly string[]): AwaitPoints {
    const points = new AwaitPoints();
    const changed = points.#change(folders);
    Reflect.set(globalThis, HOOK, (site: number, value: unknown) => points.#point(site, value));
    registerHooks({
      load(url, context, next) {
        const source = changed.get(url);
        return source === undefined ? next(url, context) : { format: 'module-typescript', source, shortCircuit: true };
      },
    });
    process.on('unhandledRejection', (reason) => points.#unhandled.push(reason));
    process.on('uncaughtException', (error) => points.#unhandled.push(error));
    return points;
  }

  /** Runs once, disturbed at the await of that number, and waits for its end. */
  async run(plan: Plan, work: () => Promise<unknown>, withinMs = 20_000): Promise<PointOutcome> {
    this.#unhandled.length = 0;
    this.#count = 0;
    this.#where = '';
    this.#plan = plan;
    const limit = new AbortController();
    const late = pause(withinMs, 'hung' as const, { signal: limit.signal }).catch(() => 'hung' as const);
    const [ended] = [Promise.allSettled([work()])];
    const outcome = await Promise.race([ended.then(([one]) => one), late]);
    limit.abort();
    // What is left is reported after the tasks that are due now.
    await this.#quiet();
    this.#plan = null;
    return {
      disturbed: this.#where !== '',
      where: this.#where,
      unhandled: [...this.#unhandled],
      outcome,
    };
  }

  async #point(site: number, value: unknown): Promise<unknown> {
    this.#count += 1;
    const plan = this.#plan;
    if (plan === null || this.#count !== plan.at) return value;
    // As the await itself does: it handles a rejection from here on.
    Promise.resolve(value).catch(() => undefined);
    this.#where = this.#sites[site] ?? '';
    plan.disturb();
    // What was begun before it has ended by then, and must not have needed this await to be listened to.
    await this.#quiet();
    return value;
  }

  async #quiet(): Promise<void> {
    const until = performance.now() + MOST_QUIET_MS;
    for (let before = -1; before !== this.#count && performance.now() < until; ) {
      before = this.#count;
      await pause(QUIET_MS);
    }
  }

  #change(folders: readonly string[]): ReadonlyMap<string, string> {
    const directory = mkdtempSync(join(tmpdir(), 'svc-awaits-'));
    const project = join(directory, 'tsconfig.json');
    const include = folders.map((folder) => join(ROOT, folder, '**/*.ts'));
    const compilerOptions = { noResolve: true, noLib: true, types: [], noEmit: true, allowImportingTsExtensions: true };
    writeFileSync(project, JSON.stringify({ include, compilerOptions }));
    const api = new API({ cwd: ROOT });
    try {
      const { program } = one(api.updateSnapshot({ openProject: project }).getProjects());
      const files = folders.flatMap((folder) => sourcesOf(join(ROOT, folder)));
      return new Map(
        files.map((file) => {
          const source = program.getSourceFile(file);
          if (source === undefined) throw new Error(`${file} was not parsed`);
          return [pathToFileURL(file).href, this.#changed(relative(ROOT, file), source.text, source)];
        }),
      );
    } finally {
      api.close();
      rmSync(directory, { recursive: true });
    }
  }

  #changed(file: string, text: string, source: SyntaxNode): string {
    const edits: { readonly at: number; readonly text: string }[] = [];
    const visit = (node: SyntaxNode): void => {
      if (isAwaitExpression(node)) {
        const { pos, end } = node.expression;
        const line = text.slice(0, end).split('\n').length;
        const site = this.#sites.push(`${file}:${line}`) - 1;
        edits.push({ at: pos, text: ` globalThis.${HOOK}(${site}, ` }, { at: end, text: ')' });
      }
      node.forEachChild(visit);
    };
    visit(source);
    let changed = '';
    let from = 0;
    for (const edit of edits.sort((a, b) => a.at - b.at)) {
      changed += text.slice(from, edit.at) + edit.text;
      from = edit.at;
    }
    return changed + text.slice(from);
  }
}

function one<T>(all: readonly T[]): T {
  const [first] = all;
  if (first === undefined) throw new Error('there is no project');
  return first;
}

const sourcesOf = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(directory, name));
