import { renderTemplate } from '../../manifests/template/render.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { LIMITS } from './limits.ts';
import { scopeOf } from './scope.ts';
import type { IdleWorkflow } from './state.ts';

/** Renders one template of the current state; throws an SvcError when the text grows too long. */
export type Render = (template: string, maxChars?: number) => string;

/** Renders the templates of one state; the scope is made once, and only when a template needs it. */
export function renderer(run: IdleWorkflow): Render {
  let scope: JsonObject | undefined;
  const state = run.current_state ?? '';
  return (template, maxChars = LIMITS.renderedChars) => {
    if (!template.includes('{{')) return template;
    scope ??= scopeOf(run);
    return renderTemplate(template, scope, { state, maxChars });
  };
}

export const renderMap = (render: Render, map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, render(value)]));
