import { readdir, readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { TestPodman } from './podman.ts';

/** Built-in commands run in the turn, so they write no mark. */
const BUILT_IN = new Set(['update_context', 'update_blackboard', 'finalize']);

const Manifest = z.looseObject({
  spec: z.looseObject({
    states: z.record(z.string(), z.looseObject({ kind: z.string(), command: z.unknown().optional() })),
  }),
});

/** The manifest with a first line in every shell command that appends execution and state to the journal. */
export function withMarks(manifest: string, journal: string): string {
  const document = parseDocument(manifest);
  const { states } = Manifest.parse(document.toJS()).spec;
  for (const [name, { kind, command }] of Object.entries(states)) {
    if (kind !== 'System' || typeof command !== 'string' || BUILT_IN.has(command.trim())) continue;
    const mark = `echo "$SVC_EXECUTION_ID $SVC_STATE" >> '${journal}'`;
    document.setIn(['spec', 'states', name, 'command'], `${mark}\n${command}`);
  }
  return document.toString({ lineWidth: 0 });
}

/** How often each `execution state` ran its command. */
export async function journalCounts(journal: string): Promise<ReadonlyMap<string, number>> {
  const lines = (await readFile(journal, 'utf8')).split('\n').filter((line) => line !== '');
  return counted(lines);
}

/** A start of a container, from the events of the engine. */
export interface ContainerStarted {
  readonly effectId: string;
  readonly executionId: string;
}

const EngineEvent = z.object({ Action: z.string(), Actor: z.object({ Attributes: z.record(z.string(), z.string()) }) });

export async function containerStarts(podman: TestPodman, sinceMs: number): Promise<ContainerStarted[]> {
  const since = Math.floor(sinceMs / 1_000);
  const until = Math.ceil(Date.now() / 1_000) + 1;
  const stream = await podman.docker.getEvents({ since, until, filters: { event: ['start'] } });
  let text = '';
  for await (const chunk of stream) text += chunk.toString();
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '') return [];
    const { Action, Actor } = EngineEvent.parse(JSON.parse(line));
    const effectId = Actor.Attributes['dev.svc.effect'];
    const executionId = Actor.Attributes['dev.svc.execution'];
    return Action === 'start' && effectId !== undefined && executionId !== undefined ? [{ effectId, executionId }] : [];
  });
}

/** Names of the product's containers that the engine still has, running or ended. */
export async function containersLeft(podman: TestPodman): Promise<string[]> {
  const found = await podman.docker.listContainers({ all: true, filters: { label: ['dev.svc.realm'] } });
  return found.map(({ Names, State }) => `${Names.join(' ')} (${State})`);
}

/** Command lines of the processes that have the text in their command line, environment or directory, without these ids. */
export async function processesWith(text: string, beside: ReadonlySet<number>): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || beside.has(pid)) continue;
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    const [line, environment] = await Promise.all([read('cmdline'), read('environ')]);
    if (line.includes(text) || environment.includes(text)) found.push(`${pid} ${line.replaceAll('\0', ' ').trim()}`);
  }
  return found;
}

export function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
