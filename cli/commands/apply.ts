import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { type CliContext, contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { warn } from '../findings.ts';
import { isObject, type JsonObject, listOf, textOf } from '../json.ts';
import { checkedManifest, deployManifest, isOtherYaml, type ManifestFile, readManifest } from '../manifest-file.ts';
import { workflowPath } from '../names.ts';
import type { NodeClient } from '../node-client.ts';
import { counted, isForMachines, print } from '../output.ts';
import { several, unreadable } from '../read-input.ts';
import { paintFor, printable } from '../screen/paint.ts';

interface ApplyOptions {
  readonly file: readonly string[];
  readonly dryRun?: true;
  readonly yes?: true;
  readonly scope?: string;
}

/** `svc apply -f DIR`: shows a plan, then deploys the manifests that differ. */
export function apply(program: Command): void {
  program
    .command('apply')
    .description('deploy the manifests of files and directories: shows what would change, asks, and deploys it')
    .requiredOption('-f, --file <path>', 'a manifest, or a directory of them; repeatable', several, [])
    .option('--scope <scope>', 'user, tenant or global (default: tenant)')
    .option('--dry-run', 'show the plan only')
    .option('--yes', 'do not ask')
    .action(async (options: ApplyOptions, command: Command) => {
      const context = contextOf(command);
      const plan = await planFor(context.client, options.file);
      const changes = plan.filter(({ change }) => change !== 'unchanged');
      const forPeople = !isForMachines(context.output);
      if (forPeople) process.stderr.write(`${planText(plan)}\n`);
      if (options.dryRun !== true && changes.length > 0) {
        if (options.yes !== true) await confirm(changes.length);
        await deployAll(context, changes, options.scope);
      }
      const value = plan.map(shownStep);
      const done = options.dryRun === true ? 'would be deployed' : 'deployed';
      await print(context.output, { value, text: `${counted(changes.length, 'manifest')} ${done}` });
    });
}

/** `svc diff -f DIR`: the changes that `svc apply` would make. Exit code 4 when there are any. */
export function diff(program: Command): void {
  program
    .command('diff')
    .description('show how the manifests of files and directories differ from what is deployed')
    .requiredOption('-f, --file <path>', 'a manifest, or a directory of them; repeatable', several, [])
    .action(async (options: ApplyOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const changes = (await planFor(client, options.file)).filter(({ change }) => change !== 'unchanged');
      const { createTwoFilesPatch } = await import('diff');
      const paint = paintFor(process.stdout, process.env);
      const patches = changes.map(({ manifest, deployed }) => {
        const label = `${manifest.kind}/${manifest.name}`;
        const before = deployed === null ? '/dev/null' : `${label} ${deployed.version}`;
        return createTwoFilesPatch(before, manifest.file, deployed?.text ?? '', manifest.text, '', '', { context: 3 });
      });
      const coloured = patches
        .flatMap((patch) => patch.split('\n').slice(1))
        .map((line) => {
          if (line.startsWith('+')) return paint.green(printable(line));
          return line.startsWith('-') ? paint.red(printable(line)) : printable(line);
        });
      const value = changes.map((step, index) => ({ ...shownStep(step), diff: patches[index] }));
      await print(output, { value, text: coloured.join('\n'), isPainted: true });
      if (changes.length > 0)
        throw new CliFailure(EXIT.conflict, `${counted(changes.length, 'manifest')} differ from what is deployed`);
    });
}

/** One manifest, and its deployed version. */
interface Step {
  readonly manifest: ManifestFile;
  readonly change: 'create' | 'new version' | 'replace' | 'unchanged';
  /** The same version, else the one deployed last; null when there is none. */
  readonly deployed: { readonly version: string; readonly text: string } | null;
}

const shownStep = ({ manifest: { file, kind, name, version }, change, deployed }: Step) => ({
  file,
  kind,
  name,
  version,
  change,
  deployed_version: deployed?.version ?? null,
});

/** All manifests are checked before the first call, so that an invalid one changes nothing. */
async function planFor(client: NodeClient, paths: readonly string[]): Promise<Step[]> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  if (files.length === 0) throw invalid(`--file: there is no .yaml or .yml file in ${paths.join(', ')}`);
  const manifests: ManifestFile[] = [];
  const problems: string[] = [];
  const others: string[] = [];
  for (const { file, isNamed } of files) {
    try {
      const text = await readManifest(file);
      if (!isNamed && (await isOtherYaml(text))) others.push(file);
      else manifests.push(await checkedManifest(text));
    } catch (thrown) {
      if (!(thrown instanceof CliFailure)) throw thrown;
      problems.push(...(thrown.problems.length > 0 ? thrown.problems : [thrown.message]));
    }
  }
  if (problems.length > 0)
    throw new CliFailure(EXIT.validation, 'nothing was deployed: not all manifests are valid', problems);
  if (manifests.length === 0)
    throw invalid(`--file: there is no manifest of an agent or a workflow in ${paths.join(', ')}`);
  if (others.length > 0) process.stderr.write(`skipped, not manifests: ${printable(others.join(', '))}\n`);
  refuseTwice(manifests);
  return Promise.all(inOrder(manifests).map((manifest) => stepFor(client, manifest)));
}

interface FoundFile {
  readonly file: string;
  /** Whether the caller named it; otherwise it was found in a directory. */
  readonly isNamed: boolean;
}

/** Directories of packages and tools, whose YAML files are not the caller's. */
const FOREIGN = /(^|[\\/])(node_modules|\.[^\\/]+)[\\/]/;

