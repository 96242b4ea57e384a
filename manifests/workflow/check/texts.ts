import { checkExpression, expressionReferences } from '../../expression/parse.ts';
import type { Json } from '../../json-schema/fit.ts';
import { checkTemplate, type Reference, templateReferences } from '../../template/references.ts';
import type { StateSpec, WorkflowManifest } from '../schema.ts';
import { type BuiltInCommand, builtInNamed } from '../state.ts';

/** A text of a state that is rendered or evaluated. */
interface Text {
  readonly state: string;
  readonly path: readonly PropertyKey[];
  readonly text: string;
  /** Whether it is rendered before the state runs, or after it, for its transitions. */
  readonly when: 'before' | 'after';
  /** `shell`: a shell runs the rendered text. */
  readonly use: 'text' | 'shell' | 'expression';
}

export interface ReadText extends Text, Reading {}

/** All templates and expressions of a manifest, parsed once. Texts without a template or an expression are skipped. */
export function readTexts({ spec }: WorkflowManifest): readonly ReadText[] {
  const found: ReadText[] = [];
  for (const [state, step] of Object.entries(spec.states))
    for (const { path, ...text } of textsOf(step)) {
      if (text.use !== 'expression' && !text.text.includes('{{')) continue;
      const reading = text.use === 'expression' ? readExpression(text.text) : readTemplate(text.text);
      found.push({ ...text, state, path: ['spec', 'states', state, ...path], ...reading });
    }
  return found;
}

type Part = Omit<Text, 'state'>;

function textsOf(step: StateSpec): Part[] {
  return [...ownTexts(step), ...transitionTexts(step)];
}

function transitionTexts({ transitions }: StateSpec): Part[] {
  return transitions.flatMap(({ condition, feedback, expression }, index) => [
    ...part(['transitions', index, 'feedback'], feedback, 'text', 'after'),
    ...part(
      ['transitions', index, 'expression'],
      condition === 'custom' ? expression : undefined,
      'expression',
      'after',
    ),
  ]);
}

function ownTexts(step: StateSpec): Part[] {
  switch (step.kind) {
    case 'Agent':
      return [
        ...part(['agent'], step.agent),
        ...part(['input'], step.input),
        ...step.volumes.flatMap(({ volume }, index) => part(['volumes', index, 'volume'], volume)),
      ];
    case 'System':
      return [
        ...part(['command'], step.command, builtInCommand(step) === null ? 'shell' : 'text'),
        ...Object.entries(step.env).flatMap(([name, value]) => jsonTexts(['env', name], value)),
        ...part(['workdir'], step.workdir),
        ...fileTexts(step.files, []),
      ];
    case 'Human':
      return part(['prompt'], step.prompt);
    case 'ParallelAgents':
      return step.agents.flatMap(({ agent, input }, index) => [
        ...part(['agents', index, 'agent'], agent),
        ...part(['agents', index, 'input'], input),
      ]);
    case 'ContainerRun':
      return containerTexts(step, []);
    case 'ParallelContainerRun':
      return step.steps.flatMap((one, index) => containerTexts(one, ['steps', index]));
    case 'Subworkflow':
      return [...part(['workflow_id'], step.workflow_id), ...part(['input'], step.input)];
  }
}

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly shell: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly files?: Readonly<Record<string, string>> | undefined;
}

function containerTexts(
  { image, command, shell, env, workdir, files }: Container,
  path: readonly PropertyKey[],
): Part[] {
  return [
    ...part([...path, 'image'], image),
    ...command.flatMap((element, index) =>
      part([...path, 'command', index], element, shell || isScript(command, index) ? 'shell' : 'text'),
    ),
    ...envTexts(env, path),
    ...part([...path, 'workdir'], workdir),
    ...fileTexts(files, path),
  ];
}

/** `sh -c SCRIPT`, in place of `shell: true`. */
function isScript(command: readonly string[], index: number): boolean {
  const [program = ''] = command;
  return /(^|\/)(ba|da|a|z|k)?sh$/.test(program) && /^-[a-z]*c$/.test(command[index - 1] ?? '');
}

/** The texts inside a value. */
function jsonTexts(path: readonly PropertyKey[], value: Json): Part[] {
  if (typeof value === 'string') return part(path, value);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    jsonTexts([...path, Array.isArray(value) ? Number(key) : key], member),
  );
}

const fileTexts = (files: Container['files'] = {}, path: readonly PropertyKey[]): Part[] =>
  Object.entries(files).flatMap(([name, content]) => part([...path, 'files', name], content));

const envTexts = (env: Readonly<Record<string, string>>, path: readonly PropertyKey[]): Part[] =>
  Object.entries(env).flatMap(([name, value]) => part([...path, 'env', name], value));

const part = (
  path: readonly PropertyKey[],
  text: string | undefined,
  use: Text['use'] = 'text',
  when: Text['when'] = 'before',
): Part[] => (text === undefined ? [] : [{ path, text, use, when }]);

/** The references of a text, or the reason why it cannot be parsed. */
interface Reading {
  readonly references: readonly Reference[];
  readonly fault: string | null;
}

function readTemplate(text: string): Reading {
  const fault = checkTemplate(text);
  return fault === null ? { references: templateReferences(text), fault } : { references: [], fault };
}

function readExpression(text: string): Reading {
  const fault = checkExpression(text);
  return fault === null ? { references: expressionReferences(text), fault } : { references: [], fault };
}

/** The built-in command of a System state, which runs without a shell (W8); null for any other state. */
export function builtInCommand(state: StateSpec): BuiltInCommand | null {
  if (state.kind !== 'System') return null;
  return builtInNamed(state.command) ?? null;
}

/** The state completes the execution: it has no transitions, or it is `finalize`. */
export const endsExecution = (state: StateSpec): boolean =>
  state.transitions.length === 0 || builtInCommand(state) === 'finalize';
