import { renderTemplate, renderValue } from '../../manifests/template/rendering.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import { isJsonObject, type Json, type JsonObject, plainJson } from '../../runtime/json.ts';
import { hasRules } from '../run-rules.ts';
import { own } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { IdleWorkflow } from './state.ts';

/**
 * Variables of templates and expressions in the current state (W17). An entered state is available under its name;
 * fixed names win over a state of the same name.
 */
export function scopeOf(run: IdleWorkflow): JsonObject {
  const { metadata } = run.manifest;
  const states: [string, Json][] = [];
  for (const name of Object.keys(run.visits)) {
    const output = own(run.blackboard, name);
    if (output !== undefined) states.push([name, output]);
  }
  return {
    ...Object.fromEntries(states),
    ...(run.intent === null ? {} : { intent: run.intent }),
    input: run.input,
    workflow: {
      name: metadata.name,
      version: metadata.version,
      context: run.context,
      storage: { workspace: run.storage.workspace, shared_volumes: run.storage.shared },
    },
    blackboard: run.blackboard,
    state: { feedback: run.feedback },
    human: run.human_feedback === null ? {} : { feedback: run.human_feedback },
    execution: { id: run.execution_id },
  };
}

/** Renders one template of the current state; throws a TemplateError when it cannot. */
export type Render = (template: string, maxChars?: number) => string;

/** Renders the templates of one state; the scope is built once, on first use. */
export function renderer(run: IdleWorkflow): Render {
  let scope: JsonObject | undefined;
  const jsonTexts = hasRules(run, 1);
  const state = run.current_state ?? '';
  return (template, maxChars = LIMITS.renderedChars) => {
    if (!template.includes('{{')) return template;
    scope ??= scopeOf(run);
    return renderTemplate(template, scope, { state, maxChars, jsonTexts });
  };
}

/** Renders values of a built-in: the texts in them, where a text that is one `{{…}}` becomes the value itself. */
export function jsonRenderer(run: IdleWorkflow): (value: Json) => Json {
  let scope: JsonObject | undefined;
  const options = { state: run.current_state ?? '', maxChars: LIMITS.renderedChars, jsonTexts: true };
  const rendered = (one: Json): Json => {
    if (typeof one === 'string') {
      if (!one.includes('{{')) return one;
      scope ??= scopeOf(run);
      return plainJson(renderValue(one, scope, options));
    }
    if (Array.isArray(one)) return one.map(rendered);
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, rendered(member)]));
  };
  return rendered;
}

/** A map of templates. Values are texts; in the `env` of a built-in they may be any JSON, which is written unchanged. */
export const renderMap = (render: Render, map: Readonly<Record<string, Json>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(map).map(([key, value]) => [key, render(typeof value === 'string' ? value : JSON.stringify(value))]),
  );

/**
 * Annotation of a workflow: with the value `sealed` its containers have no network, a read-only root and an unprivileged user,
 * whatever the node's settings.
 */
export const CONTAINERS = 'svc.dev/containers';

export const isSealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  own(metadata.annotations, CONTAINERS) === 'sealed';

/** Whether the annotation has a value other than `sealed`, which would look like protection but has no effect. */
export const isBadlySealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  (own(metadata.annotations, CONTAINERS) ?? 'sealed') !== 'sealed';