async function filesOf(path: string): Promise<FoundFile[]> {
  if (path === '-') return [{ file: path, isNamed: true }];
  try {
    if (!(await stat(path)).isDirectory()) return [{ file: path, isNamed: true }];
    const names = await readdir(path, { recursive: true });
    return names
      .filter((name) => /\.ya?ml$/.test(name) && !FOREIGN.test(name))
      .toSorted()
      .map((name) => ({ file: join(path, name), isNamed: false }));
  } catch (thrown) {
    throw unreadable('--file', path, thrown);
  }
}

function refuseTwice(manifests: readonly ManifestFile[]): void {
  const files = new Map<string, string>();
  for (const { kind, name, version, file } of manifests) {
    const one = `${kind} ${name} ${version}`;
    const other = files.get(one);
    if (other !== undefined) throw invalid(`${file}: ${one} is also in ${other}`);
    files.set(one, file);
  }
}

/** Agents before the workflows that start them, child workflows before their parents. */
function inOrder(manifests: readonly ManifestFile[]): ManifestFile[] {
  const workflows = manifests.filter(({ kind }) => kind === 'workflow');
  const ordered: ManifestFile[] = [];
  const visit = (workflow: ManifestFile, above: readonly string[]): void => {
    if (ordered.includes(workflow) || above.includes(workflow.name)) return;
    const parts = childrenIn(workflow.value);
    for (const part of workflows.filter(({ name }) => parts.includes(name))) visit(part, [...above, workflow.name]);
    ordered.push(workflow);
  };
  for (const workflow of workflows) visit(workflow, []);
  return [...manifests.filter(({ kind }) => kind === 'agent'), ...ordered];
}

function childrenIn({ spec }: JsonObject): string[] {
  const states = isObject(spec) && isObject(spec.states) ? Object.values(spec.states) : [];
  return states.map((state) => textOf(state, 'workflow_id'));
}

async function stepFor(client: NodeClient, manifest: ManifestFile): Promise<Step> {
  const { kind, name, version, text, value } = manifest;
  const last = await found(client, kind === 'agent' ? await agentPath(client, name) : await workflowPath(client, name));
  if (last === null) return { manifest, change: 'create', deployed: null };
  const path = `/v1/${kind}s/${textOf(last, `${kind}_id`) || textOf(last, 'id')}`;
  const same = textOf(last, 'version') === version ? last : await found(client, path, version);
  const deployed = same ?? last;
  const shown = { version: textOf(deployed, 'version'), text: textOf(deployed, 'manifest_yaml') };
  if (same === null) return { manifest, change: 'new version', deployed: shown };
  const { parseDocument } = await import('yaml');
  const isSame = shown.text === text || isDeepStrictEqual(parseDocument(shown.text).toJS(), value);
  return { manifest, change: isSame ? 'unchanged' : 'replace', deployed: shown };
}

async function agentPath(client: NodeClient, name: string): Promise<string> {
  const agent = await found(client, `/v1/agents/lookup/${encodeURIComponent(name)}`);
  return agent === null ? '' : `/v1/agents/${textOf(agent, 'agent_id')}`;
}

/** Reads the deployed manifest at a path; null when there is none, and for an empty path. */
async function found(client: NodeClient, path: string, version?: string): Promise<JsonObject | null> {
  if (path === '') return null;
  try {
    return await client.json('GET', path, { query: { version }, repeatable: true });
  } catch (thrown) {
    if (thrown instanceof CliFailure && thrown.exitCode === EXIT.notFound) return null;
    throw thrown;
  }
}

const MARKS: Readonly<Record<Step['change'], string>> = {
  create: '+',
  'new version': '+',
  replace: '~',
  unchanged: '=',
};

function planText(plan: readonly Step[]): string {
  const paint = paintFor(process.stderr, process.env);
  const lines = plan.map(({ manifest, change, deployed }) => {
    const { kind, name, version } = manifest;
    const was = change === 'new version' ? ` (deployed: ${deployed?.version})` : '';
    const line = printable(`${MARKS[change]} ${kind} ${name} ${version}: ${change}${was}`);
    return change === 'unchanged' ? paint.dim(line) : change === 'replace' ? paint.yellow(line) : paint.green(line);
  });
  return lines.join('\n');
}

async function confirm(changes: number): Promise<void> {
  if (!process.stdin.isTTY)
    throw invalid(
      `--yes: required without a terminal, where svc cannot ask; ${counted(changes, 'manifest')} would be deployed`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`Deploy ${counted(changes, 'manifest')}? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure(EXIT.interrupted, 'nothing was deployed');
  } finally {
    terminal.close();
  }
}

/** One after the other: the first refusal stops, and its error lists the manifests that are deployed already. */
async function deployAll(
  { client, output }: CliContext,
  steps: readonly Step[],
  scope: string | undefined,
): Promise<void> {
  for (const [index, { manifest, change }] of steps.entries()) {
    const { kind, name, version, file } = manifest;
    try {
      const answer = await deployManifest(client, kind, manifest, { force: change === 'replace', scope });
      if (!isForMachines(output) && listOf(answer, 'warnings').length > 0) warn(answer, file);
    } catch (thrown) {
      if (!(thrown instanceof CliFailure)) throw thrown;
      const before = `${counted(index, 'manifest')} of ${steps.length} deployed before`;
      throw new CliFailure(
        thrown.exitCode,
        `${kind} ${name} ${version}: ${thrown.message} (${before})`,
        thrown.problems,
      );
    }
  }
}
